// uct_ring.hpp: a ring position over UCT: two endpoints, a mailbox, a scratch area and source buffers in registered memory.
// Used by the UCT fabric. Works with any transport that has put_zcopy and CONNECT_TO_EP.
// Posts nothing but put_zcopy on its endpoints: no flush, no endpoint check.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/aligned_memory.hpp"
#include "ompi_coll_ina/core/fabric.hpp"
#include "ompi_coll_ina/core/ring_address.hpp"
#include "ompi_coll_ina/core/uct_handles.hpp"

namespace ina::core {

struct UctInterface;  // uct_interface.hpp

class UctRing final : public Ring {
 public:
  UctRing(UctInterface& interface, const RingSpec& spec);
  ~UctRing() override;
  UctRing(const UctRing&) = delete;
  UctRing& operator=(const UctRing&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const override;
  void connect(std::span<const std::byte> left, std::span<const std::byte> right) override;
  [[nodiscard]] std::span<std::byte> mailbox() noexcept override { return mailbox_.bytes(); }
  [[nodiscard]] std::span<std::byte> source_buffers() noexcept override {
    return sources_.bytes().first(std::size_t{spec_.source_buffers} * spec_.place_bytes);
  }
  [[nodiscard]] std::uint64_t right_mailbox() const noexcept override { return right_mailbox_; }
  [[nodiscard]] PutStatus put_right(const std::byte* source, std::size_t bytes, std::size_t offset, PutCompletion*) noexcept override;
  [[nodiscard]] PutStatus put_left(const std::byte* source, std::size_t bytes, PutCompletion*) noexcept override;
  [[nodiscard]] bool has_failed() const noexcept override { return has_failed_; }
  void destroy_endpoints() noexcept override;

  // Called by the interface's error handler. True if the endpoint is this ring's.
  bool fail_if_owner_of(uct_ep_h ep) noexcept;

 private:
  // The PUT of one source buffer.
  struct Put {
    uct_completion_t uct;  // first: UCT hands its address back
    PutCompletion* user;   // nullptr: none is outstanding
  };
  struct Target {
    EpHandle ep;
    RemoteKey key;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
  };

  static void on_completion(uct_completion_t* self) noexcept;
  [[nodiscard]] PutStatus put(Target& to, const std::byte* source, std::size_t bytes, std::size_t offset, PutCompletion*) noexcept;
  [[nodiscard]] RingAddress decode_neighbour(std::span<const std::byte> bytes, const char* which) const;

  UctInterface& interface_;
  const RingSpec spec_;
  AlignedMemory mailbox_, scratch_, sources_;
  Registration mailbox_registration_, scratch_registration_, source_registration_;
  Target right_, left_;
  std::uint64_t right_mailbox_ = 0;
  std::unique_ptr<Put[]> puts_;
  bool has_failed_ = false;
};

}  // namespace ina::core
