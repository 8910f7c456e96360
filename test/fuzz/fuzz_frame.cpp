// fuzz_frame.cpp: any Ethernet frame decodes to a reason or to headers that encode to the same bytes; its ICRC can be computed, and
// equals that of the flow where the flow's assumptions hold.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wire/frame.hpp"
#include "wire/icrc.hpp"
#include "wire/roce.hpp"

namespace {

using namespace ina::wire;

void expect(bool fact) {
  if (!fact) std::abort();
}

void check_icrc(const Frame& frame) {
  if (frame.udp_payload.size() < kBthBytes + kIcrcBytes) return;
  const std::uint32_t icrc = icrc_of_l3_packet(frame.l3.first(frame.l3.size() - kIcrcBytes));
  const IcrcFlow flow(frame.ip.source, frame.ip.destination);
  const bool is_predictable = frame.ip.source.is_ipv6 || (frame.ip.identification == 0 && frame.ip.dont_fragment);
  if (is_predictable) expect(flow.compute(frame.udp_payload.first(frame.udp_payload.size() - kIcrcBytes)) == icrc);
}

void check(std::span<const std::byte> bytes) {
  (void)icrc_of_l3_packet(bytes);
  (void)icrc_of_l3_packet(bytes, true);
  const auto frame = decode_frame(bytes);
  if (!frame) {
    expect(std::strcmp(name(frame.error()), "unknown") != 0);
    return;
  }
  std::array<std::byte, kMaxFrameHeaderBytes> again;
  const std::size_t size = encode_frame(*frame, frame->udp_payload.size(), again);
  // An IPv4 checksum has two forms of zero; 0xffff, which a sum that is not all zeros never gives, is accepted as well.
  const std::size_t l3 = frame_header_bytes(*frame) - ip_header_bytes(frame->ip);
  if (!frame->ip.source.is_ipv6 && load_be<std::uint16_t>(&bytes[l3 + 10]) == 0xffff) store_be<std::uint16_t>(&again[l3 + 10], 0xffff);
  expect(size == frame_header_bytes(*frame) && std::ranges::equal(std::span(again).first(size), bytes.first(size)));
  (void)is_udp_checksum_valid(*frame);
  check_icrc(*frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::as_bytes(std::span(data, size)));
  return 0;
}
