// The fabric over UCX with the ina transport on loopback: direct, and through the real relay.
#include <gtest/gtest.h>

#include <poll.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/fabric.hpp"
#include "ompi_coll_ina/core/stream.hpp"
#include "test/core/softswitch_process.hpp"
#include "test/core/vectors.hpp"

namespace ina::test {
namespace {

using core::Error;
using core::Fabric;
using core::HostLanes;
using core::PutStatus;
using core::Ring;
using core::Status;
using core::Stream;
using core::StreamOperation;
using wire::LaneType;
using wire::Op;

using Clock = std::chrono::steady_clock;

// N members in this process, each with an interface of its own.
struct Members {
  Members(std::size_t count, const core::FabricSettings& settings, const core::RingSpec& spec) {
    for (std::size_t i = 0; i < count; ++i) {
      fabrics.push_back(core::open_uct_fabric(settings));
      rings.push_back(fabrics.back()->create_ring(spec));
    }
    for (std::size_t i = 0; i < count; ++i) rings[i]->connect(rings[(i + count - 1) % count]->address(), rings[(i + 1) % count]->address());
  }
  // Until the fact holds, at most some seconds.
  template <typename F>
  [[nodiscard]] bool run_until(F fact) {
    for (const auto end = Clock::now() + std::chrono::seconds(30); Clock::now() < end;) {
      for (auto& fabric : fabrics) fabric->progress();
      if (fact()) return true;
    }
    return false;
  }
  std::vector<std::unique_ptr<Fabric>> fabrics;
  std::vector<std::unique_ptr<Ring>> rings;
};

struct CountedCompletion : core::PutCompletion {
  CountedCompletion() { done = [](PutCompletion* self, bool ok) noexcept { ++(ok ? static_cast<CountedCompletion*>(self)->good : static_cast<CountedCompletion*>(self)->bad); }; }
  int good = 0, bad = 0;
};

const core::FabricSettings kDirect{.transport = "ina", .device = "lo", .relay = ""};

Status status_of(const core::FabricSettings& settings) {
  try {
    static_cast<void>(core::open_uct_fabric(settings));
  } catch (const Error& error) {
    return error.status();
  }
  return Status::kOk;
}

TEST(UctFabric, WhatCannotBeOpenedIsToldApart) {
  EXPECT_EQ(status_of({.transport = "nosuch", .device = "", .relay = ""}), Status::kUnsupported);
  EXPECT_EQ(status_of({.transport = "ina", .device = "nosuch0", .relay = ""}), Status::kUnsupported);
  EXPECT_EQ(status_of({.transport = "ina", .device = "", .relay = "localhost:1"}), Status::kBadSetting);
  EXPECT_EQ(status_of({.transport = "ina", .device = "", .relay = "garbage"}), Status::kBadSetting);
}

TEST(UctFabric, ARelayThatDoesNotAnswerIsUnreachableWithinASecond) {
  const auto begin = Clock::now();
  EXPECT_EQ(status_of({.transport = "ina", .device = "", .relay = "127.0.0.1:9"}), Status::kUnreachable);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));  // 200 ms on an idle machine
}

TEST(UctFabric, ATransportWithoutConnectedEndpointsIsUnsupported) {
  EXPECT_EQ(status_of({.transport = "tcp", .device = "lo", .relay = ""}), Status::kUnsupported);
}

TEST(UctFabric, AnOfferOfTheLoopbackDeviceIsALargePayload) {
  const auto fabric = core::open_uct_fabric(kDirect);
  EXPECT_EQ(fabric->max_payload(), 4096u);
  EXPECT_EQ(fabric->description(), "ina on lo");
  EXPECT_GE(fabric->event_fd(), 0);
}

TEST(UctFabric, PutsArriveWhereTheyWereSent) {
  Members members(3, kDirect, {.places = 8, .place_bytes = 1024, .source_buffers = 8});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(members.rings[0]->mailbox().data()) % members.rings[0]->mailbox().size(), 0u);
  std::byte* source = members.rings[0]->source_buffers().data();
  std::memset(source, 0x77, 1000);
  CountedCompletion right, left;
  EXPECT_EQ(members.rings[0]->put_right(source, 1000, 2 * 1024 + 24, &right), PutStatus::kPosted);
  EXPECT_EQ(members.rings[0]->put_left(source + 1024, 52, &left), PutStatus::kPosted);
  ASSERT_TRUE(members.run_until([&] { return right.good == 1 && left.good == 1; }));
  EXPECT_EQ(members.rings[1]->mailbox()[2 * 1024 + 24], std::byte{0x77});
  EXPECT_EQ(members.rings[1]->mailbox()[3 * 1024 - 1], std::byte{0x77});
  EXPECT_EQ(members.rings[1]->mailbox()[3 * 1024], std::byte{0});
  EXPECT_EQ(members.rings[2]->mailbox()[2 * 1024 + 24], std::byte{0});
}

TEST(UctFabric, ForeignAddressesAreRefused) {
  const auto fabric = core::open_uct_fabric(kDirect);
  const auto ring = fabric->create_ring({.places = 8, .place_bytes = 1024, .source_buffers = 8});
  const auto other = fabric->create_ring({.places = 16, .place_bytes = 1024, .source_buffers = 8});
  const auto good = ring->address();
  EXPECT_THROW(ring->connect({}, good), Error);
  EXPECT_THROW(ring->connect(good, std::span(good).first(good.size() - 1)), Error);
  EXPECT_THROW(ring->connect(good, other->address()), Error);
}

TEST(UctFabric, NoCompletionIsCalledAfterTheEndpointsAreDestroyed) {
  Members members(2, kDirect, {.places = 8, .place_bytes = 4096, .source_buffers = 8});
  CountedCompletion completion;
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(members.rings[0]->put_right(members.rings[0]->source_buffers().data() + i * 4096, 4096, i * 4096, &completion), PutStatus::kPosted);
  members.rings[0]->destroy_endpoints();
  for (int i = 0; i < 1000; ++i) members.fabrics[0]->progress();
  members.rings[0].reset();
  for (int i = 0; i < 1000; ++i) members.fabrics[0]->progress();
  EXPECT_EQ(completion.good + completion.bad, 0);
}

TEST(UctFabric, TheEventFdWakesWhenAPacketComes) {
  Members members(2, kDirect, {.places = 8, .place_bytes = 1024, .source_buffers = 8});
  ASSERT_TRUE(members.run_until([&] { return members.fabrics[1]->arm(); }));
  CountedCompletion completion;
  EXPECT_EQ(members.rings[0]->put_right(members.rings[0]->source_buffers().data(), 64, 0, &completion), PutStatus::kPosted);
  members.fabrics[0]->progress();
  pollfd ready{.fd = members.fabrics[1]->event_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  ASSERT_TRUE(members.run_until([&] { return completion.good == 1; }));
}

core::StreamSpec stream_spec(std::size_t member, std::size_t members, const nlohmann::json& group) {
  return {.group = group.at("group"), .epoch = group.at("epoch"), .member = static_cast<std::uint16_t>(member), .members = static_cast<std::uint16_t>(members),
          .window = group.at("window"), .first_seq = group.at("first_seq"), .payload = group.at("payload")};
}

// A group with its streams, bound.
struct Group : Members {
  Group(std::size_t count, const core::FabricSettings& settings, const nlohmann::json& group)
      : Members(count, settings, Stream::ring_spec(group.at("window"), group.at("payload"))) {
    for (std::size_t i = 0; i < count; ++i) streams.push_back(std::make_unique<Stream>(stream_spec(i, count, group), *rings[i]));
    is_bound = run_until([&] {
      bool all = true;
      for (auto& stream : streams) stream->bind(), all = all && stream->is_bound();
      return all;
    });
  }
  void expect_allreduce(LaneType type, Op op, std::size_t count, bool in_place) {
    std::mt19937_64 random(count);
    std::vector<Bytes> inputs, sources, outputs;
    std::deque<HostLanes> lanes;
    std::deque<StreamOperation> operations;
    for (std::size_t i = 0; i < streams.size(); ++i) inputs.push_back(random_vector(type, count, random));
    sources = outputs = inputs;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      lanes.emplace_back(type, core::Encoding::kIdentity, sources[i].data(), in_place ? sources[i].data() : outputs[i].data(), count);
      operations.emplace_back(op, lanes.back());
      streams[i]->post(operations.back());
    }
    ASSERT_TRUE(run_until([&] {
      bool all = true;
      for (auto& stream : streams) stream->progress(), all = all && stream->is_idle();
      return all;
    })) << count;
    const Bytes expected = combined(op, type, inputs);
    for (std::size_t i = 0; i < streams.size(); ++i) EXPECT_EQ(in_place ? sources[i] : outputs[i], expected) << "member " << i << " " << name(type) << " " << count;
  }
  // Streams refer to rings, rings to fabrics.
  ~Group() { streams.clear(); }
  std::vector<std::unique_ptr<Stream>> streams;
  bool is_bound = false;
};

TEST(UctStream, WithoutASwitchTheFirstChunkIsAFault) {
  Group group(2, kDirect, {{"group", 7}, {"epoch", 8}, {"window", 16}, {"first_seq", 64}, {"payload", 1024}});
  ASSERT_TRUE(group.is_bound);
  Bytes buffer(400);
  HostLanes lanes(LaneType::kInt32, core::Encoding::kIdentity, buffer.data(), buffer.data(), 100);
  std::deque<StreamOperation> operations;
  for (auto& stream : group.streams) operations.emplace_back(Op::kSum, lanes), stream->post(operations.back());
  ASSERT_TRUE(group.run_until([&] {
    for (auto& stream : group.streams) stream->progress();
    return group.streams[0]->has_fault() && group.streams[1]->has_fault();
  }));
  EXPECT_STREQ(group.streams[0]->fault_reason(), "bypassed");
}

class UctStreamOverRelay : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(UctStreamOverRelay, EveryVectorIsSummed) {
  if (SoftswitchProcess::program().empty()) GTEST_SKIP() << "ina-softswitch is not built";
  for (const std::size_t members : {2u, 4u}) {
    SoftswitchProcess softswitch(GetParam());
    const auto answer = softswitch.request({{"request", "open"}, {"members", members}, {"window", 64}, {"payload", 4096}});
    Group group(members, {.transport = "ina", .device = "", .relay = softswitch.relay()}, answer);
    ASSERT_TRUE(group.is_bound);
    softswitch.await_event("active", answer.at("group"));
    for (const std::size_t count : {1u, 2u, 1000u, 1018u, 40'001u}) group.expect_allreduce(LaneType::kInt32, Op::kSum, count, count % 2 == 0);
    for (const LaneType type : kAllTypes) group.expect_allreduce(type, Op::kMax, 777, true);
    group.expect_allreduce(LaneType::kFloat64, Op::kSum, 5000, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Clean, UctStreamOverRelay, testing::Values(std::vector<std::string>{}));
INSTANTIATE_TEST_SUITE_P(Faulty, UctStreamOverRelay,
                         testing::Values(std::vector<std::string>{"--loss", "0.02", "--duplicate", "0.02", "--reorder", "0.02", "--corrupt", "0.02", "--seed", "3"}));

}  // namespace
}  // namespace ina::test
