// The conversation with a manager that answers, refuses, is silent, talks nonsense or is not there.
#include <gtest/gtest.h>

#include "ompi_coll_ina/core/manager_client.hpp"
#include "test/support/fake_manager.hpp"

namespace ina::core {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

struct Conversation {
  Conversation() {
    address = parse_switch_address("10.0.0.1:5050");
    client.start(address, now);
  }
  // Both sides, for some virtual time.
  void run(std::uint64_t ms = 1) {
    for (std::uint64_t end = now + ms * kMs; now < end; now += kMs / 10) {
      manager.turn(now);
      (void)client.progress(now);
    }
  }
  [[nodiscard]] AskAnswer ask(std::uint32_t window = 128) {
    const auto question = client.ask(4, window, 4096, now);
    run();
    return client.answer(question);
  }
  std::uint64_t now = kMs;
  test::FakeManager manager{3};
  ManagerClient client{[this](const SwitchAddress&) { return manager.connect(); }, "n17", 4711};
  SwitchAddress address;
};

TEST(ManagerClient, GreetsAsksAndCloses) {
  Conversation c;
  c.run();
  ASSERT_EQ(c.client.state(), ManagerClient::State::kReady);
  EXPECT_EQ(c.client.welcome().relay, "10.0.0.1:5050");
  EXPECT_EQ(c.client.welcome().ops, 0x7e);
  EXPECT_EQ(c.client.welcome().lane_types, 0x7fe);
  const AskAnswer answer = c.ask();
  ASSERT_EQ(answer.state, AskState::kGranted) << answer.reason;
  EXPECT_EQ(answer.grant.window, 4u);
  EXPECT_EQ(c.client.group_state(answer.grant.life.group), GroupState::kOpening);
  c.client.close(answer.grant.life.group);
  c.run();
  EXPECT_TRUE(c.manager.groups().empty());
  EXPECT_FALSE(c.client.has_output());
}

TEST(ManagerClient, ARefusalIsGivenWithItsReason) {
  Conversation c;
  c.run();
  c.manager.slots = 0;
  const AskAnswer answer = c.ask();
  EXPECT_EQ(answer.state, AskState::kRefused);
  EXPECT_EQ(answer.reason, "10.0.0.1:5050: no slots are free");
  EXPECT_EQ(c.client.state(), ManagerClient::State::kReady);
}

TEST(ManagerClient, NobodyThereIsUnreachableUntilItIsStartedAgain) {
  Conversation c;
  c.manager.is_reachable = false;
  c.client = ManagerClient{[&c](const SwitchAddress&) { return c.manager.connect(); }, "n17", 4711};
  c.client.start(c.address, c.now);
  c.run();
  EXPECT_TRUE(c.client.is_unreachable());
  EXPECT_EQ(c.client.failure(), "10.0.0.1:5050: connection refused");
  const int made = c.manager.connections_made;
  c.run(1000);
  EXPECT_EQ(c.manager.connections_made, made);
  c.manager.is_reachable = true;
  c.client.start(c.address, c.now);
  c.run();
  EXPECT_EQ(c.client.state(), ManagerClient::State::kReady);
}

TEST(ManagerClient, SilenceEndsAfterThreeSeconds) {
  Conversation c;
  c.manager.is_silent = true;
  c.run(2900);
  EXPECT_EQ(c.client.state(), ManagerClient::State::kGreeting);
  c.run(200);
  EXPECT_TRUE(c.client.is_unreachable());
  EXPECT_EQ(c.client.failure(), "10.0.0.1:5050: no answer within 3 s");
}

TEST(ManagerClient, AnAnswerThatComesTooLateIsClosedAtOnce) {
  Conversation c;
  c.run();
  c.manager.is_silent = true;
  const auto question = c.client.ask(4, 128, 4096, c.now);
  c.run(3100);
  EXPECT_EQ(c.client.answer(question).state, AskState::kUnreachable);
  EXPECT_EQ(c.client.state(), ManagerClient::State::kReady);
  c.manager.is_silent = false;
  EXPECT_EQ(c.ask().state, AskState::kGranted);
  EXPECT_FALSE(c.client.has_output());
}

TEST(ManagerClient, AnAbandonedQuestionKeepsNoGroup) {
  Conversation c;
  c.run();
  c.client.abandon(c.client.ask(4, 128, 4096, c.now));
  c.run(2);
  EXPECT_EQ(c.manager.opens, 1);
  EXPECT_EQ(c.manager.closes, 1);
  const auto question = c.client.ask(4, 128, 4096, c.now);
  c.run();
  c.client.abandon(question);
  c.run();
  EXPECT_TRUE(c.manager.groups().empty());
  EXPECT_FALSE(c.client.has_groups());
}

TEST(ManagerClient, NonsenseEndsTheConnectionWithAReason) {
  const std::string deep = std::string(30'000, '[') + "\n";
  for (const std::string& nonsense :
       {std::string("HTTP/1.1 400 Bad Request\r\n"), std::string("{}\n{\"result\":{}}\n"), std::string("{\"ina\":2,\"welcome\":{}}\n"), std::string("{\"ina\":1,\"welcome\":[]}\n"),
        std::string("{\"ina\":1,\"welcome\":{\"instance\":\"x\"}}\n"), std::string("{\"ina\":1,\"welcome\":{\"instance\":\"x\",\"capabilities\":{\"payload\":-1,\"members\":1e99}}}\n"),
        std::string("[1,2]\n"), std::string("\xff\xfe\n"), deep, std::string(70'000, 'x')}) {
    Conversation c;
    c.manager.raw_answer = nonsense;
    c.run(10);
    EXPECT_TRUE(c.client.is_unreachable()) << nonsense.substr(0, 60);
    EXPECT_TRUE(c.client.failure().starts_with("10.0.0.1:5050: ")) << c.client.failure();
  }
}

TEST(ManagerClient, AnErrorInsteadOfAWelcomeIsShown) {
  Conversation c;
  c.manager.raw_answer = R"({"ina":1,"error":{"code":"version","text":"this is version 2"}})" "\n";
  c.run();
  EXPECT_EQ(c.client.failure(), "10.0.0.1:5050: refused: this is version 2");
}

TEST(ManagerClient, GrantsThatWereNotAskedForAreRefused) {
  for (const char* grant :
       {R"({"group":0,"epoch":1,"window":4,"first_seq":0,"payload":4096,"lease":"a"})", R"({"group":1,"epoch":1,"window":256,"first_seq":0,"payload":4096,"lease":"a"})",
        R"({"group":1,"epoch":1,"window":3,"first_seq":0,"payload":4096,"lease":"a"})", R"({"group":1,"epoch":1,"window":4,"first_seq":4,"payload":4096,"lease":"a"})",
        R"({"group":1,"epoch":1,"window":4,"first_seq":0,"payload":8192,"lease":"a"})", R"({"group":1,"epoch":1,"window":4,"first_seq":0,"payload":8,"lease":"a"})",
        R"({"group":"1","epoch":1,"window":4,"first_seq":0,"payload":4096,"lease":"a"})", R"({"group":1})", R"({})"}) {
    Conversation c;
    c.run();
    c.manager.raw_answer = std::string(R"({"id":1,"result":)") + grant + "}\n";
    const AskAnswer answer = c.ask();
    EXPECT_EQ(answer.state, AskState::kRefused) << grant;
    EXPECT_FALSE(c.client.has_groups());
  }
}

TEST(ManagerClient, ALostConnectionIsResumedWithItsLease) {
  Conversation c;
  c.run();
  const AskAnswer answer = c.ask();
  ASSERT_EQ(answer.state, AskState::kGranted);
  c.manager.drop_connections();
  c.run(500);
  EXPECT_EQ(c.manager.resumes, 1);
  EXPECT_EQ(c.client.state(), ManagerClient::State::kReady);
  EXPECT_NE(c.client.group_state(answer.grant.life.group), GroupState::kLost);
  c.run(3000);
  EXPECT_EQ(c.manager.groups().size(), 1u);
}

TEST(ManagerClient, GroupsAreLostWithTheGraceTime) {
  Conversation c;
  c.run();
  const AskAnswer answer = c.ask();
  c.manager.is_reachable = false;
  c.manager.drop_connections();
  c.run(1500);
  EXPECT_NE(c.client.group_state(answer.grant.life.group), GroupState::kLost);
  c.run(1000);
  EXPECT_EQ(c.client.group_state(answer.grant.life.group), GroupState::kLost);
}

TEST(ManagerClient, GroupsAreLostWithTheInstance) {
  Conversation c;
  c.run();
  const AskAnswer answer = c.ask();
  c.manager.restart();
  c.run(500);
  EXPECT_EQ(c.client.state(), ManagerClient::State::kReady);
  EXPECT_EQ(c.client.group_state(answer.grant.life.group), GroupState::kLost);
  EXPECT_EQ(c.client.group_failure(answer.grant.life.group), "the switch was restarted");
}

TEST(ManagerClient, AnEventThatAGroupHasFailedIsToldWithItsText) {
  Conversation c;
  c.run();
  const AskAnswer answer = c.ask();
  c.manager.fail_groups("members 2 and 3 did not bind within 10000 ms");
  c.run(5);
  EXPECT_EQ(c.client.group_failure(answer.grant.life.group), "members 2 and 3 did not bind within 10000 ms");
}

TEST(ManagerMessage, EveryTruncationOfEveryAnswerIsHarmless) {
  for (const std::string line :
       {R"({"ina":1,"welcome":{"manager":"m","instance":"9f","relay":null,"lease_grace_ms":2000,"capabilities":{"ops":["sum"],"lanes":["int8"],"payload":4096,"members":256,"slots":1}}})",
        R"({"id":1,"result":{"group":17,"epoch":305419896,"window":64,"first_seq":4294966784,"payload":4096,"lease":"00"}})", R"({"event":"failed","group":17,"reason":"x","text":"y"})",
        R"({"id":3,"result":{"groups":[17],"active":[17]}})", R"({"id":1,"error":{"code":"no-slots","text":"none"}})"}) {
    EXPECT_FALSE(std::holds_alternative<ManagerGarbage>(decode_manager_line(line))) << line;
    for (std::size_t length = 0; length < line.size(); ++length) EXPECT_TRUE(std::holds_alternative<ManagerGarbage>(decode_manager_line(line.substr(0, length))));
  }
}

}  // namespace
}  // namespace ina::core
