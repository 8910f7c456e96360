#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "switch/manager/session.hpp"
#include "test/manager/fake_switch.hpp"
#include "test/manager/virtual_settings.hpp"
#include "wire/limits.hpp"

namespace ina::manager {
namespace {

using nlohmann::json;

constexpr const char* kHello = R"({"ina":1,"hello":{"client":"coll_ina 0.1.0","host":"n17","pid":4711}})";

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    for (std::uint64_t id = 1; id <= 2; ++id)
      sessions.push_back(std::make_unique<Session>(
          ConnectionId{id}, Client{.hello = {}, .address = "unix", .uid = 1000, .pid = 77}, context));
  }
  // Sends bytes as they are and returns what comes back, line by line.
  std::vector<json> send(Session& session, const std::string& bytes) {
    session.receive(bytes);
    while (session.step()) {
    }
    return taken(session);
  }
  std::vector<json> taken(Session& session) {
    std::vector<json> lines;
    std::string& output = session.output();
    while (!output.empty()) {
      const std::size_t end = output.find('\n');
      EXPECT_LE(end, wire::kMaxManagerLine);
      lines.push_back(json::parse(output.substr(0, end)));
      output.erase(0, end + 1);
    }
    return lines;
  }
  json ask(Session& session, const std::string& line) {
    const std::vector<json> lines = send(session, line + "\n");
    EXPECT_EQ(lines.size(), 1u) << line;
    return lines.empty() ? json() : lines[0];
  }
  Session& host() { return *sessions[0]; }
  Session& other() { return *sessions[1]; }

  FakeSwitch fake;
  VirtualSettings time;
  ManagerSettings settings = time.settings();
  ManagerCounters counters;
  GroupTable table{fake, settings, [this](ConnectionId id, const Event& event) { sessions[static_cast<std::uint64_t>(id) - 1]->tell(event); }};
  SessionContext context{.settings = settings, .groups = table, .counters = counters, .started = time.now};
  std::vector<std::unique_ptr<Session>> sessions;
};

constexpr const char* kOpen = R"({"id":1,"request":"open","members":2,"window":16,"payload":1024})";

TEST_F(SessionTest, AHelloIsWelcomedWithCapabilities) {
  const json welcome = ask(host(), kHello);
  EXPECT_EQ(welcome["ina"], 1);
  EXPECT_EQ(welcome["welcome"]["manager"], "test 1.0");
  EXPECT_EQ(welcome["welcome"]["instance"], "0123456789abcdef");
  EXPECT_EQ(welcome["welcome"]["relay"], "127.0.0.1:5050");
  EXPECT_EQ(welcome["welcome"]["lease_grace_ms"], 2000);
  const json& can = welcome["welcome"]["capabilities"];
  EXPECT_EQ(can["ops"], json({"sum", "max"}));
  EXPECT_EQ(can["lanes"], json({"int32", "float64"}));
  EXPECT_EQ(can["windows"], json({16, 128}));
  EXPECT_EQ(can["slots"], 1024);
  EXPECT_EQ(can["float_order"], "member");
  EXPECT_EQ(can["aids"], json({"gap-nak"}));
}

TEST_F(SessionTest, AWholeLifeOfAGroup) {
  ask(host(), kHello);
  const json opened = ask(host(), kOpen);
  EXPECT_EQ(opened["id"], 1);
  const std::uint32_t group = opened["result"]["group"];
  EXPECT_EQ(opened["result"]["epoch"], fake.known.at(group).spec.epoch);
  EXPECT_EQ(opened["result"]["window"], 16);
  fake.bind_all(group);
  table.on_bind(group);
  EXPECT_EQ(taken(host()), (std::vector<json>{{{"event", "active"}, {"group", group}}}));
  EXPECT_EQ(ask(host(), R"({"id":2,"request":"close","group":)" + std::to_string(group) + "}"), json::parse(R"({"id":2,"result":{}})"));
  EXPECT_TRUE(fake.known.empty());
}

TEST_F(SessionTest, RequestsBehindEachOtherAreAnsweredInOrder) {
  const std::string lines = std::string(kHello) + "\n" + kOpen + "\n" + R"({"id":2,"request":"status"})" + "\r\n" + R"({"id":3,"request":"x"})" + "\n";
  const std::vector<json> answers = send(host(), lines);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[1]["id"], 1);
  EXPECT_EQ(answers[2]["id"], 2);
  EXPECT_EQ(answers[3]["error"]["code"], "bad-request");
}

TEST_F(SessionTest, ByteByByteIsTheSame) {
  std::vector<json> answers;
  for (const char byte : std::string(kHello) + "\n" + kOpen + "\n")
    for (json& answer : send(host(), std::string(1, byte))) answers.push_back(std::move(answer));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(answers[1].contains("result"));
}

TEST_F(SessionTest, AnotherVersionIsToldSoAndTheConnectionEnds) {
  const json answer = ask(host(), R"({"ina":2,"hello":{}})");
  EXPECT_EQ(answer["ina"], 1);
  EXPECT_EQ(answer["error"]["code"], "version");
  EXPECT_EQ(host().phase(), SessionPhase::kClosing);
  EXPECT_TRUE(send(host(), std::string(kHello) + "\n").empty());
}

TEST_F(SessionTest, ARequestBeforeTheHelloIsRefused) {
  EXPECT_EQ(ask(host(), kOpen)["error"]["code"], "bad-request");
  EXPECT_EQ(host().phase(), SessionPhase::kClosing);
  EXPECT_TRUE(fake.known.empty());
}

TEST_F(SessionTest, GarbageEndsTheConnectionWithAnError) {
  ask(host(), kHello);
  const json answer = ask(host(), std::string("\0\x01\xff garbage", 11));
  EXPECT_EQ(answer["error"]["code"], "bad-line");
  EXPECT_EQ(host().phase(), SessionPhase::kClosing);
}

TEST_F(SessionTest, ALineWithoutEndEndsTheConnection) {
  ask(host(), kHello);
  host().receive(std::string(wire::kMaxManagerLine, ' '));
  EXPECT_FALSE(host().step());
  EXPECT_EQ(host().phase(), SessionPhase::kReady) << "a line may be that long";
  const std::vector<json> answers = send(host(), "x");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]["error"]["code"], "bad-line");
}

TEST_F(SessionTest, AnEndedConnectionsLeaseMayBeResumed) {
  ask(host(), kHello);
  const std::string lease = ask(host(), kOpen)["result"]["lease"];
  ask(host(), "garbage");
  ask(other(), kHello);
  EXPECT_EQ(ask(other(), R"({"id":5,"request":"resume","lease":")" + lease + "\"}")["result"]["groups"].size(), 1u);
}

TEST_F(SessionTest, WhoseLeaseIsTakenOverIsToldSo) {
  ask(host(), kHello);
  ask(other(), kHello);
  const std::string lease = ask(host(), kOpen)["result"]["lease"];
  ask(other(), R"({"id":5,"request":"resume","lease":")" + lease + "\"}");
  const std::vector<json> told = taken(host());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["error"]["code"], "resumed");
  EXPECT_EQ(host().phase(), SessionPhase::kClosing);
}

TEST_F(SessionTest, AnotherHostsGroupIsUnknown) {
  ask(host(), kHello);
  ask(other(), kHello);
  const std::uint32_t group = ask(host(), kOpen)["result"]["group"];
  EXPECT_EQ(ask(other(), R"({"id":2,"request":"close","group":)" + std::to_string(group) + "}")["error"]["code"], "unknown-group");
  EXPECT_EQ(fake.known.size(), 1u);
}

TEST_F(SessionTest, StatusShowsGroupsAndTheirOwners) {
  settings.switch_counters = [] { return NamedCounters{{"packets", 12}}; };
  ask(host(), kHello);
  const json opened = ask(host(), kOpen)["result"];
  fake.bind(opened["group"], 0, true);
  time.now += std::chrono::milliseconds(1500);
  const json line = ask(host(), R"({"id":9,"request":"status"})");
  const json& status = line["result"];
  EXPECT_EQ(status["uptime_ms"], 1500);
  EXPECT_EQ(status["slots"], json({{"total", 1024}, {"free", 992}}));
  EXPECT_EQ(status["counters"]["switch"]["packets"], 12);
  EXPECT_EQ(status["counters"]["manager"]["groups_opened"], 1);
  EXPECT_FALSE(status.contains("next"));
  ASSERT_EQ(status["groups"].size(), 1u);
  const json& group = status["groups"][0];
  EXPECT_EQ(group["group"], opened["group"]);
  EXPECT_EQ(group["phase"], "binding");
  EXPECT_EQ(group["binds_seen"], 1);
  EXPECT_EQ(group["age_ms"], 1500);
  EXPECT_EQ(group["lease"], "held");
  EXPECT_EQ(group["owner"]["host"], "n17");
  EXPECT_EQ(group["owner"]["pid"], 4711);
  EXPECT_EQ(group["owner"]["peer_uid"], 1000);
  EXPECT_EQ(group["owner"]["peer_pid"], 77);
  EXPECT_EQ(group["counters"]["contributions"], 5);
}

TEST_F(SessionTest, StatusTellsNoSecrets) {
  ask(host(), kHello);
  const json opened = ask(host(), kOpen)["result"];
  const std::string text = ask(host(), R"({"id":9,"request":"status"})").dump();
  EXPECT_EQ(text.find(opened["lease"].get<std::string>()), std::string::npos);
  EXPECT_EQ(text.find("epoch"), std::string::npos);
}

TEST_F(SessionTest, AStatusOfManyGroupsComesInSeveralLines) {
  fake.can.slots = 32 * 1000;
  settings.max_groups_per_lease = 1000;
  GroupTable large{fake, settings, [](ConnectionId, const Event&) {}};
  SessionContext large_context{.settings = settings, .groups = large, .counters = counters, .started = time.now};
  Session session(ConnectionId{1}, Client{}, large_context);
  ask(session, R"({"ina":1,"hello":{"host":")" + std::string(255, 'h') + "\"}}");
  for (int i = 0; i < 1000; ++i) ask(session, kOpen);
  std::set<std::uint32_t> seen;
  std::uint64_t after = 0;
  int lines = 0;
  for (bool has_more = true; has_more; ++lines) {
    const json line = ask(session, R"({"id":1,"request":"status","after":)" + std::to_string(after) + "}");
    for (const json& group : line["result"]["groups"]) EXPECT_TRUE(seen.insert(group["group"].get<std::uint32_t>()).second);
    has_more = line["result"].contains("next");
    if (has_more) after = line["result"]["next"];
    ASSERT_LT(lines, 100);
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_GT(lines, 1);
}

TEST_F(SessionTest, EveryTruncationAndEveryChangedByteOfALineIsAnswered) {
  const std::string line = kOpen;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    for (int change = -1; change < 256; change += change < 0 ? 1 : 37) {
      std::string bad = change < 0 ? line.substr(0, at) : line;
      if (change >= 0 && at < line.size()) bad[at] = static_cast<char>(change);
      Session session(ConnectionId{1}, Client{}, context);
      send(session, std::string(kHello) + "\n");
      const std::vector<json> answers = send(session, bad + "\n" + R"({"id":77,"request":"status"})" + "\n");
      ASSERT_FALSE(answers.empty()) << bad;
      if (session.phase() == SessionPhase::kReady) {
        EXPECT_EQ(answers.back()["id"], 77) << bad;
      }
      session.disconnect();
      table.on_time(time.now += std::chrono::seconds(60));
    }
  }
  EXPECT_TRUE(fake.known.empty());
}

}  // namespace
}  // namespace ina::manager
