#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "switch/manager/line_buffer.hpp"

namespace ina::manager {
namespace {

TEST(LineBuffer, LinesComeOutWholeHoweverTheyCameIn) {
  const std::string bytes = "one\ntwo\r\n\nfour\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    LineBuffer buffer(8);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      buffer.append(std::string_view(bytes).substr(at, piece));
      while (const auto line = buffer.next()) lines.push_back(*line);
      EXPECT_FALSE(buffer.is_too_long());
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "four"})) << "pieces of " << piece;
  }
}

TEST(LineBuffer, ALineOfTheLargestSizePasses) {
  LineBuffer buffer(4);
  buffer.append("1234\n");
  EXPECT_EQ(buffer.next(), "1234");
}

TEST(LineBuffer, ALineThatIsTooLongIsNoticedWithAndWithoutItsEnd) {
  for (const char* bytes : {"12345\n", "12345", "123\n12345678"}) {
    LineBuffer buffer(4);
    buffer.append(bytes);
    while (buffer.next()) {
    }
    EXPECT_TRUE(buffer.is_too_long()) << bytes;
    EXPECT_EQ(buffer.next(), std::nullopt);
  }
}

TEST(LineBuffer, HalfALineIsNoLine) {
  LineBuffer buffer(16);
  buffer.append("{\"id\":");
  EXPECT_EQ(buffer.next(), std::nullopt);
  EXPECT_FALSE(buffer.is_too_long());
}

}  // namespace
}  // namespace ina::manager
