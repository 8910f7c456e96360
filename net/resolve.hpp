// resolve.hpp: HOST:PORT and [IPv6]:PORT settings to addresses, by the system's resolver.
// Used at set-up by programs and the component; it may block as long as the resolver does.
// Knows nothing of unix:PATH and other forms of a setting, and opens no socket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/address.hpp"

namespace ina::net {

struct Resolution {
  std::vector<wire::UdpAddress> addresses;  // in the resolver's order, each once; empty on failure
  std::string error;                  // then says what is wrong, with the text in question: "n17:x: the port is no number from 0 to 65535"
};

[[nodiscard]] Resolution resolve(std::string_view host_and_port);

}  // namespace ina::net
