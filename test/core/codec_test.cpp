// Decisions and life messages: what is written is read, and no other bytes are.
#include <gtest/gtest.h>

#include <random>

#include "ompi_coll_ina/core/decision.hpp"
#include "ompi_coll_ina/core/ina_core.h"
#include "ompi_coll_ina/core/life_message.hpp"

namespace ina::core {
namespace {

using Bytes = std::vector<std::byte>;

Bytes some_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

std::vector<LifeMessage> all_messages() {
  const LifeKey life{.group = 17, .epoch = 0x12345678};
  return {{life, 3, AddressMessage{.address = some_bytes(1024)}},
          {life, 0, VoteMessage{.ok = true, .max_payload = 4096, .reason = {}}},
          {life, 1, VoteMessage{.ok = false, .max_payload = 0, .reason = "no interface"}},
          {life, 2, ProbeMessage{.round = 7}},
          {life, 2, StatusMessage{.round = 7, .contributed_end = 0xffffffff, .result_end = 5}},
          {life, 4, ReportMessage{.has = 9, .posted = 1ULL << 40, .ended_at = 1024, .reason = "bypassed"}},
          {life, 4, HandoverMessage{.seq = 8, .lost = false, .lanes = some_bytes(4068)}},
          {life, 4, HandoverMessage{.seq = 8, .lost = true, .lanes = {}}},
          {life, 5, QuiesceMessage{.step = QuiesceMessage::Step::kForget}},
          {{}, 0, WhereIsSwitchMessage{.why = WhereIsSwitchMessage::Why::kLost}},
          {{}, 0, SwitchIsAtMessage{.address = "10.0.0.1:5050", .reason = {}}}};
}

Decision some_set_up() {
  return {.kind = DecisionKind::kSetUp, .reason = INA_DECLINE_SETUP, .life = {17, 99}, .plan = {.by_switch = {1, kAllClasses}, .on_trial = {0x40, 0}}, .window = 128, .first_seq = 0xffffff00, .payload = 4096, .ops = 0x7e, .lane_types = 0x7fe,
          .instance = "9f3c", .relay = "10.0.0.1:5050", .transport = "ina"};
}

TEST(LifeMessage, WhatIsWrittenIsRead) {
  for (const LifeMessage& message : all_messages()) {
    const Bytes bytes = encode(message);
    EXPECT_LE(bytes.size(), kMaxLifeMessage);
    const auto read = decode_life_message(bytes);
    ASSERT_TRUE(read) << message.body.index();
    EXPECT_EQ(read->life, message.life);
    EXPECT_EQ(read->member, message.member);
    EXPECT_EQ(read->body.index(), message.body.index());
    EXPECT_EQ(encode(*read), bytes);
  }
}

TEST(LifeMessage, EveryTruncationAndExtensionIsRefused) {
  for (const LifeMessage& message : all_messages()) {
    Bytes bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(decode_life_message(std::span(bytes).first(length)));
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_life_message(bytes));
  }
}

// Corrupted bytes are refused, or are another message that is written as it was read.
TEST(LifeMessage, EveryCorruptionIsRefusedOrMeansSomething) {
  for (const LifeMessage& message : all_messages()) {
    const Bytes bytes = encode(message);
    for (std::size_t at = 0; at < std::min<std::size_t>(bytes.size(), 64); ++at) {
      for (const int mask : {1, 0x80, 0xff}) {
        Bytes corrupted = bytes;
        corrupted[at] ^= static_cast<std::byte>(mask);
        const auto read = decode_life_message(corrupted);
        if (at < 4) {
          EXPECT_FALSE(read);
        }
        if (read) {
          EXPECT_EQ(encode(*read).size(), corrupted.size());
        }
      }
    }
  }
}

TEST(LifeMessage, TextFromAPeerHasNoControlCharacters) {
  const auto read = decode_life_message(encode({{1, 1}, 0, VoteMessage{.ok = false, .max_payload = 0, .reason = "a\x1b[2Jb\n"}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<VoteMessage>(read->body).reason, "a?[2Jb?");
}

TEST(Decision, WhatIsWrittenIsRead) {
  Decision stay;
  stay.reason = INA_DECLINE_NO_SLOTS;
  for (const Decision& decision : {stay, some_set_up()}) {
    const Bytes bytes = encode(decision);
    EXPECT_LE(bytes.size(), kMaxDecision);
    const auto read = decode_decision(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, decision);
    for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(decode_decision(std::span(bytes).first(length)));
  }
}

TEST(Decision, ImpossibleGroupsAreRefused) {
  const auto is_refused = [](auto change) {
    Decision decision = some_set_up();
    change(decision);
    return !decode_decision(encode(decision)).has_value();
  };
  EXPECT_FALSE(is_refused([](Decision&) {}));
  EXPECT_TRUE(is_refused([](Decision& d) { d.window = 100; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.window = 8192; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.first_seq += 128; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.payload = 60; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.payload = 8192; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.life.group = 0; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.life.epoch = 0; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.reason = INA_DECLINE_REASONS; }));
  EXPECT_TRUE(is_refused([](Decision& d) { d.kind = static_cast<DecisionKind>(7); }));
}

TEST(Codecs, RandomBytesAreHarmless) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 80);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    (void)decode_life_message(bytes);
    (void)decode_decision(bytes);
  }
}

}  // namespace
}  // namespace ina::core
