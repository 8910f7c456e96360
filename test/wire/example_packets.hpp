// example_packets.hpp: the packets of PROTOCOL.md's appendix, produced by the encoders.
// Used by the tests that compare them with the appendix and hand them to other programs.
// Does not stand for anything that product code sends: it is one tiny group, spelled out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ina::test {

struct ExamplePacket {
  std::string name;                    // as in the appendix
  std::vector<std::byte> udp_payload;  // BTH .. ICRC
  std::vector<std::byte> ip;           // the whole IP packet
};

// In the order of the appendix.
[[nodiscard]] std::vector<ExamplePacket> example_packets();

}  // namespace ina::test
