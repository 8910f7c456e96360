// packet_batch.hpp: up to 64 packets that go out with one call: headers, pieces of payload in place, pad and ICRC.
// Used by Engine.
// Owns headers only; payload stays where the message has it, which is read once for the ICRC and once by the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ucx_tl/engine/packet_io.hpp"
#include "ucx_tl/engine/qp.hpp"
#include "wire/relay_message.hpp"

namespace ina::engine {

class PacketBatch {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_full() const noexcept { return size_ == kBatchPackets; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // The batch is not full; the QP is connected.
  void add_request(Qp&, const Requester::Packet&) noexcept;
  void add_response(Qp&, const Responder::Response&) noexcept;
  void add_congestion_notification(Qp&) noexcept;
  void add_relay_message(const Destination&, const wire::IcrcFlow&, const wire::RelayMessage&) noexcept;

  // Sends the batch and empties it. Packets that were not taken are given back to their QPs. False: the system takes no more now.
  bool send(PacketIo&, Counters&) noexcept;
  // The QPs that send() gave something back to, when it returned false; may name a QP more than once.
  [[nodiscard]] std::span<Qp* const> given_back() const noexcept { return {given_back_.data(), given_back_count_}; }

 private:
  static constexpr std::size_t kHeaderRoom = wire::kBthBytes + wire::kRethBytes + wire::kRelayMessageBytes;
  static constexpr std::size_t kNotificationBytes = 16;  // reserved, zero
  struct Entry {
    Qp* qp;  // nullptr: nobody takes it back
    bool is_request;
    std::uint32_t psn;
    std::uint32_t payload_bytes;
    Responder::Response response;
    std::size_t piece_count;
    std::array<iovec, kMaxPieces + 2> pieces;
    std::array<std::byte, kHeaderRoom> headers;
    std::array<std::byte, 8> tail;  // pad and ICRC
  };
  void seal(Entry&, const wire::IcrcFlow&, std::size_t pad) noexcept;
  void give_back(std::size_t from) noexcept;

  std::array<Entry, kBatchPackets> entries_;
  std::array<OutgoingPacket, kBatchPackets> outgoing_;
  std::array<Qp*, kBatchPackets> given_back_;
  std::size_t given_back_count_ = 0;
  std::size_t size_ = 0;
};

}  // namespace ina::engine
