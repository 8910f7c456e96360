// What a user writes: switch addresses, ina.conf, settings. Whatever is wrong is refused with what it is, where it is and what to do.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ompi_coll_ina/core/conf_file.hpp"
#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/settings.hpp"

namespace ina::core {
namespace {

using Kind = SwitchAddress::Kind;

template <typename Call>
std::string refusal_of(Call call) {
  try {
    (void)call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::kBadSetting);
    return error.what();
  }
  return "accepted";
}

TEST(SwitchAddress, FormsThatAreUnderstood) {
  EXPECT_EQ(parse_switch_address("none").kind, Kind::kNone);
  EXPECT_EQ(parse_switch_address("embedded").kind, Kind::kEmbedded);
  EXPECT_EQ(parse_switch_address("embedded:10.0.0.7").host, "10.0.0.7");
  EXPECT_EQ(parse_switch_address("embedded:fd00::1").host, "fd00::1");
  const SwitchAddress tcp = parse_switch_address("switch-1.example:5050");
  EXPECT_EQ(tcp.kind, Kind::kTcp);
  EXPECT_EQ(tcp.host, "switch-1.example");
  EXPECT_EQ(tcp.port, 5050);
  EXPECT_EQ(parse_switch_address("[fd00::1]:1").host, "fd00::1");
  EXPECT_EQ(parse_switch_address("unix:/run/ina/manager").path, "/run/ina/manager");
  for (const char* text : {"none", "embedded", "embedded:10.0.0.7", "10.0.0.1:5050", "[fd00::1]:5050", "unix:/run/ina"}) EXPECT_EQ(parse_switch_address(text).text(), text);
}

TEST(SwitchAddress, EverythingElseIsRefusedWithWhatToWrite) {
  for (const char* text : {"", " ", "auto ", "host", "host:", ":5050", "host:0", "host:65536", "host:50x", "host:-1", "fd00::1:5050", "[]:5050", "a b:5050", "unix:", "none:", "embedded:a b", "h\x01st:5050"}) {
    const std::string why = refusal_of([&] { return parse_switch_address(text); });
    EXPECT_NE(why.find("write embedded, none, HOST:PORT"), std::string::npos) << "'" << text << "': " << why;
  }
  EXPECT_NE(refusal_of([] { return parse_switch_address("unix:/" + std::string(107, 'x')); }).find("107 bytes"), std::string::npos);
  EXPECT_NE(refusal_of([] { return parse_switch_address(std::string(300, 'x') + ":1"); }).find("too long"), std::string::npos);
}

TEST(ConfFile, CommentsBlankLinesAndOneKey) {
  const ConfFile conf = parse_conf("# where the switch is\n\n  switch =  10.0.0.1:5050  # rack 7\r\n", "ina.conf");
  ASSERT_TRUE(conf.switch_address);
  EXPECT_EQ(conf.switch_address->text(), "10.0.0.1:5050");
  EXPECT_FALSE(parse_conf("switch = auto\n", "ina.conf").switch_address);
  EXPECT_FALSE(parse_conf("", "ina.conf").switch_address);
  EXPECT_EQ(parse_conf("switch=none", "ina.conf").switch_address->kind, Kind::kNone);
}

TEST(ConfFile, MistakesAreNamedWithFileAndLine) {
  const auto refusal = [](std::string_view text) { return refusal_of([&] { return parse_conf(text, "/etc/ina.conf"); }); };
  EXPECT_EQ(refusal("# x\nswitch\n"), "/etc/ina.conf:2: expected `key = value`");
  EXPECT_EQ(refusal("\n\nswich = none\n"), "/etc/ina.conf:3: unknown key 'swich': the one key is switch");
  EXPECT_EQ(refusal("switch = none\nswitch = embedded\n"), "/etc/ina.conf:2: switch is given twice");
  EXPECT_TRUE(refusal("switch = \n").starts_with("/etc/ina.conf:1: switch address '': it is empty"));
  EXPECT_TRUE(refusal("switch = host\n").starts_with("/etc/ina.conf:1: switch address 'host': the port is missing"));
  EXPECT_EQ(refusal(std::string_view("a\0b", 3)), "/etc/ina.conf: not a text file");
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ina-settings.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::filesystem::create_directories(root_ / "prefix/etc");
    std::filesystem::create_directories(root_ / "home/.config");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const char* where, const std::string& text) {
    std::FILE* file = std::fopen((root_ / where).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  [[nodiscard]] SwitchSources sources(std::string_view setting) const {
    return {.setting = setting, .environment = std::nullopt, .prefix = (root_ / "prefix").string(), .home = (root_ / "home").string()};
  }
  std::filesystem::path root_;
};

TEST_F(Files, AutoTakesEnvironmentThenPrefixThenHomeThenNone) {
  EXPECT_EQ(resolve_switch_address(sources("auto")).text(), "none");
  write("home/.config/ina.conf", "switch = embedded\n");
  EXPECT_EQ(resolve_switch_address(sources("auto")).text(), "embedded");
  write("prefix/etc/ina.conf", "switch = 10.0.0.1:1\n");
  EXPECT_EQ(resolve_switch_address(sources("auto")).text(), "10.0.0.1:1");
  SwitchSources with_environment = sources("auto");
  with_environment.environment = "10.0.0.2:2";
  EXPECT_EQ(resolve_switch_address(with_environment).text(), "10.0.0.2:2");
  with_environment.setting = "none";
  EXPECT_EQ(resolve_switch_address(with_environment).text(), "none");
}

TEST_F(Files, WhatIsWrongIsRefusedEvenWhereANextPlaceIsRight) {
  SwitchSources with_environment = sources("auto");
  with_environment.environment = "nonsense";
  EXPECT_TRUE(refusal_of([&] { return resolve_switch_address(with_environment); }).starts_with("environment variable INA_SWITCH: switch address 'nonsense'"));
  write("prefix/etc/ina.conf", "switch = nonsense\n");
  EXPECT_NE(refusal_of([&] { return resolve_switch_address(sources("auto")); }).find("prefix/etc/ina.conf:1: "), std::string::npos);
  write("prefix/etc/ina.conf", std::string(70'000, '\n'));
  EXPECT_NE(refusal_of([&] { return resolve_switch_address(sources("auto")); }).find("longer than 65,536 bytes"), std::string::npos);
}

ina_settings settings_of(const char* address) {
  ina_settings settings{};
  settings.switch_address = address;
  settings.select = "auto";
  settings.transport = "auto";
  settings.failover_ms = 250;
  return settings;
}

TEST(Settings, WrongValuesAreRefused) {
  EXPECT_EQ(make_settings(settings_of("none")).switch_address.kind, Kind::kNone);
  ina_settings settings = settings_of("none");
  settings.select = "sometimes";
  EXPECT_EQ(refusal_of([&] { return make_settings(settings); }), "coll_ina_select is 'sometimes'; write auto, always or never");
  settings = settings_of("none");
  settings.failover_ms = 0;
  EXPECT_EQ(refusal_of([&] { return make_settings(settings); }), "coll_ina_failover_ms is 0; write 1 to 3600000");
  settings = settings_of("none");
  settings.transport = "../x";
  EXPECT_NE(refusal_of([&] { return make_settings(settings); }).find("coll_ina_transport"), std::string::npos);
}

TEST(Settings, TheBorderSaysWhyThereIsNoCore) {
  const ina_host host{};
  const ina_settings settings = settings_of("10.0.0.1");
  const char* error = nullptr;
  EXPECT_EQ(ina_core_create(&host, &settings, &error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("switch address '10.0.0.1': the port is missing"), std::string::npos) << error;
}

}  // namespace
}  // namespace ina::core
