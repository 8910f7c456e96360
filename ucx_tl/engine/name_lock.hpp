// name_lock.hpp: a lock between processes of one network namespace: the name of an abstract UNIX socket, released by the kernel with its holder.
// Used while a socket joins a shared port.
// Does not protect from other users, who may take any name: acquiring ends after a while.
#pragma once

#include <string>

#include "ucx_tl/engine/clock.hpp"
#include "net/descriptor.hpp"

struct sockaddr_un;

namespace ina::engine {

// The address of an abstract name; returns its length, 0: the name is too long.
[[nodiscard]] unsigned abstract_address(const std::string& name, sockaddr_un& to) noexcept;

class NameLock {
 public:
  // Waits until the name is free, at most so long; is_held() tells.
  NameLock(const std::string& name, Nanoseconds at_most);
  [[nodiscard]] bool is_held() const noexcept { return static_cast<bool>(holder_); }

 private:
  net::Descriptor holder_;
};

}  // namespace ina::engine
