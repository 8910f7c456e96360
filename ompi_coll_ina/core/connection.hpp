// connection.hpp: a byte stream to a manager, non-blocking from name look-up to close.
// Used by ManagerClient; implemented by SocketConnection and by the tests' managers.
// Knows no lines and no time-outs: ManagerClient does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ompi_coll_ina/core/switch_address.hpp"

namespace ina::core {

class Connection {
 public:
  enum class State : std::uint8_t { kConnecting, kOpen, kFailed };
  virtual ~Connection() = default;
  // Goes on with connecting. kFailed is final.
  [[nodiscard]] virtual State advance() noexcept = 0;
  // Why it failed, for a user: "connection refused".
  [[nodiscard]] virtual std::string failure() const = 0;
  // Numeric HOST:PORT of who is at the other end of an open connection; empty: not an IP address.
  [[nodiscard]] virtual std::string peer() const { return {}; }
  // Bytes read into `to` or written from `from`; 0: not now; negative: failed.
  [[nodiscard]] virtual std::ptrdiff_t read(std::span<char> to) noexcept = 0;
  [[nodiscard]] virtual std::ptrdiff_t write(std::string_view from) noexcept = 0;
};

// TCP or UNIX. Never throws for what the network does: advance() tells.
[[nodiscard]] std::unique_ptr<Connection> connect_socket(const SwitchAddress&);

}  // namespace ina::core
