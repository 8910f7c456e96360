// connection.hpp: one RC connection of a group as its two binds tell it, and where its stream stands.
// Used by Group only.
// Does not touch slots; knows nothing of other connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "switch/aggregator/endpoint.hpp"
#include "switch/aggregator/switch_control.hpp"
#include "wire/ina_header.hpp"
#include "wire/roce.hpp"

namespace ina::aggregator {

inline constexpr std::size_t kChunkHeadBytes = wire::kBthBytes + wire::kRethBytes + wire::kHeaderBytes;

class Connection {
 public:
  // What a forward or a backward bind says. The other end's fields are compared if that end has bound already.
  struct Forward {
    Endpoint sender, receiver;
    std::uint32_t qpn;  // at the receiver
    std::uint32_t first_psn;
    std::uint32_t rkey;
    std::uint64_t mailbox;
    bool operator==(const Forward&) const = default;
  };
  struct Backward {
    Endpoint sender, receiver;  // of the connection, so the receiver is who sent the bind
    std::uint32_t qpn;          // at the sender
    bool operator==(const Backward&) const = default;
  };
  enum class Learnt : std::uint8_t { kNew, kSame, kConflict };

  [[nodiscard]] Learnt learn(const Forward&) noexcept;
  [[nodiscard]] Learnt learn(const Backward&) noexcept;
  [[nodiscard]] std::size_t binds() const noexcept { return std::size_t{has_forward_} + std::size_t{has_backward_}; }
  [[nodiscard]] const Forward& forward() const noexcept { return forward_; }
  [[nodiscard]] const Backward& backward() const noexcept { return backward_; }

  // Sets the stream to its start; both binds are known.
  void start(const GroupSpec&, std::uint16_t member) noexcept;

  [[nodiscard]] std::uint32_t psn_of(std::uint32_t seq) const noexcept { return wire::psn_add(forward_.first_psn, seq - first_seq_); }
  [[nodiscard]] std::uint64_t address_of(std::uint32_t seq, std::size_t payload) const noexcept {
    return forward_.mailbox + std::uint64_t{seq & place_mask_} * place_bytes_ + place_bytes_ - payload;
  }
  // BTH, RETH and INA header of a result on this connection, from a header that all connections share but for the member. Valid until the next call.
  [[nodiscard]] std::span<const std::byte> result_head(const std::array<std::byte, wire::kHeaderBytes>& header, std::uint32_t seq,
                                                       std::size_t payload) noexcept;
  // BTH and AETH of a NAK for `seq` to the sender. Valid until the next call.
  [[nodiscard]] std::span<const std::byte> nak_head(std::uint32_t seq) noexcept;

  // The stream. next: the only seq that is accepted. acknowledged: the first one that the receiver has not acknowledged (before it, all).
  std::uint32_t next = 0;
  std::uint32_t acknowledged = 0;
  std::uint32_t msn = 0;  // last one seen in the receiver's acknowledgements
  // A gap: reported to the sender once, and again when its first packet comes again, which shows that the repetition was lost as well.
  bool gap_is_open = false;
  std::uint32_t gap_first = 0;
  // Duplicates that our own NAK has asked for: each seq in [quiet_from, quiet_to) is not answered, once.
  std::uint32_t quiet_from = 0;
  std::uint32_t quiet_to = 0;
  // The receiver's last NAK that was answered from the slots; answered in full once, until an acknowledgement shows progress.
  bool nak_is_answered = false;
  std::uint32_t nak_answered = 0;

 private:
  Forward forward_{};
  Backward backward_{};
  bool has_forward_ = false;
  bool has_backward_ = false;
  std::uint32_t first_seq_ = 0;
  std::uint32_t place_mask_ = 0;
  std::uint32_t place_bytes_ = 0;
  std::uint16_t member_ = 0;
  std::array<std::byte, kChunkHeadBytes> result_head_{};
  std::array<std::byte, wire::kBthBytes + wire::kAethBytes> nak_head_{};
};

}  // namespace ina::aggregator
