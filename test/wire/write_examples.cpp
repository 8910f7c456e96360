// write_examples.cpp: writes the example packets of PROTOCOL.md to a pcap file, for programs that we did not write.
// usage: write_examples FILE ethernet|raw [damaged] | write_examples --markdown
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "test/support/pcap.hpp"
#include "test/wire/example_packets.hpp"
#include "wire/frame.hpp"

namespace {

using namespace ina;

constexpr std::uint32_t kEthernet = 1;
constexpr std::uint32_t kRaw = 101;

void print_markdown() {
  for (const test::ExamplePacket& packet : test::example_packets()) {
    std::printf("**%s**\n```\n", packet.name.c_str());
    // IP header, UDP header, BTH, the rest
    const std::size_t ip_bytes = packet.ip.size() - packet.udp_payload.size() - wire::kUdpHeaderBytes;
    std::size_t at = 0;
    for (const std::size_t size : {ip_bytes, wire::kUdpHeaderBytes, std::size_t{12}, packet.udp_payload.size() - 16, std::size_t{4}}) {
      for (std::size_t begin = at; begin < at + size; begin += 48) {
        std::printf("%s\n", test::to_hex(std::span(packet.ip).subspan(begin, std::min<std::size_t>(48, at + size - begin))).c_str());
      }
      at += size;
    }
    std::puts("```");
  }
}

void write(const char* path, std::string_view link, bool is_damaged) {
  test::Capture capture{.link_type = link == "raw" ? kRaw : kEthernet, .packets = {}};
  for (const test::ExamplePacket& packet : test::example_packets()) {
    std::vector<std::byte> bytes;
    if (capture.link_type == kEthernet) {
      const bool is_ipv6 = packet.ip[0] == std::byte{0x60};
      bytes = test::from_hex(std::string("020000000002020000000001") + (is_ipv6 ? "86dd" : "0800"));
    }
    bytes.insert(bytes.end(), packet.ip.begin(), packet.ip.end());
    if (is_damaged) bytes[bytes.size() - 5] ^= std::byte{1};  // the last byte that the ICRC covers
    capture.packets.push_back(bytes);
  }
  test::write_pcap(path, capture);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--markdown") {
    print_markdown();
    return 0;
  }
  if (argc < 3) {
    std::fputs("usage: write_examples FILE ethernet|raw [damaged]\n", stderr);
    return 2;
  }
  write(argv[1], argv[2], argc > 3);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "write_examples: %s\n", error.what());
  return 1;
}
