// error.hpp: the exception of set-up code, and the statuses that cross the border.
// Thrown by constructors and factories of the core only; the border turns it into a decline.
// Never used on the packet path.
#pragma once

#include <stdexcept>
#include <string>

namespace ina::core {

enum class Status { kOk = 0, kNoMemory, kUnreachable, kRefused, kUnsupported, kBadSetting, kInternal };

class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what_and_where) : std::runtime_error(what_and_where), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

}  // namespace ina::core
