#include "ucx_tl/engine/packet_batch.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace ina::engine {
namespace {

using wire::Opcode;

Opcode opcode_of(const Requester::Packet& packet) noexcept {
  const bool first = packet.index == 0;
  const bool last = packet.index + 1 == packet.message->packets;
  switch (packet.message->kind) {
    case MessageKind::kWrite:
      if (first) return last ? Opcode::kWriteOnly : Opcode::kWriteFirst;
      return last ? Opcode::kWriteLast : Opcode::kWriteMiddle;
    case MessageKind::kRead: return Opcode::kReadRequest;
    case MessageKind::kFetchAdd: return Opcode::kFetchAdd;
    case MessageKind::kCompareSwap: return Opcode::kCompareSwap;
    case MessageKind::kSend: break;
  }
  if (first) return last ? Opcode::kSendOnly : Opcode::kSendFirst;
  return last ? Opcode::kSendLast : Opcode::kSendMiddle;
}

// The pieces of [offset, offset + bytes) of a message's payload; returns how many.
std::size_t slice(const Message& message, std::uint32_t offset, std::uint32_t bytes, iovec* to) noexcept {
  std::size_t count = 0;
  std::size_t skip = offset;
  std::size_t left = bytes;
  for (std::size_t i = 0; i < message.piece_count && left != 0; ++i) {
    const Piece& piece = message.pieces[i];
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const std::size_t part = std::min(piece.bytes - skip, left);
    to[count++] = {.iov_base = const_cast<std::byte*>(piece.address + skip), .iov_len = part};
    skip = 0;
    left -= part;
  }
  return count;
}

}  // namespace

void PacketBatch::seal(Entry& entry, const wire::IcrcFlow& flow, std::size_t pad) noexcept {
  entry.tail = {};
  iovec& tail = entry.pieces[entry.piece_count++];
  tail = {.iov_base = entry.tail.data(), .iov_len = pad};
  std::array<std::span<const std::byte>, kMaxPieces + 2> covered;
  for (std::size_t i = 0; i < entry.piece_count; ++i) {
    covered[i] = {static_cast<const std::byte*>(entry.pieces[i].iov_base), entry.pieces[i].iov_len};
  }
  const std::uint32_t icrc = flow.compute(std::span<const std::span<const std::byte>>(covered.data(), entry.piece_count));
  wire::store_icrc(entry.tail.data() + pad, icrc);
  tail.iov_len = pad + wire::kIcrcBytes;
}

void PacketBatch::add_request(Qp& qp, const Requester::Packet& packet) noexcept {
  Entry& entry = entries_[size_];
  const Message& message = *packet.message;
  const std::uint32_t payload_bytes = is_answered_with_data(message.kind) ? 0 : packet.bytes;
  const std::size_t pad = -payload_bytes & 3u;
  wire::Packet header{};
  header.bth.opcode = opcode_of(packet);
  header.bth.pad_count = static_cast<std::uint8_t>(pad);
  header.bth.dest_qpn = qp.peer->qpn;
  header.bth.ack_request = packet.ack_request;
  header.bth.psn = packet.psn;
  header.reth = {.address = message.remote_address, .rkey = message.rkey, .dma_length = message.length};
  if (message.kind == MessageKind::kRead) {
    header.reth.address += packet.offset;
    header.reth.dma_length = packet.bytes;
  }
  header.atomic_eth = {.address = message.remote_address, .rkey = message.rkey, .swap_or_add = message.operand, .compare = message.compare};
  const std::size_t header_bytes = wire::encode_headers(header, entry.headers);
  entry.pieces[0] = {.iov_base = entry.headers.data(), .iov_len = header_bytes};
  entry.piece_count = 1 + slice(message, packet.offset, payload_bytes, &entry.pieces[1]);
  entry.qp = &qp;
  entry.is_request = true;
  entry.psn = packet.psn;
  entry.payload_bytes = payload_bytes;
  seal(entry, qp.peer->outgoing, pad);
  outgoing_[size_] = {.to = &qp.peer->destination, .pieces = entry.pieces.data(), .piece_count = entry.piece_count};
  ++size_;
}

void PacketBatch::add_response(Qp& qp, const Responder::Response& response) noexcept {
  Entry& entry = entries_[size_];
  const std::uint32_t payload_bytes = response.payload == nullptr ? 0 : response.answer.bytes;
  const std::size_t pad = -payload_bytes & 3u;
  wire::Packet header{};
  header.bth.opcode = response.opcode;
  header.bth.pad_count = static_cast<std::uint8_t>(pad);
  header.bth.dest_qpn = qp.peer->qpn;
  header.bth.psn = response.psn;
  header.aeth = {.syndrome = response.syndrome, .msn = response.msn};
  header.atomic_original = response.answer.original;
  const std::size_t header_bytes = wire::encode_headers(header, entry.headers);
  entry.pieces[0] = {.iov_base = entry.headers.data(), .iov_len = header_bytes};
  entry.piece_count = 1;
  if (payload_bytes != 0) entry.pieces[entry.piece_count++] = {.iov_base = const_cast<std::byte*>(response.payload), .iov_len = payload_bytes};
  entry.qp = &qp;
  entry.is_request = false;
  entry.payload_bytes = payload_bytes;
  entry.response = response;
  seal(entry, qp.peer->outgoing, pad);
  outgoing_[size_] = {.to = &qp.peer->destination, .pieces = entry.pieces.data(), .piece_count = entry.piece_count};
  ++size_;
}

// A lost one does no harm: the next mark makes another.
void PacketBatch::add_congestion_notification(Qp& qp) noexcept {
  Entry& entry = entries_[size_];
  wire::Packet header{};
  header.bth.opcode = Opcode::kCnp;
  header.bth.becn = true;
  header.bth.dest_qpn = qp.peer->qpn;
  const std::size_t header_bytes = wire::encode_headers(header, entry.headers);
  std::memset(entry.headers.data() + header_bytes, 0, kNotificationBytes);
  entry.pieces[0] = {.iov_base = entry.headers.data(), .iov_len = header_bytes + kNotificationBytes};
  entry.piece_count = 1;
  entry.qp = nullptr;
  entry.is_request = false;
  entry.payload_bytes = 0;
  seal(entry, qp.peer->outgoing, 0);
  outgoing_[size_] = {.to = &qp.peer->destination, .pieces = entry.pieces.data(), .piece_count = entry.piece_count};
  ++size_;
}

void PacketBatch::add_relay_message(const Destination& relay, const wire::IcrcFlow& flow, const wire::RelayMessage& message) noexcept {
  Entry& entry = entries_[size_];
  wire::Packet header{};
  header.bth.opcode = Opcode::kUdSendOnly;
  header.bth.dest_qpn = wire::kRelayQpn;
  header.deth = {.queue_key = wire::kRelayQueueKey, .source_qpn = wire::kRelayQpn};
  const std::size_t header_bytes = wire::encode_headers(header, entry.headers);
  const auto payload = wire::encode_relay_message(message);
  std::memcpy(entry.headers.data() + header_bytes, payload.data(), payload.size());
  entry.pieces[0] = {.iov_base = entry.headers.data(), .iov_len = header_bytes + payload.size()};
  entry.piece_count = 1;
  entry.qp = nullptr;
  entry.is_request = false;
  entry.payload_bytes = 0;
  seal(entry, flow, 0);
  outgoing_[size_] = {.to = &relay, .pieces = entry.pieces.data(), .piece_count = entry.piece_count};
  ++size_;
}

bool PacketBatch::send(PacketIo& io, Counters& counters) noexcept {
  const SendResult result = io.send(std::span<const OutgoingPacket>(outgoing_.data(), size_));
  counters.send_calls.add(result.system_calls);
  counters.packets_sent.add(result.taken - result.refused);
  counters.send_errors.add(result.refused);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < result.taken; ++i) bytes += entries_[i].payload_bytes;
  counters.bytes_sent.add(bytes);
  const bool all_taken = result.taken == size_;
  if (!all_taken) {
    counters.send_blocked.add(size_ - result.taken);
    give_back(result.taken);
  }
  size_ = 0;
  return all_taken;
}

void PacketBatch::give_back(std::size_t from) noexcept {
  given_back_count_ = 0;
  // Backwards, so that a QP ends at the first of its packets that was not sent.
  for (std::size_t i = size_; i-- > from;) {
    Entry& entry = entries_[i];
    if (entry.qp == nullptr) continue;  // a relay message is repeated by its own timer, a notification by the next mark
    given_back_[given_back_count_++] = entry.qp;
    if (entry.is_request) {
      entry.qp->requester.untake(entry.psn);
    } else {
      entry.qp->responder.untake(entry.response);
    }
  }
}

}  // namespace ina::engine
