// pcap.cpp: the 24 bytes of a pcap file's header, 16 before every packet.
#include "test/support/pcap.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "wire/bytes.hpp"

namespace ina::test {
namespace {

constexpr std::uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kPacketHeaderBytes = 16;

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

void append_be(std::vector<std::byte>& to, std::uint32_t value) {
  to.resize(to.size() + 4);
  wire::store_be(&to[to.size() - 4], value);
}

}  // namespace

Capture read_pcap(const std::string& path) {
  const std::vector<std::byte> file = read_file(path);
  if (file.size() < kFileHeaderBytes) throw std::runtime_error(path + ": too short for a pcap file");
  const auto magic = wire::load_be<std::uint32_t>(file.data());
  const bool is_swapped = wire::byte_swapped(magic) == kMagicMicroseconds || wire::byte_swapped(magic) == kMagicNanoseconds;
  if (!is_swapped && magic != kMagicMicroseconds && magic != kMagicNanoseconds) throw std::runtime_error(path + ": no pcap file");
  const auto word = [&](std::size_t at) {
    const auto value = wire::load_be<std::uint32_t>(&file[at]);
    return is_swapped ? wire::byte_swapped(value) : value;
  };
  Capture capture{.link_type = word(20) & 0xffff, .packets = {}};
  for (std::size_t at = kFileHeaderBytes; at < file.size();) {
    if (file.size() - at < kPacketHeaderBytes || file.size() - at - kPacketHeaderBytes < word(at + 8)) {
      throw std::runtime_error(path + ": ends within packet " + std::to_string(capture.packets.size() + 1));
    }
    const std::span packet(&file[at + kPacketHeaderBytes], word(at + 8));
    capture.packets.emplace_back(packet.begin(), packet.end());
    at += kPacketHeaderBytes + packet.size();
  }
  return capture;
}

void write_pcap(const std::string& path, const Capture& capture) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t value : {kMagicMicroseconds, 0x00020004U, 0U, 0U, 65535U, capture.link_type}) append_be(bytes, value);
  std::uint32_t second = 0;
  for (const auto& packet : capture.packets) {
    const auto size = static_cast<std::uint32_t>(packet.size());
    for (const std::uint32_t value : {second++, 0U, size, size}) append_be(bytes, value);
    bytes.insert(bytes.end(), packet.begin(), packet.end());
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::vector<std::byte> from_hex(const std::string& digits) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char c : digits) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    const auto value = std::string("0123456789abcdef").find(c);
    if (value == std::string::npos) throw std::runtime_error("not a hex digit: " + std::string(1, c));
    if (high < 0) {
      high = static_cast<int>(value);
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(value)));
      high = -1;
    }
  }
  if (high >= 0) throw std::runtime_error("odd number of hex digits");
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string digits;
  for (const std::byte byte : bytes) {
    digits += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    digits += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return digits;
}

}  // namespace ina::test
