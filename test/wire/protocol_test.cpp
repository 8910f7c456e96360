// protocol_test.cpp: the example packets of PROTOCOL.md are what the encoders produce, byte for byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "test/support/pcap.hpp"
#include "test/wire/example_packets.hpp"

namespace ina::wire {
namespace {

std::string protocol() {
  std::ifstream file(INA_PROTOCOL);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The hex digits of the code block behind "**name**", without blanks.
std::string documented(const std::string& text, const std::string& name) {
  const std::size_t title = text.find("\n**" + name + "**");
  if (title == std::string::npos) return "no packet of that name";
  const std::size_t begin = text.find("```\n", title);
  const std::size_t end = begin == std::string::npos ? begin : text.find("```", begin + 4);
  if (end == std::string::npos) return "no code block";
  std::string digits;
  for (const char c : text.substr(begin + 4, end - begin - 4)) {
    if (c != ' ' && c != '\n') digits += c;
  }
  return digits;
}

TEST(Protocol, ExamplePacketsAreThoseOfTheEncoders) {
  const std::string text = protocol();
  ASSERT_FALSE(text.empty()) << INA_PROTOCOL;
  for (const test::ExamplePacket& packet : test::example_packets()) EXPECT_EQ(documented(text, packet.name), test::to_hex(packet.ip)) << packet.name;
}

}  // namespace
}  // namespace ina::wire
