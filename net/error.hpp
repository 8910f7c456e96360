// error.hpp: what is thrown when something cannot be set up: a socket, a device, an address.
// Used by factories and constructors of this folder and of the engine.
// Never thrown on a packet path.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ina::net {

enum class Failure : std::uint8_t {
  kInvalid,      // a setting or an address makes no sense
  kSystem,       // the operating system refused
  kUnreachable,  // nobody answers
  kRefused,      // somebody answered no
};

class Error : public std::runtime_error {
 public:
  Error(Failure failure, const std::string& what) : std::runtime_error(what), failure_(failure) {}
  [[nodiscard]] Failure failure() const noexcept { return failure_; }

 private:
  Failure failure_;
};

}  // namespace ina::net
