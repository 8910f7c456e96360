// stream_world.hpp: the members of one group, each with fabric, ring and stream, over the in-memory network.
// Used by the tests of the stream.
// Has no group life: tests bind, post and progress by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "ompi_coll_ina/core/stream.hpp"
#include "test/support/memory_network.hpp"

namespace ina::test {

struct WorldSpec {
  std::uint16_t members = 3;
  std::uint32_t window = 4;
  std::uint32_t first_seq = 0;
  std::size_t payload = 128;
  std::uint64_t seed = 1;
};

struct World {
  static constexpr std::uint32_t kGroup = 17, kEpoch = 0xabad1dea;

  explicit World(const WorldSpec& with) : spec(with), random(with.seed), network(with.seed) {
    for (std::uint16_t i = 0; i < spec.members; ++i) {
      fabrics.push_back(network.open_fabric());
      rings.push_back(fabrics[i]->create_ring(core::Stream::ring_spec(spec.window, spec.payload)));
    }
    for (std::size_t i = 0; i < spec.members; ++i) {
      const std::size_t left = (i + spec.members - 1u) % spec.members, right = (i + 1) % spec.members;
      rings[i]->connect(rings[left]->address(), rings[right]->address());
      streams.push_back(std::make_unique<core::Stream>(
          core::StreamSpec{.group = kGroup, .epoch = kEpoch, .member = static_cast<std::uint16_t>(i), .left = static_cast<std::uint16_t>((i + spec.members - 1) % spec.members), .members = spec.members, .window = spec.window,
                           .first_seq = spec.first_seq, .payload = spec.payload}, *rings[i]));
    }
  }
  ~World() { EXPECT_FALSE(network.saw_changed_source()) << "seed " << spec.seed; }

  core::Stream& stream(std::size_t member) { return *streams[member]; }
  std::size_t any_member() { return std::uniform_int_distribution<std::size_t>(0, spec.members - 1u)(random); }

  void bind() {
    for (int round = 0; round < 100'000 && !all([](core::Stream& s) { return s.is_bound(); }); ++round) {
      const std::size_t i = any_member();
      stream(i).bind();
      fabrics[i]->progress();
    }
    ASSERT_TRUE(all([](core::Stream& s) { return s.is_bound(); })) << "seed " << spec.seed;
    ASSERT_EQ(network.binds_seen(kGroup, kEpoch), 2u * spec.members);
  }
  // One member, chosen at random, progresses.
  void turn() {
    const std::size_t i = any_member();
    fabrics[i]->progress();
    stream(i).progress();
  }
  template <typename F>
  [[nodiscard]] bool all(F fact) {
    for (auto& s : streams) {
      if (!fact(*s)) return false;
    }
    return true;
  }
  // Until all are idle, or `turns` have passed.
  [[nodiscard]] bool run(int turns = 1'000'000) {
    const auto is_idle = [](core::Stream& s) { return s.is_idle(); };
    while (turns-- > 0 && !all(is_idle)) turn();
    return all(is_idle);
  }

  WorldSpec spec;
  std::mt19937_64 random;
  MemoryNetwork network;
  std::vector<std::unique_ptr<core::Fabric>> fabrics;
  std::vector<std::unique_ptr<core::Ring>> rings;
  std::vector<std::unique_ptr<core::Stream>> streams;
};

}  // namespace ina::test
