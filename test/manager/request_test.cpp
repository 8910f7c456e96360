#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "switch/manager/request.hpp"

namespace ina::manager {
namespace {

[[nodiscard]] Request good(const std::string& line) {
  auto parsed = parse_request(line);
  const auto* bad = std::get_if<BadRequest>(&parsed);
  EXPECT_EQ(bad, nullptr) << line << ": " << (bad ? bad->refusal.text : "");
  return bad ? Request{} : std::get<Request>(parsed);
}

[[nodiscard]] BadRequest bad(const std::string& line) {
  auto parsed = parse_request(line);
  EXPECT_TRUE(std::holds_alternative<BadRequest>(parsed)) << line;
  return std::holds_alternative<BadRequest>(parsed) ? std::get<BadRequest>(parsed) : BadRequest{};
}

TEST(Request, OpenIsRead) {
  const Request request = good(R"({"id":1,"request":"open","members":4,"window":128,"payload":4096,"colour":"red"})");
  EXPECT_EQ(request.id, "1");
  const auto& open = std::get<OpenRequest>(request.body);
  EXPECT_EQ(open.members, 4u);
  EXPECT_EQ(open.window, 128u);
  EXPECT_EQ(open.payload, 4096u);
}

TEST(Request, TheOthersAreRead) {
  EXPECT_EQ(std::get<CloseRequest>(good(R"({"id":-7,"request":"close","group":4294967295})").body).group, 4294967295u);
  EXPECT_EQ(std::get<ResumeRequest>(good(R"({"id":2,"request":"resume","lease":"ab"})").body).lease, "ab");
  EXPECT_EQ(std::get<StatusRequest>(good(R"({"id":2,"request":"status"})").body).after, 0u);
  EXPECT_EQ(std::get<StatusRequest>(good(R"({"id":2,"request":"status","after":9})").body).after, 9u);
}

TEST(Request, TheIdIsRepeatedAsItCame) {
  EXPECT_EQ(good(R"({"id":-7,"request":"status"})").id, "-7");
  EXPECT_EQ(good(R"({"id":18446744073709551615,"request":"status"})").id, "18446744073709551615");
}

TEST(Request, NumbersOfAnotherTypeAreRefused) {
  for (const char* value : {"\"4\"", "-1", "4.0", "1e3", "null", "true", "[4]", "{}", "99999999999999999999999"}) {
    for (const char* name : {"members", "window", "payload"}) {
      std::string line = R"({"id":1,"request":"open","members":4,"window":128,"payload":4096})";
      const std::size_t at = line.find(':', line.find(name)) + 1;
      line.replace(at, line.find_first_of(",}", at) - at, value);
      const BadRequest refused = bad(line);
      EXPECT_EQ(refused.id, "1") << line;
      EXPECT_EQ(refused.refusal.code, kBadRequest) << line;
      EXPECT_NE(refused.refusal.text.find(name), std::string::npos) << refused.refusal.text;
      EXPECT_FALSE(refused.is_fatal);
    }
  }
}

TEST(Request, WhatIsMissingIsNamed) {
  EXPECT_EQ(bad(R"({"id":1,"request":"open","members":4,"payload":4096})").refusal.text, "open: needs window");
  EXPECT_EQ(bad(R"({"id":1,"request":"close"})").refusal.text, "close: needs group");
  EXPECT_EQ(bad(R"({"id":1,"request":"resume"})").refusal.text, "resume: needs lease");
  EXPECT_EQ(bad(R"({"request":"status"})").id, std::nullopt);
  EXPECT_EQ(bad(R"({"id":1})").refusal.code, kBadRequest);
  EXPECT_EQ(bad("{}").refusal.code, kBadRequest);
}

TEST(Request, AGroupNumberBeyond32BitsIsRefused) {
  EXPECT_EQ(bad(R"({"id":1,"request":"close","group":4294967296})").refusal.code, kBadRequest);
}

TEST(Request, IdsThatAreNoWholeNumberAreRefused) {
  for (const char* id : {"\"1\"", "1.5", "null", "[1]", "99999999999999999999999"})
    EXPECT_EQ(bad(std::string(R"({"id":)") + id + R"(,"request":"status"})").id, std::nullopt) << id;
}

TEST(Request, AnUnknownRequestIsNamedAndCut) {
  const BadRequest refused = bad(R"({"id":1,"request":")" + std::string(1000, 'x') + "\"}");
  EXPECT_NE(refused.refusal.text.find("unknown request \"xxx"), std::string::npos);
  EXPECT_LT(refused.refusal.text.size(), 100u);
}

TEST(Request, WhatIsNoObjectEndsTheConnection) {
  for (const std::string& line : {std::string(), std::string("GET / HTTP/1.1"), std::string("[1]"), std::string("17"), std::string("{"),
                                  std::string("{\"id\":1,\"request\":\"status\"} x"), std::string("{\"id\":1}\0{", 10),
                                  std::string("{\"id\":1,\"request\":\"\xff\xfe\"}"), std::string("\xff\xff\xff"), std::string("{\"id\":1"),
                                  std::string("{\"id\":1,\"request\":\"a\x01\"}")}) {
    const BadRequest refused = bad(line);
    EXPECT_TRUE(refused.is_fatal) << line;
    EXPECT_EQ(refused.refusal.code, kBadLine) << line;
  }
}

TEST(Request, DepthIsBounded) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string line = R"({"id":1,"request":"status","deep":)";
    for (int i = 0; i < 10000; ++i) line += bracket;
    EXPECT_TRUE(bad(line).is_fatal);
  }
  EXPECT_EQ(good(R"({"id":1,"request":"status","deep":[[[["[[[[[[[[[[\"{{{{{{{{{"]]]]})").id, "1");
}

TEST(Hello, NamesAreOptional) {
  const auto parsed = parse_hello(R"({"ina":1,"hello":{}})");
  EXPECT_EQ(std::get<Hello>(parsed).host, "unknown");
  const auto named = std::get<Hello>(parse_hello(R"({"ina":1,"hello":{"client":"c 1","host":"n17","pid":4711}})"));
  EXPECT_EQ(named.client, "c 1");
  EXPECT_EQ(named.host, "n17");
  EXPECT_EQ(named.pid, 4711u);
}

TEST(Hello, AnotherVersionIsNamed) {
  for (const char* version : {"2", "0", "1.0", "\"1\"", "null", "-1"}) {
    const auto refused = std::get<Refusal>(parse_hello(std::string(R"({"ina":)") + version + R"(,"hello":{}})"));
    EXPECT_EQ(refused.code, kVersion) << version;
    EXPECT_NE(refused.text.find(version), std::string::npos) << refused.text;
  }
}

TEST(Hello, WhatIsNoHelloIsRefused) {
  EXPECT_EQ(std::get<Refusal>(parse_hello("GET / HTTP/1.1")).code, kBadLine);
  for (const char* line : {R"({"hello":{}})", R"({"ina":1})", R"({"ina":1,"hello":3})", R"({"ina":1,"hello":{"pid":"4"}})",
                           R"({"ina":1,"hello":{"pid":-4}})", R"({"ina":1,"hello":{"host":4}})"})
    EXPECT_EQ(std::get<Refusal>(parse_hello(line)).code, kBadRequest) << line;
  const std::string long_name = R"({"ina":1,"hello":{"host":")" + std::string(256, 'n') + "\"}}";
  EXPECT_EQ(std::get<Refusal>(parse_hello(long_name)).code, kBadRequest);
}

}  // namespace
}  // namespace ina::manager
