// elements_test.cpp: every kernel against one line of scalar code, bit for bit, on every SIMD target that this processor has.
#include "wire/elements.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace ina::wire {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};

template <typename T>
T scalar(Op op, T accumulator, T contribution) {
  switch (op) {
    case Op::kSum:
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<U>(static_cast<U>(accumulator) + static_cast<U>(contribution)));
      } else {
        return accumulator + contribution;
      }
    case Op::kMin: return contribution < accumulator ? contribution : accumulator;
    case Op::kMax: return contribution > accumulator ? contribution : accumulator;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == Op::kAnd) return static_cast<T>(accumulator & contribution);
    if (op == Op::kOr) return static_cast<T>(accumulator | contribution);
    if (op == Op::kXor) return static_cast<T>(accumulator ^ contribution);
  }
  ADD_FAILURE() << "no such operation";
  return accumulator;
}

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// IEEE 754 leaves the payload of a sum's NaN open; everything else is exact.
template <typename T>
bool is_expected(Op op, T got, T expected) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == Op::kSum && std::isnan(expected)) return std::isnan(got);
  }
  return same_bits(got, expected);
}

template <typename T>
T random_lane(std::mt19937_64& random) {
  if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    const T special[] = {T(0), -T(0), L::infinity(), -L::infinity(), L::quiet_NaN(), -L::quiet_NaN(), L::denorm_min(), -L::denorm_min(), L::max(), L::lowest(), T(1), T(-1)};
    if (random() % 3 == 0) return special[random() % std::size(special)];
  } else if (random() % 4 == 0) {
    return random() % 2 == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  const std::uint64_t bits = random();
  T lane;
  std::memcpy(&lane, &bits, sizeof lane);
  return lane;
}

// Lanes at any alignment between guard bytes.
template <typename T>
class Lanes {
 public:
  Lanes(std::mt19937_64& random, std::size_t lanes, std::size_t offset) : bytes_(2 * kGuardBytes + offset + lanes * sizeof(T), kGuard), offset_(kGuardBytes + offset), lanes_(lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      const T lane = random_lane<T>(random);
      std::memcpy(begin() + i * sizeof(T), &lane, sizeof lane);
    }
  }
  std::byte* begin() { return bytes_.data() + offset_; }
  T operator[](std::size_t i) const {
    T lane;
    std::memcpy(&lane, bytes_.data() + offset_ + i * sizeof lane, sizeof lane);
    return lane;
  }
  bool are_guards_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const bool is_lane = i >= offset_ && i < offset_ + lanes_ * sizeof(T);
      if (!is_lane && bytes_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t offset_;
  std::size_t lanes_;
};

template <typename T>
void expect_lanes(const char* what, Op op, const Lanes<T>& got, const Lanes<T>& left, const Lanes<T>& right, std::size_t lanes) {
  ASSERT_TRUE(got.are_guards_intact()) << what << " of " << lanes << " lanes writes elsewhere";
  for (std::size_t i = 0; i < lanes; ++i) {
    ASSERT_TRUE(is_expected(op, got[i], scalar(op, left[i], right[i])))
        << what << " " << name(op) << " lane " << i << " of " << lanes << ": " << +left[i] << " and " << +right[i] << " give " << +got[i];
  }
}

template <typename T>
void check(Op op, LaneType type, std::size_t lanes, std::mt19937_64& random) {
  Lanes<T> left(random, lanes, random() % 16);
  Lanes<T> right(random, lanes, random() % 16);
  Lanes<T> in_place = left;
  combine(op, type)(in_place.begin(), right.begin(), lanes);
  expect_lanes("combine", op, in_place, left, right, lanes);
  Lanes<T> to(random, lanes, random() % 16);
  const CombineInto into = combine_into(op, type);
  into(to.begin(), left.begin(), right.begin(), lanes);
  expect_lanes("combine_into", op, to, left, right, lanes);
  Lanes<T> to_left = left;
  into(to_left.begin(), to_left.begin(), right.begin(), lanes);
  expect_lanes("combine_into left", op, to_left, left, right, lanes);
  Lanes<T> to_right = right;
  into(to_right.begin(), left.begin(), to_right.begin(), lanes);
  expect_lanes("combine_into right", op, to_right, left, right, lanes);
  Lanes<T> all = left;
  combine(op, type)(all.begin(), all.begin(), lanes);
  expect_lanes("combine with itself", op, all, left, left, lanes);
}

template <typename T>
void check_type(LaneType type, std::mt19937_64& random) {
  ASSERT_EQ(lane_bytes(type), sizeof(T));
  for (const Op op : {Op::kSum, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor}) {
    if (std::is_floating_point_v<T> && op > Op::kMax) continue;
    for (std::size_t lanes = 0; lanes < 140; ++lanes) check<T>(op, type, lanes, random);
    for (const std::size_t lanes : {255U, 256U, 257U, 519U, 1024U}) check<T>(op, type, lanes, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

void check_all_types(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  check_type<std::int8_t>(LaneType::kInt8, random);
  check_type<std::int16_t>(LaneType::kInt16, random);
  check_type<std::int32_t>(LaneType::kInt32, random);
  check_type<std::int64_t>(LaneType::kInt64, random);
  check_type<std::uint8_t>(LaneType::kUint8, random);
  check_type<std::uint16_t>(LaneType::kUint16, random);
  check_type<std::uint32_t>(LaneType::kUint32, random);
  check_type<std::uint64_t>(LaneType::kUint64, random);
  check_type<float>(LaneType::kFloat32, random);
  check_type<double>(LaneType::kFloat64, random);
}

class EveryTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_P(EveryTarget, GivesTheBitsOfScalarCode) { check_all_types(std::random_device()()); }

std::vector<std::int64_t> supported_targets() {
  std::vector<std::int64_t> targets;
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) targets.push_back(left & -left);
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Simd, EveryTarget, testing::ValuesIn(supported_targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

TEST(Elements, HaveNoKernelWhereTheOperationDoesNotExist) {
  for (const LaneType type : {LaneType::kFloat32, LaneType::kFloat64}) {
    for (const Op op : {Op::kAnd, Op::kOr, Op::kXor}) {
      EXPECT_EQ(combine(op, type), nullptr) << name(op) << " " << name(type);
      EXPECT_EQ(combine_into(op, type), nullptr) << name(op) << " " << name(type);
    }
  }
  EXPECT_EQ(combine(Op::kNone, LaneType::kInt32), nullptr);
  EXPECT_EQ(combine(Op::kSum, LaneType::kNone), nullptr);
  EXPECT_EQ(combine(static_cast<Op>(7), LaneType::kInt32), nullptr);
  EXPECT_EQ(combine_into(Op::kSum, static_cast<LaneType>(11)), nullptr);
}

TEST(Elements, MinAndMaxKeepTheAccumulatorUnlessTheContributionComparesLessOrGreater) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float accumulators[] = {nan, 1.0F, 0.0F, -0.0F, nan, 2.0F};
  const float contributions[] = {1.0F, nan, -0.0F, 0.0F, nan, 1.0F};
  const float min_expected[] = {nan, 1.0F, 0.0F, -0.0F, nan, 1.0F};
  for (const Op op : {Op::kMin, Op::kMax}) {
    float got[6];
    combine_into(op, LaneType::kFloat32)(reinterpret_cast<std::byte*>(got), reinterpret_cast<const std::byte*>(accumulators),
                                         reinterpret_cast<const std::byte*>(contributions), 6);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(got[i], min_expected[i])) << name(op) << " lane " << i << ": " << got[i];
    EXPECT_EQ(got[5], op == Op::kMin ? 1.0F : 2.0F);
  }
}

}  // namespace
}  // namespace ina::wire
