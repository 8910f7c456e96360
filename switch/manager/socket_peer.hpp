// socket_peer.hpp: set-up of an accepted socket, and who is at its other end.
// Used by Manager when it accepts.
// Does not read or write.
#pragma once

#include "switch/manager/group_table.hpp"

namespace ina::manager {

// Address; for a UNIX socket, user and process as the kernel knows them.
[[nodiscard]] Client peer_of(int socket);

// TCP: answers go out at once, and a host that is gone without a word is noticed within half a minute, so that its lease ends.
void prepare_socket(int socket);

}  // namespace ina::manager
