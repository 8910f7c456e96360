// line_buffer.hpp: cuts a stream of bytes into lines, and notices a line that has no end.
// Used by a session for what its host sends.
// Does not look into a line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ina::manager {

class LineBuffer {
 public:
  explicit LineBuffer(std::size_t max_line) noexcept : max_line_(max_line) {}

  void append(std::string_view bytes) { bytes_.append(bytes); }

  // The next line without its end ("\n" or "\r\n"); none if there is no complete one, or if it is too long.
  [[nodiscard]] std::optional<std::string> next() {
    const std::size_t end = bytes_.find('\n', std::max(begin_, searched_));
    if (end == std::string::npos) {
      searched_ = bytes_.size();
      compact();
      return std::nullopt;
    }
    if (end - begin_ > max_line_) return std::nullopt;
    std::string line = bytes_.substr(begin_, end - begin_);
    begin_ = end + 1;
    searched_ = begin_;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }

  // What stands at the front is longer than a line may be. For good: next() gives nothing any more.
  [[nodiscard]] bool is_too_long() const noexcept {
    const std::size_t end = bytes_.find('\n', std::max(begin_, searched_));
    return (end == std::string::npos ? bytes_.size() : end) - begin_ > max_line_;
  }

  void clear() noexcept {
    bytes_.clear();
    bytes_.shrink_to_fit();
    begin_ = searched_ = 0;
  }

 private:
  void compact() {
    bytes_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    if (bytes_.empty()) bytes_.shrink_to_fit();
  }

  std::size_t max_line_;
  std::string bytes_;
  std::size_t begin_ = 0;     // first byte that is not consumed
  std::size_t searched_ = 0;  // no line end before this
};

}  // namespace ina::manager
