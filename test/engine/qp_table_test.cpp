// qp_table_test.cpp: which QP numbers an interface gives, in which order, and how often it gives one again.
#include <gtest/gtest.h>

#include <set>

#include "ucx_tl/engine/qp_table.hpp"

namespace ina::engine::test {
namespace {

class QpTableTest : public testing::Test {
 protected:
  Qp* add(QpTable& table) { return table.add(std::make_unique<Qp>(table.reserve(), 0, options, memory, resources, counters)); }

  RequesterOptions options;
  MemoryTable memory{1};
  ReceiveResources resources{1, 64};
  Counters counters;
};

TEST_F(QpTableTest, BlockOfARelayHas4095NumbersBesideItsServiceNumber) {
  QpTable table(wire::kQpnBlockBits);
  table.move_to(0x7000, 4000);
  EXPECT_EQ(table.service_qpn(), 0x7000u);
  EXPECT_EQ(table.capacity(), 4095u);
  std::set<std::uint32_t> numbers;
  while (table.size() < table.capacity()) numbers.insert(add(table)->number());
  EXPECT_EQ(numbers.size(), 4095u);
  EXPECT_EQ(*numbers.begin(), 0x7001u);
  EXPECT_EQ(*numbers.rbegin(), 0x7fffu);
}

TEST_F(QpTableTest, TopByteHas65535NumbersAndTheLowestOneFewer) {
  QpTable table(16);
  table.move_to(0x050000, 1);
  EXPECT_EQ(table.service_qpn(), 0x050000u);
  EXPECT_EQ(table.capacity(), 65535u);
  table.move_to(0, 61438);
  EXPECT_EQ(table.service_qpn(), 0x1000u);
  EXPECT_EQ(table.capacity(), 61439u);
  EXPECT_EQ(add(table)->number(), 0xffffu);
  EXPECT_EQ(add(table)->number(), 0x1001u) << "no number below 4096, and not the service number";
}

TEST_F(QpTableTest, NumberIsGivenAgainWhenAllOthersHadTheirTurn) {
  QpTable table(16);
  table.move_to(0x120000, 4242);
  const Qp* const kept = add(table);
  const std::uint32_t kept_number = kept->number();
  const std::uint32_t first = kept_number + 1;
  for (std::uint32_t i = 0; i < table.capacity() - 1; ++i) {
    const Qp* const qp = add(table);
    ASSERT_NE(qp->number(), table.service_qpn());
    ASSERT_TRUE(i == 0 || qp->number() != first) << "after " << i;
    ASSERT_EQ(table.find(qp->number()), qp);
    const std::uint32_t number = qp->number();
    table.remove(*qp);
    ASSERT_EQ(table.find(number), nullptr);
  }
  EXPECT_EQ(add(table)->number(), first) << "the number that is in use is passed over";
  EXPECT_EQ(table.find(kept_number), kept);
}

TEST_F(QpTableTest, NumberOfAnotherInterfaceFindsNothing) {
  QpTable table(16);
  table.move_to(0x030000, 7);
  const Qp* const qp = add(table);
  EXPECT_EQ(table.find(qp->number() ^ 0x010000), nullptr);
  EXPECT_EQ(table.find(qp->number() ^ 0x001000), nullptr);
  EXPECT_EQ(table.find(qp->number() ^ 1), nullptr);
  EXPECT_EQ(table.find(table.service_qpn()), nullptr);
}

}  // namespace
}  // namespace ina::engine::test
