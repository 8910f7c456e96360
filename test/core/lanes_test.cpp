#include "ompi_coll_ina/core/lanes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "test/core/vectors.hpp"

namespace ina::test {
namespace {

using core::Encoding;
using core::HostLanes;
using wire::LaneType;

TEST(HostLanes, IdentityCopiesTheRangeAndNothingElse) {
  const std::array<std::int32_t, 5> source{1, -2, 3, -4, 5};
  std::array<std::int32_t, 5> destination{};
  HostLanes lanes(LaneType::kInt32, Encoding::kIdentity, source.data(), destination.data(), 5);
  std::array<std::int32_t, 2> gathered{};
  lanes.gather(2, 2, reinterpret_cast<std::byte*>(gathered.data()));
  EXPECT_EQ(gathered, (std::array<std::int32_t, 2>{3, -4}));
  lanes.scatter(3, 1, reinterpret_cast<const std::byte*>(gathered.data()));
  EXPECT_EQ(destination, (std::array<std::int32_t, 5>{0, 0, 0, 3, 0}));
  EXPECT_EQ(lanes.lane_count(), 5u);
  EXPECT_EQ(lanes.lane_type(), LaneType::kInt32);
}

TEST(HostLanes, LogicalElementsAreOneOrZeroInEveryIntegerSize) {
  for (const LaneType type : kAllTypes) {
    if (is_float(type)) continue;
    with_type(type, [&]<typename T>(T) {
      if constexpr (std::is_integral_v<T>) {
        const std::array<T, 4> source{static_cast<T>(0), static_cast<T>(1), static_cast<T>(-1), static_cast<T>(T{1} << (8 * sizeof(T) - 2))};
        std::array<T, 4> destination{9, 9, 9, 9}, gathered{};
        HostLanes lanes(type, Encoding::kLogical, source.data(), destination.data(), 4);
        lanes.gather(0, 4, reinterpret_cast<std::byte*>(gathered.data()));
        EXPECT_EQ(gathered, (std::array<T, 4>{0, 1, 1, 1})) << name(type);
        lanes.scatter(0, 3, reinterpret_cast<const std::byte*>(source.data()));
        EXPECT_EQ(destination, (std::array<T, 4>{0, 1, 1, 9})) << name(type);
      }
    });
  }
}

TEST(HostLanes, ElementsNeedNoAlignment) {
  std::array<std::byte, 33> packed{};
  const std::uint64_t value = 7;
  std::memcpy(&packed[9], &value, 8);
  HostLanes lanes(LaneType::kUint64, Encoding::kLogical, &packed[1], &packed[1], 4);
  std::array<std::byte, 32> gathered{};
  lanes.gather(0, 4, gathered.data());
  EXPECT_EQ(gathered[8], std::byte{1});
  EXPECT_EQ(gathered[0], std::byte{0});
}

}  // namespace
}  // namespace ina::test
