// qp_table.hpp: the QPs of one interface by QP number, and which numbers it has: with a relay one block, else all that share a top byte.
// Used by Engine.
// Does not draw the numbers' high bits; a page of the table exists only while a QP is in it or is about to be.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "ucx_tl/engine/qp.hpp"
#include "wire/relay_message.hpp"

namespace ina::engine {

class QpTable {
 public:
  // For 2^bits numbers, 12 bits at least; move_to() tells which.
  explicit QpTable(unsigned bits) : pages_(std::size_t{1} << (bits - kPageBits)) {}

  // There are no QPs yet: they get the numbers from `base` on. The numbers below 4096, some of which RoCE and relays have for their own, are
  // left out. The first one is random: what comes late for a QP of an earlier interface with these numbers should not find another one.
  void move_to(std::uint32_t base, std::uint64_t random) noexcept {
    assert(size_ == 0);
    base_ = base;
    service_ = base == 0 && numbers() > kPageQps ? kPageQps : 0;
    next_ = service_ + 1 + static_cast<std::uint32_t>(random % capacity());
  }

  // The first number, which no QP has.
  [[nodiscard]] std::uint32_t service_qpn() const noexcept { return base_ | service_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return numbers() - service_ - 1; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  [[nodiscard]] Qp* find(std::uint32_t qpn) const noexcept {
    const std::uint32_t index = qpn & (numbers() - 1);
    const Page* const page = pages_[index >> kPageBits].get();
    Qp* const qp = page == nullptr ? nullptr : page->qps[index % kPageQps].get();
    return qp != nullptr && qp->number() == qpn ? qp : nullptr;
  }
  // A number that was free for as long as possible; size() is less than capacity(). Throws std::bad_alloc: nothing has happened.
  [[nodiscard]] std::uint32_t reserve() {
    assert(size_ < capacity());
    while (is_taken(next_)) step();
    auto& page = pages_[next_ >> kPageBits];
    if (page == nullptr) page = std::make_unique<Page>();
    return base_ | next_;
  }
  // With the number of the last reserve().
  Qp* add(std::unique_ptr<Qp> qp) noexcept {
    Page& page = *pages_[next_ >> kPageBits];
    ++page.count;
    ++size_;
    Qp* const added = (page.qps[next_ % kPageQps] = std::move(qp)).get();
    step();
    return added;
  }
  void remove(const Qp& qp) noexcept {
    const std::uint32_t index = qp.number() & (numbers() - 1);
    auto& page = pages_[index >> kPageBits];
    page->qps[index % kPageQps].reset();
    --size_;
    if (--page->count == 0 && index >> kPageBits != next_ >> kPageBits) page.reset();
  }

 private:
  static constexpr unsigned kPageBits = wire::kQpnBlockBits;
  static constexpr std::uint32_t kPageQps = 1u << kPageBits;
  struct Page {
    std::uint32_t count = 0;
    std::array<std::unique_ptr<Qp>, kPageQps> qps;
  };

  [[nodiscard]] std::uint32_t numbers() const noexcept { return static_cast<std::uint32_t>(pages_.size()) << kPageBits; }
  [[nodiscard]] bool is_taken(std::uint32_t index) const noexcept {
    const Page* const page = pages_[index >> kPageBits].get();
    return page != nullptr && page->qps[index % kPageQps] != nullptr;
  }
  void step() noexcept { next_ = next_ + 1 == numbers() ? service_ + 1 : next_ + 1; }

  std::vector<std::unique_ptr<Page>> pages_;
  std::uint32_t base_ = 0;     // of all numbers
  std::uint32_t service_ = 0;  // index; all others are above
  std::uint32_t next_ = 0;     // index
  std::uint32_t size_ = 0;
};

}  // namespace ina::engine
