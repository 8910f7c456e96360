// listening.hpp: opens the sockets that the program serves: a stream socket for the manager and a UDP socket for data.
// Used by the program at its start.
// Does not serve them. What cannot be opened is a SetupError whose text says what, where and what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "net/descriptor.hpp"
#include "wire/address.hpp"

namespace ina::softswitch {

class SetupError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Listening {
  net::Descriptor manager;
  net::Descriptor data;
  wire::UdpAddress data_address;
  std::string manager_text;  // "127.0.0.1:5050", "unix:/run/ina.sock"
  std::string unix_path;     // to be removed at the end; empty: none
};

// listen: HOST:PORT (port 0: one that is free for both), or unix:PATH. data: HOST:PORT of the data port if listen is a path.
[[nodiscard]] Listening open_listening(const std::string& listen, const std::string& data);
// The same without a data port; HOST may stand for every address.
[[nodiscard]] Listening open_manager_listening(const std::string& listen);

}  // namespace ina::softswitch
