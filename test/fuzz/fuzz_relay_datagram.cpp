// fuzz_relay_datagram.cpp: a relay with a running group under any datagrams from any source, half of them with a right ICRC.
// The input is a list of datagrams: source, length, bytes. What the relay sends must be sealed, and for an interface or the sender.
#include <cstdio>
#include <cstdlib>

#include "test/softswitch/relay_world.hpp"

namespace ina::test {
namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void run(std::span<const std::uint8_t> input) {
  const Ring ring;
  RelayWorld world;
  world.start(ring);
  for (std::size_t at = 0; at + 3 <= input.size();) {
    const wire::UdpAddress from = RelayWorld::host(static_cast<std::uint16_t>(input[at] % 4));
    const bool is_sealed = input[at] % 8 < 6;
    const std::size_t size = std::min<std::size_t>(input[at + 1] + 256u * (input[at + 2] % 2u), input.size() - at - 3);
    at += 3;
    Bytes bytes(size);
    if (size != 0) std::memcpy(bytes.data(), &input[at], size);
    at += size;
    if (is_sealed && bytes.size() >= wire::kBthBytes + wire::kIcrcBytes) {
      world.receive(from, bytes);
    } else {
      world.receive_as_is(from, bytes);
    }
    for (const auto& sent : world.outbox.all) {
      if (!wire::IcrcFlow(world.own, sent.to).is_valid(sent.bytes)) fail("sent a wrong ICRC");
      if (!wire::decode_packet(sent.bytes)) fail("sent what does not decode");
    }
  }
}

}  // namespace
}  // namespace ina::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ina::test::run({data, size});
  return 0;
}
