// resolve.hpp: HOST:PORT, numeric or with a name, to a UDP address.
// Used while an interface opens.
// Blocks on the name service if the host is no number.
#pragma once

#include <string_view>

#include "wire/address.hpp"

namespace ina::engine {

// An address of the wanted family. Throws Error, which says what is wrong with the text.
[[nodiscard]] wire::UdpAddress resolve(std::string_view host_port, bool want_ipv6);

// Whether it is an address of this host (of this network namespace): one that a socket can have.
[[nodiscard]] bool is_of_this_host(wire::UdpAddress) noexcept;

}  // namespace ina::engine
