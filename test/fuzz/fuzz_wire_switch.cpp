// fuzz_wire_switch.cpp: a switch in the wire with a running group under any frames at any port, many of them with a right ICRC.
// The input is a list of frames: port and form, length, bytes. What it makes must decode and have a right ICRC; all else leaves as it came.
#include <cstdio>
#include <cstdlib>

#include "test/softswitch/wire_world.hpp"

namespace ina::test {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const WireWorld::Sent& sent) {
  const auto frame = wire::decode_frame(sent.bytes);
  if (!frame) fail("made what does not decode");
  Bytes again = sent.bytes;
  WireWorld::seal(again);
  if (again != sent.bytes) fail("made a wrong ICRC");
}

void run(std::span<const std::uint8_t> input) {
  const Ring ring;
  WireWorld world;
  world.start(ring);
  for (std::size_t at = 0; at + 4 <= input.size();) {
    const auto port = static_cast<softswitch::PortIndex>(input[at] % WireWorld::kPorts);
    const unsigned form = input[at] / WireWorld::kPorts % 4;
    const std::size_t size = std::min<std::size_t>(input[at + 1] + 256u * (input[at + 2] % 4u), input.size() - at - 4);
    softswitch::Offload offload;
    if (form == 3) offload = {.flags = static_cast<std::uint8_t>(input[at + 3] & 1), .gso_type = 5, .header_bytes = 42, .segment_bytes = static_cast<std::uint16_t>(16 + input[at + 3]), .checksum_start = 34, .checksum_offset = 6};
    at += 4;
    Bytes bytes(size);
    if (size != 0) std::memcpy(bytes.data(), &input[at], size);
    at += size;
    // 0: a frame as it is; 1: with a right ICRC; 2, 3: a RoCE packet between members.
    if (form == 1) WireWorld::seal(bytes);
    if (form >= 2) bytes = WireWorld::wrap(port % ring.spec.members, static_cast<std::uint16_t>((port + 1) % ring.spec.members), bytes);
    const auto made_before = world.the_switch.counters().made;
    world.receive(port, bytes, offload);
    const auto made = world.the_switch.counters().made - made_before;
    if (made == world.sent.size()) {
      for (const auto& sent : world.sent) check(sent);
    } else if (offload.is_none() && made == 0) {
      for (const auto& sent : world.sent) {
        if (sent.bytes != bytes || sent.port == port) fail("changed or returned a frame of others");
      }
    }
  }
}

}  // namespace
}  // namespace ina::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ina::test::run({data, size});
  return 0;
}
