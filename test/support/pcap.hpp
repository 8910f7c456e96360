// pcap.hpp: reads classic pcap files (both byte orders, micro- and nanoseconds) for tests.
// Used by tests that replay captures.
// Does not read pcapng, and keeps no time stamps: tests look at bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ina::test {

struct Capture {
  std::uint32_t link_type = 0;  // 1: Ethernet
  std::vector<std::vector<std::byte>> packets;
};

// Throws std::runtime_error with the path and the reason if the file is not a whole pcap file.
[[nodiscard]] Capture read_pcap(const std::string& path);
// Writes a capture of the given link type; for tests that hand packets to other programs.
void write_pcap(const std::string& path, const Capture& capture);

// Bytes of a string of hex digits; blanks are skipped. Throws std::runtime_error on anything else.
[[nodiscard]] std::vector<std::byte> from_hex(const std::string& digits);
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

}  // namespace ina::test
