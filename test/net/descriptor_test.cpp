// descriptor_test.cpp: a descriptor is closed once, by whoever owns it last.
#include "net/descriptor.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

namespace ina::net {
namespace {

int opened() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Descriptor, IsClosedAtItsEnd) {
  int fd = -1;
  {
    const Descriptor owner(opened());
    fd = owner.get();
    ASSERT_TRUE(owner);
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, AssignmentClosesWhatWasThereAtOnce) {
  Descriptor first(opened());
  Descriptor second(opened());
  const int old = first.get(), kept = second.get();
  first = std::move(second);
  EXPECT_FALSE(is_open(old));
  EXPECT_EQ(first.get(), kept);
  EXPECT_FALSE(second);
}

TEST(Descriptor, ReleasedIsNotClosed) {
  Descriptor owner(opened());
  const int fd = owner.release();
  EXPECT_FALSE(owner);
  owner.reset();
  ASSERT_TRUE(is_open(fd));
  owner.reset(fd);
  owner.reset();
  EXPECT_FALSE(is_open(fd));
}

}  // namespace
}  // namespace ina::net
