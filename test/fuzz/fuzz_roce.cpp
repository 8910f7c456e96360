// fuzz_roce.cpp: any UDP payload decodes to a reason or to headers that encode to the same bytes (reserved bits apart).
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/roce.hpp"

namespace {

using namespace ina::wire;

void expect(bool fact) {
  if (!fact) std::abort();
}

void check(std::span<const std::byte> bytes) {
  const auto packet = decode_packet(bytes);
  if (!packet) {
    expect(std::strcmp(name(packet.error()), "unknown") != 0);
    return;
  }
  std::vector<std::byte> again(headers_bytes(packet->bth.opcode));
  expect(encode_headers(*packet, again) == again.size());
  std::vector<std::byte> expected(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(again.size()));
  expected[4] &= std::byte{0xc0};
  expected[8] &= std::byte{0x80};
  if (traits(packet->bth.opcode).deth) expected[16] = std::byte{0};
  expect(again == expected);
  expect(again.size() + packet->payload.size() + packet->bth.pad_count + kIcrcBytes == bytes.size());
  expect(packet->payload.empty() || packet->payload.data() == bytes.data() + again.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::as_bytes(std::span(data, size)));
  return 0;
}
