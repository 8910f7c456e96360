// resolve_test.cpp: settings to addresses, and what is said about those that are none.
#include "net/resolve.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace ina::net {
namespace {

TEST(Resolve, NumericAddressesNeedNoResolver) {
  const Resolution resolution = resolve("[fd00::1]:5050");
  ASSERT_EQ(resolution.addresses.size(), 1U) << resolution.error;
  EXPECT_EQ(resolution.addresses[0].text(), "[fd00::1]:5050");
}

TEST(Resolve, LocalhostIsALoopbackAddressOnce) {
  const Resolution resolution = resolve("localhost:5050");
  ASSERT_FALSE(resolution.addresses.empty()) << resolution.error;
  for (const wire::UdpAddress& address : resolution.addresses) EXPECT_EQ(address.port, 5050);
  EXPECT_TRUE(resolution.error.empty());
}

TEST(Resolve, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "HOST:PORT"},        {"n17", "HOST:PORT"},          {":5050", "HOST:PORT"},      {"n17:", "port"},        {"n17:http", "port"},
      {"n17:70000", "port"},    {"[fd00::x]:1", "brackets"},   {"[fe80::1%lo]:1", "zone"},  {"fd00::1:5050", "HOST:PORT"},
      {"a b:1", "HOST:PORT"},   {"unix:/run/x", "port"},       {"/x:1", "HOST:PORT"},
  };
  for (const auto& [text, word] : cases) {
    const Resolution resolution = resolve(text);
    EXPECT_TRUE(resolution.addresses.empty()) << text;
    EXPECT_EQ(resolution.error.rfind(std::string(text) + ": ", 0), 0U) << resolution.error;
    EXPECT_NE(resolution.error.find(word), std::string::npos) << resolution.error;
  }
}

TEST(Resolve, ANameThatCannotExistIsAnError) {
  const std::string label(64, 'x');  // one letter too long to be asked for
  const Resolution resolution = resolve(label + ":5050");
  EXPECT_TRUE(resolution.addresses.empty());
  EXPECT_NE(resolution.error.find("cannot resolve " + label), std::string::npos) << resolution.error;
}

}  // namespace
}  // namespace ina::net
