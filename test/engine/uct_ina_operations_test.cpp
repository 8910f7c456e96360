// uct_ina_operations_test.cpp: every operation moves the bytes that it says.
#include "test/engine/uct_ina_fixture.hpp"

#include <string>
#include <vector>

namespace ina::test {
namespace {

TEST_F(UctTest, PutZcopyArrivesAndCompletesOnce) {
  Memory source(domain, 100000);
  Memory target(domain, 100000);
  for (std::size_t i = 0; i < source.bytes.size(); ++i) source.bytes[i] = static_cast<char>(i * 7);
  Completion completion;
  const uct_iov_t iov = source.iov(source.bytes.size());
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, target.address(), target.rkey.rkey, &completion.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return completion.is_done(); }));
  EXPECT_EQ(completion.uct.status, UCS_OK);
  EXPECT_EQ(source.bytes, target.bytes);
}

TEST_F(UctTest, PutShortAndBcopyArrive) {
  Memory target(domain, 256);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "short", 5, target.address(), target.rkey.rkey), UCS_OK);
  const auto pack = [](void* to, void* arg) -> std::size_t {
    std::memcpy(to, arg, 6);
    return 6;
  };
  char text[] = "copied";
  ASSERT_EQ(uct_ep_put_bcopy(ep_a.ep, pack, text, target.address(100), target.rkey.rkey), 6);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_EQ(std::string(target.bytes.data()), "short");
  EXPECT_EQ(std::string(target.bytes.data() + 100), "copied");
}

TEST_F(UctTest, ActiveMessagesReachTheirHandlerInOrder) {
  std::vector<std::string> received;
  const auto handler = [](void* arg, void* data, size_t length, unsigned) -> ucs_status_t {
    static_cast<std::vector<std::string>*>(arg)->emplace_back(static_cast<char*>(data), length);
    return UCS_OK;
  };
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, handler, &received, 0), UCS_OK);
  ASSERT_EQ(uct_ep_am_short(ep_a.ep, 3, 0x4142434445464748, "tail", 4), UCS_OK);
  std::string text(6000, 'x');
  const auto pack = [](void* to, void* arg) -> std::size_t {
    const auto& from = *static_cast<std::string*>(arg);
    std::memcpy(to, from.data(), from.size());
    return from.size();
  };
  ASSERT_EQ(uct_ep_am_bcopy(ep_a.ep, 3, pack, &text, 0), 6000);
  const uct_iov_t iov[2] = {{.buffer = text.data(), .length = 2, .memh = nullptr, .stride = 0, .count = 1}, {.buffer = text.data(), .length = 3, .memh = nullptr, .stride = 0, .count = 1}};
  ASSERT_EQ(uct_ep_am_short_iov(ep_a.ep, 3, iov, 2), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return received.size() == 3; }));
  EXPECT_EQ(received[0], "HGFEDCBAtail");
  EXPECT_EQ(received[1], text);
  EXPECT_EQ(received[2], "xxxxx");
}

// What arrives as active message 3.
struct Inbox {
  explicit Inbox(const Iface& iface) { EXPECT_EQ(uct_iface_set_am_handler(iface.iface, 3, &Inbox::on_message, this, 0), UCS_OK); }
  static ucs_status_t on_message(void* self, void* data, size_t length, unsigned) {
    static_cast<Inbox*>(self)->messages.emplace_back(static_cast<char*>(data), length);
    return UCS_OK;
  }
  std::vector<std::string> messages;
};

TEST_F(UctTest, ActiveMessageOfPiecesKeepsHeaderAndOrder) {
  Inbox inbox(b);
  std::string first(1000, 'a');
  std::string second(a.attr.cap.am.max_zcopy - 1000 - 6, 'b');
  const uct_iov_t iov[2] = {{.buffer = first.data(), .length = first.size(), .memh = nullptr, .stride = 0, .count = 1},
                            {.buffer = second.data(), .length = second.size(), .memh = nullptr, .stride = 0, .count = 1}};
  Completion completion;
  ASSERT_EQ(uct_ep_am_zcopy(ep_a.ep, 3, "header", 6, iov, 2, 0, &completion.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_am_zcopy(ep_a.ep, 3, "alone", 5, nullptr, 0, 0, nullptr), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return completion.is_done() && inbox.messages.size() == 2; }));
  EXPECT_EQ(inbox.messages[0], "header" + first + second);
  EXPECT_EQ(inbox.messages[1], "alone");
}

TEST_F(UctTest, ActiveMessagesOfEveryLengthUpToTheLimitArrive) {
  Inbox inbox(b);
  const std::size_t limit = a.attr.cap.am.max_bcopy;
  ASSERT_GT(a.attr.cap.am.max_iov, 1u);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{4087}, std::size_t{4088}, std::size_t{4089}, limit}) {
    std::string text(length, 'x');
    const auto pack = [](void* to, void* arg) -> std::size_t {
      const auto& from = *static_cast<std::string*>(arg);
      std::memcpy(to, from.data(), from.size());
      return from.size();
    };
    ASSERT_EQ(uct_ep_am_bcopy(ep_a.ep, 3, pack, &text, 0), static_cast<ssize_t>(length));
    ASSERT_TRUE(progress_until([&] { return !inbox.messages.empty(); }));
    EXPECT_EQ(inbox.messages.back(), text);
    inbox.messages.clear();
  }
}

TEST_F(UctTest, GetZcopyFetchesIntoPieces) {
  Memory remote(domain, 100001);
  Memory local(domain, 100001);
  for (std::size_t i = 0; i < remote.bytes.size(); ++i) remote.bytes[i] = static_cast<char>(i * 13);
  const uct_iov_t iov[2] = {{.buffer = local.bytes.data(), .length = 5000, .memh = local.memh, .stride = 0, .count = 1},
                            {.buffer = local.bytes.data() + 5000, .length = 95001, .memh = local.memh, .stride = 0, .count = 1}};
  Completion completion;
  ASSERT_EQ(uct_ep_get_zcopy(ep_a.ep, iov, 2, remote.address(), remote.rkey.rkey, &completion.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return completion.is_done(); }));
  EXPECT_EQ(completion.uct.status, UCS_OK);
  EXPECT_EQ(local.bytes, remote.bytes);
}

// What an unpack callback was given.
void unpack(void* arg, const void* data, size_t length) { static_cast<std::string*>(arg)->assign(static_cast<const char*>(data), length); }

TEST_F(UctTest, GetBcopyHasUnpackedWhenItCompletes) {
  const std::size_t limit = a.attr.cap.get.max_bcopy;
  Memory remote(domain, limit);
  for (std::size_t i = 0; i < limit; ++i) remote.bytes[i] = static_cast<char>(i * 3);
  for (const std::size_t length : {std::size_t{1}, std::size_t{4096}, limit}) {
    std::string got;
    Completion completion;
    ASSERT_EQ(uct_ep_get_bcopy(ep_a.ep, unpack, &got, length, remote.address(), remote.rkey.rkey, &completion.uct), UCS_INPROGRESS);
    ASSERT_TRUE(progress_until([&] { return completion.is_done(); }));
    EXPECT_EQ(got, std::string(remote.bytes.data(), length));
  }
  std::string without_completion;
  ASSERT_EQ(uct_ep_get_bcopy(ep_a.ep, unpack, &without_completion, 8, remote.address(), remote.rkey.rkey, nullptr), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_EQ(without_completion, std::string(remote.bytes.data(), 8));
}

TEST_F(UctTest, GetThatIsRefusedUnpacksNothing) {
  Memory remote(domain, 64);
  std::string got = "untouched";
  Completion copied;
  Completion in_place;
  const uct_iov_t iov = remote.iov(64);
  ASSERT_EQ(uct_ep_get_bcopy(ep_a.ep, unpack, &got, 8, remote.address(), remote.rkey.rkey ^ 0x1000000, &copied.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_get_zcopy(ep_a.ep, &iov, 1, remote.address(), remote.rkey.rkey, &in_place.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return copied.is_done() && in_place.is_done() && !a.errors.empty(); }));
  EXPECT_EQ(copied.uct.status, UCS_ERR_INVALID_ADDR);
  EXPECT_NE(in_place.uct.status, UCS_OK);
  EXPECT_EQ(got, "untouched");
}

TEST_F(UctTest, AtomicsChangeAndTellTheOldValue) {
  Memory remote(domain, 64);
  const auto value = [&] {
    std::uint64_t word;
    std::memcpy(&word, remote.bytes.data(), sizeof word);
    return word;
  };
  const std::uint64_t initial = 0x0123456789abcdef;
  std::memcpy(remote.bytes.data(), &initial, sizeof initial);
  std::uint64_t added = 0;
  std::uint64_t swapped = 0;
  std::uint64_t kept = 0;
  Completion completions[3];
  ASSERT_EQ(uct_ep_atomic64_fetch(ep_a.ep, UCT_ATOMIC_OP_ADD, 5, &added, remote.address(), remote.rkey.rkey, &completions[0].uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_atomic_cswap64(ep_a.ep, initial + 5, 7, remote.address(), remote.rkey.rkey, &swapped, &completions[1].uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_atomic_cswap64(ep_a.ep, 8, 9, remote.address(), remote.rkey.rkey, &kept, &completions[2].uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_atomic64_post(ep_a.ep, UCT_ATOMIC_OP_ADD, 100, remote.address(), remote.rkey.rkey), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  for (const Completion& completion : completions) EXPECT_TRUE(completion.is_done());
  EXPECT_EQ(added, initial);
  EXPECT_EQ(swapped, initial + 5);
  EXPECT_EQ(kept, 7u);
  EXPECT_EQ(value(), 107u);
}

TEST_F(UctTest, AtomicsThatInfiniBandLacksAreRefused) {
  Memory remote(domain, 64);
  std::uint64_t result = 0;
  EXPECT_EQ(uct_ep_atomic64_post(ep_a.ep, UCT_ATOMIC_OP_AND, 1, remote.address(), remote.rkey.rkey), UCS_ERR_UNSUPPORTED);
  EXPECT_EQ(uct_ep_atomic64_fetch(ep_a.ep, UCT_ATOMIC_OP_SWAP, 1, &result, remote.address(), remote.rkey.rkey, nullptr), UCS_ERR_UNSUPPORTED);
  EXPECT_EQ(uct_ep_atomic32_post(ep_a.ep, UCT_ATOMIC_OP_ADD, 1, remote.address(), remote.rkey.rkey), UCS_ERR_UNSUPPORTED);
  EXPECT_EQ(uct_ep_atomic64_post(ep_a.ep, UCT_ATOMIC_OP_ADD, 1, remote.address(4), remote.rkey.rkey), UCS_ERR_INVALID_PARAM);
}

}  // namespace
}  // namespace ina::test
