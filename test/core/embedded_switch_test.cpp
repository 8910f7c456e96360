// The switch that a job starts for itself, with small scripts in its place and, where it is built, the real one.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "ompi_coll_ina/core/embedded_switch.hpp"
#include "ompi_coll_ina/core/switch_finder.hpp"

namespace ina::core {
namespace {

using State = EmbeddedSwitch::State;

class Embedded : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ina-embedded.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string script(const std::string& text) {
    const std::string path = (root_ / "switch").string();
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(("#!/bin/sh\n" + text).c_str(), file);
    std::fclose(file);
    ::chmod(path.c_str(), 0700);
    return path;
  }
  // Waits for the child, not for a time: its output and its end wake the poll.
  static void settle(EmbeddedSwitch& embedded) {
    while (embedded.state() == State::kStarting) {
      embedded.poll(1);
      ::usleep(1000);
    }
  }
  static bool is_running(pid_t pid) { return ::kill(pid, 0) == 0; }
  std::filesystem::path root_;
};

TEST_F(Embedded, SaysWhereItListensAndEndsWithItsInput) {
  EmbeddedSwitch embedded;
  embedded.start(script("echo starting >&2; echo \"listening on ${3%:0}:4711\"; cat > /dev/null"), "127.0.0.1", 0);
  settle(embedded);
  ASSERT_EQ(embedded.state(), State::kListening) << embedded.failure();
  EXPECT_EQ(embedded.address().text(), "127.0.0.1:4711");
  const pid_t pid = embedded.pid();
  EXPECT_EQ(::getsid(pid), pid);
  embedded.stop();
  EXPECT_FALSE(is_running(pid));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(Embedded, InheritsNoDescriptorOfTheJob) {
  const int kept = ::dup(STDOUT_FILENO);
  ASSERT_GT(kept, 2);
  EmbeddedSwitch embedded;
  embedded.start(script("if [ -e /proc/self/fd/" + std::to_string(kept) + " ]; then echo inherited; exit 1; fi; echo 'listening on 127.0.0.1:1'; cat > /dev/null"), "127.0.0.1", 0);
  settle(embedded);
  ::close(kept);
  EXPECT_EQ(embedded.state(), State::kListening) << embedded.failure();
}

TEST_F(Embedded, AProgramThatIsMissingOrFailsIsToldWithItsLastLine) {
  EmbeddedSwitch embedded;
  embedded.start((root_ / "missing").string(), "127.0.0.1", 0);
  EXPECT_EQ(embedded.state(), State::kFailed);
  EXPECT_NE(embedded.failure().find("missing: No such file or directory"), std::string::npos) << embedded.failure();
  embedded.start(script("echo 'cannot bind 127.0.0.1:0: no more ports' >&2; exit 1"), "127.0.0.1", 0);
  settle(embedded);
  EXPECT_EQ(embedded.failure(), "the embedded switch has ended: cannot bind 127.0.0.1:0: no more ports");
}

TEST_F(Embedded, OneThatSaysNothingIsGivenUpAfterThreeSeconds) {
  EmbeddedSwitch embedded;
  embedded.start(script("cat > /dev/null"), "127.0.0.1", 0);
  embedded.poll(EmbeddedSwitch::kStartTimeoutNs - 1);
  EXPECT_EQ(embedded.state(), State::kStarting);
  const pid_t pid = embedded.pid();
  embedded.poll(EmbeddedSwitch::kStartTimeoutNs);
  EXPECT_EQ(embedded.failure(), "the embedded switch did not say where it listens within 3 s");
  EXPECT_FALSE(is_running(pid));
}

TEST_F(Embedded, OneThatDoesNotObeyIsKilled) {
  EmbeddedSwitch embedded;
  embedded.start(script("echo 'listening on 127.0.0.1:1'; exec sleep 1000"), "127.0.0.1", 0);
  settle(embedded);
  const pid_t pid = embedded.pid();
  embedded.stop();
  EXPECT_FALSE(is_running(pid));
}

TEST_F(Embedded, AnAddressThatIsNoneIsRefused) {
  EmbeddedSwitch embedded;
  embedded.start(script("echo 'listening on nowhere'; cat > /dev/null"), "127.0.0.1", 0);
  settle(embedded);
  EXPECT_EQ(embedded.state(), State::kFailed);
  EXPECT_NE(embedded.failure().find("named no address"), std::string::npos);
}

// Rank 0 starts it for itself and for others, again if it has died, but not for ever.
TEST_F(Embedded, TheFinderStartsItAnswersOthersAndStartsItAgain) {
  Settings settings;
  settings.switch_address = parse_switch_address("embedded");
  settings.all_on_one_node = true;
  const std::string pid_file = (root_ / "pid").string();
  settings.softswitch = script("echo $$ > " + pid_file + "; echo \"listening on 127.0.0.1:$(($$ % 60000 + 1))\"; cat > /dev/null");
  const auto read_pid = [&] {
    std::ifstream file(pid_file);
    pid_t pid = -1;
    file >> pid;
    return pid;
  };
  std::vector<std::pair<int, SwitchIsAtMessage>> told;
  SwitchFinder finder(settings, [&](int rank, const LifeBody& body) { told.emplace_back(rank, std::get<SwitchIsAtMessage>(body)); });
  std::uint64_t now = 1;
  const auto settle_finder = [&] {
    while (finder.state() == SwitchFinder::State::kFinding) {
      finder.progress(now += 1'000'000);
      ::usleep(1000);
    }
  };
  finder.on_question(3, {}, now);
  settle_finder();
  finder.progress(now);
  ASSERT_EQ(finder.state(), SwitchFinder::State::kKnown) << finder.failure();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 3);
  EXPECT_EQ(told[0].second.address, finder.address().text());
  for (int start = 1; start < SwitchFinder::kMaxStarts; ++start) {
    const pid_t pid = read_pid();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    while (finder.state() == SwitchFinder::State::kKnown) {
      finder.progress(now += 30'000'000);
      ::usleep(1000);
    }
    EXPECT_EQ(finder.state(), SwitchFinder::State::kUnavailable);
    finder.find(true, now);
    settle_finder();
    ASSERT_EQ(finder.state(), SwitchFinder::State::kKnown) << finder.failure();
    EXPECT_NE(read_pid(), pid);
  }
  ASSERT_EQ(::kill(read_pid(), SIGKILL), 0);
  while (finder.state() == SwitchFinder::State::kKnown) {
    finder.progress(now += 30'000'000);
    ::usleep(1000);
  }
  finder.find(true, now);
  EXPECT_EQ(finder.state(), SwitchFinder::State::kUnavailable);
}

// Rank 0 must not end the switch while a leader elsewhere uses it.
TEST(SwitchFinder, AnAskerReleasesWhatItHasAskedForOnce) {
  using Why = WhereIsSwitchMessage::Why;
  Settings settings;
  settings.switch_address = parse_switch_address("embedded");
  settings.world_rank = 3;
  std::vector<Why> sent;
  SwitchFinder asker(settings, [&](int rank, const LifeBody& body) {
    EXPECT_EQ(rank, 0);
    sent.push_back(std::get<WhereIsSwitchMessage>(body).why);
  });
  EXPECT_FALSE(asker.release());
  asker.find(false, 1);
  asker.on_answer(2, {.address = "10.0.0.9:1", .reason = {}});
  EXPECT_EQ(asker.state(), SwitchFinder::State::kFinding);
  asker.on_answer(0, {.address = "10.0.0.1:5050", .reason = {}});
  EXPECT_EQ(asker.address().text(), "10.0.0.1:5050");
  EXPECT_TRUE(asker.release());
  EXPECT_FALSE(asker.release());
  EXPECT_EQ(sent, (std::vector<Why>{Why::kAsk, Why::kRelease}));

  settings.world_rank = 0;
  settings.switch_address = parse_switch_address("10.0.0.1:5050");
  SwitchFinder starter(settings, [](int, const LifeBody&) {});
  starter.on_question(3, {.why = Why::kAsk}, 1);
  EXPECT_TRUE(starter.has_users());
  starter.on_question(3, {.why = Why::kRelease}, 1);
  EXPECT_FALSE(starter.has_users());
}

TEST(SwitchFinder, AnAnswerThatDoesNotComeIsWaitedForFourSeconds) {
  Settings settings;
  settings.switch_address = parse_switch_address("embedded");
  settings.world_rank = 1;
  SwitchFinder asker(settings, [](int, const LifeBody&) {});
  asker.find(false, 1);
  asker.progress(3'999'999'999);
  EXPECT_EQ(asker.state(), SwitchFinder::State::kFinding);
  asker.progress(4'000'000'001);
  EXPECT_EQ(asker.state(), SwitchFinder::State::kUnavailable);
  EXPECT_EQ(asker.failure(), "rank 0 did not say where its embedded switch is");
}

TEST(ListenAddress, IsLoopbackForAJobOnOneNode) { EXPECT_EQ(choose_listen_address(true), "127.0.0.1"); }

TEST_F(Embedded, TheRealOneListensAndEnds) {
  const char* build = std::getenv("INA_BUILDDIR");
  const std::string program = std::string(build != nullptr ? build : ".") + "/ina-softswitch";
  if (::access(program.c_str(), X_OK) != 0) GTEST_SKIP() << program << " was not built";
  EmbeddedSwitch embedded;
  embedded.start(program, "127.0.0.1", 0);
  settle(embedded);
  ASSERT_EQ(embedded.state(), State::kListening) << embedded.failure();
  const pid_t pid = embedded.pid();
  embedded.stop();
  EXPECT_FALSE(is_running(pid));
}

}  // namespace
}  // namespace ina::core
