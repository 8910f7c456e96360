// roce.cpp: one table says which headers an opcode has; encode and decode walk it in the order of the wire.
#include "wire/roce.hpp"

#include <array>

namespace ina::wire {
namespace {

constexpr std::size_t kAtomicEthBytes = 28;
constexpr std::size_t kAtomicAethBytes = 8;
constexpr std::size_t kIethBytes = 4;
constexpr std::size_t kHighestOpcode = 0x81;

struct Entry {
  Opcode opcode;
  const char* name;
  OpcodeTraits traits;
};

constexpr Entry kEntries[] = {
    {Opcode::kSendFirst, "rc send first", {.payload = true}},
    {Opcode::kSendMiddle, "rc send middle", {.payload = true}},
    {Opcode::kSendLast, "rc send last", {.payload = true}},
    {Opcode::kSendLastImmediate, "rc send last with immediate", {.immediate = true, .payload = true}},
    {Opcode::kSendOnly, "rc send only", {.payload = true}},
    {Opcode::kSendOnlyImmediate, "rc send only with immediate", {.immediate = true, .payload = true}},
    {Opcode::kWriteFirst, "rc write first", {.reth = true, .payload = true}},
    {Opcode::kWriteMiddle, "rc write middle", {.payload = true}},
    {Opcode::kWriteLast, "rc write last", {.payload = true}},
    {Opcode::kWriteLastImmediate, "rc write last with immediate", {.immediate = true, .payload = true}},
    {Opcode::kWriteOnly, "rc write only", {.reth = true, .payload = true}},
    {Opcode::kWriteOnlyImmediate, "rc write only with immediate", {.reth = true, .immediate = true, .payload = true}},
    {Opcode::kReadRequest, "rc read request", {.reth = true}},
    {Opcode::kReadResponseFirst, "rc read response first", {.aeth = true, .payload = true}},
    {Opcode::kReadResponseMiddle, "rc read response middle", {.payload = true}},
    {Opcode::kReadResponseLast, "rc read response last", {.aeth = true, .payload = true}},
    {Opcode::kReadResponseOnly, "rc read response only", {.aeth = true, .payload = true}},
    {Opcode::kAcknowledge, "rc acknowledge", {.aeth = true}},
    {Opcode::kAtomicAcknowledge, "rc atomic acknowledge", {.aeth = true, .atomic_aeth = true}},
    {Opcode::kCompareSwap, "rc compare and swap", {.atomic_eth = true}},
    {Opcode::kFetchAdd, "rc fetch and add", {.atomic_eth = true}},
    {Opcode::kSendLastInvalidate, "rc send last with invalidate", {.ieth = true, .payload = true}},
    {Opcode::kSendOnlyInvalidate, "rc send only with invalidate", {.ieth = true, .payload = true}},
    {Opcode::kUdSendOnly, "ud send only", {.deth = true, .payload = true}},
    {Opcode::kCnp, "congestion notification", {.payload = true}},
};

struct Row {
  OpcodeTraits traits;
  const char* name = "unknown";
  std::uint8_t headers_bytes = 0;
};

constexpr std::size_t extended_bytes(const OpcodeTraits& t) noexcept {
  return (t.deth ? kDethBytes : 0) + (t.reth ? kRethBytes : 0) + (t.atomic_eth ? kAtomicEthBytes : 0) + (t.aeth ? kAethBytes : 0) +
         (t.atomic_aeth ? kAtomicAethBytes : 0) + (t.immediate ? kImmediateBytes : 0) + (t.ieth ? kIethBytes : 0);
}

constexpr auto kRows = [] {
  std::array<Row, kHighestOpcode + 1> rows{};
  for (const Entry& entry : kEntries) {
    Row& row = rows[static_cast<std::size_t>(entry.opcode)];
    row.traits = entry.traits;
    row.traits.known = true;
    row.name = entry.name;
    row.headers_bytes = static_cast<std::uint8_t>(kBthBytes + extended_bytes(entry.traits));
  }
  return rows;
}();
constexpr Row kUnknownRow{};

const Row& row_of(Opcode opcode) noexcept {
  const auto index = static_cast<std::size_t>(opcode);
  return index < kRows.size() ? kRows[index] : kUnknownRow;
}

std::uint32_t low24(std::uint32_t word) noexcept { return word & 0xffffffU; }

void encode_bth(const Bth& bth, std::byte* to) noexcept {
  store_be(to, static_cast<std::uint8_t>(bth.opcode));
  store_be(to + 1, static_cast<std::uint8_t>((bth.solicited ? 0x80 : 0) | (bth.migration ? 0x40 : 0) | ((bth.pad_count & 3) << 4)));
  store_be(to + 2, bth.partition_key);
  store_be(to + 4, low24(bth.dest_qpn) | (bth.fecn ? 0x80000000U : 0) | (bth.becn ? 0x40000000U : 0));
  store_be(to + 8, low24(bth.psn) | (bth.ack_request ? 0x80000000U : 0));
}

// The extended headers of `t`, in the order of the wire; returns the byte behind them.
const std::byte* decode_extended(const OpcodeTraits& t, const std::byte* from, Packet& packet) noexcept {
  if (t.deth) {
    packet.deth = {.queue_key = load_be<std::uint32_t>(from), .source_qpn = low24(load_be<std::uint32_t>(from + 4))};
    from += kDethBytes;
  }
  if (t.reth) {
    packet.reth = {.address = load_be<std::uint64_t>(from), .rkey = load_be<std::uint32_t>(from + 8), .dma_length = load_be<std::uint32_t>(from + 12)};
    from += kRethBytes;
  }
  if (t.atomic_eth) {
    packet.atomic_eth = {.address = load_be<std::uint64_t>(from), .rkey = load_be<std::uint32_t>(from + 8),
                         .swap_or_add = load_be<std::uint64_t>(from + 12), .compare = load_be<std::uint64_t>(from + 20)};
    from += kAtomicEthBytes;
  }
  if (t.aeth) {
    packet.aeth = {.syndrome = load_be<std::uint8_t>(from), .msn = low24(load_be<std::uint32_t>(from))};
    from += kAethBytes;
  }
  if (t.atomic_aeth) {
    packet.atomic_original = load_be<std::uint64_t>(from);
    from += kAtomicAethBytes;
  }
  if (t.immediate) {
    packet.immediate = load_be<std::uint32_t>(from);
    from += kImmediateBytes;
  }
  if (t.ieth) {
    packet.invalidate_rkey = load_be<std::uint32_t>(from);
    from += kIethBytes;
  }
  return from;
}

void encode_extended(const OpcodeTraits& t, const Packet& packet, std::byte* to) noexcept {
  if (t.deth) {
    store_be(to, packet.deth.queue_key);
    store_be(to + 4, low24(packet.deth.source_qpn));
    to += kDethBytes;
  }
  if (t.reth) {
    store_be(to, packet.reth.address);
    store_be(to + 8, packet.reth.rkey);
    store_be(to + 12, packet.reth.dma_length);
    to += kRethBytes;
  }
  if (t.atomic_eth) {
    store_be(to, packet.atomic_eth.address);
    store_be(to + 8, packet.atomic_eth.rkey);
    store_be(to + 12, packet.atomic_eth.swap_or_add);
    store_be(to + 20, packet.atomic_eth.compare);
    to += kAtomicEthBytes;
  }
  if (t.aeth) {
    store_be(to, std::uint32_t{packet.aeth.syndrome} << 24 | low24(packet.aeth.msn));
    to += kAethBytes;
  }
  if (t.atomic_aeth) {
    store_be(to, packet.atomic_original);
    to += kAtomicAethBytes;
  }
  if (t.immediate) {
    store_be(to, packet.immediate);
    to += kImmediateBytes;
  }
  if (t.ieth) store_be(to, packet.invalidate_rkey);
}

}  // namespace

OpcodeTraits traits(Opcode opcode) noexcept { return row_of(opcode).traits; }
const char* name(Opcode opcode) noexcept { return row_of(opcode).name; }
std::size_t headers_bytes(Opcode opcode) noexcept { return row_of(opcode).headers_bytes; }

const char* name(PacketError error) noexcept {
  switch (error) {
    case PacketError::kTooShort: return "too short";
    case PacketError::kUnknownOpcode: return "unknown opcode";
    case PacketError::kBadVersion: return "bad transport version";
    case PacketError::kBadPad: return "bad pad";
    case PacketError::kUnexpectedPayload: return "unexpected payload";
  }
  return "unknown";
}

Bth decode_bth(const std::byte* from) noexcept {
  const auto flags = load_be<std::uint8_t>(from + 1);
  const auto congestion = load_be<std::uint8_t>(from + 4);
  const auto last = load_be<std::uint32_t>(from + 8);
  return Bth{.opcode = static_cast<Opcode>(load_be<std::uint8_t>(from)),
             .solicited = (flags & 0x80) != 0,
             .migration = (flags & 0x40) != 0,
             .pad_count = static_cast<std::uint8_t>((flags >> 4) & 3),
             .partition_key = load_be<std::uint16_t>(from + 2),
             .fecn = (congestion & 0x80) != 0,
             .becn = (congestion & 0x40) != 0,
             .dest_qpn = low24(load_be<std::uint32_t>(from + 4)),
             .ack_request = (last >> 31) != 0,
             .psn = low24(last)};
}

Result<Packet, PacketError> decode_packet(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kBthBytes + kIcrcBytes) return PacketError::kTooShort;
  Packet packet{.bth = decode_bth(bytes.data())};
  const Row& row = row_of(packet.bth.opcode);
  if (!row.traits.known) return PacketError::kUnknownOpcode;
  if ((load_be<std::uint8_t>(&bytes[1]) & 0x0f) != 0) return PacketError::kBadVersion;
  if (bytes.size() < row.headers_bytes + kIcrcBytes) return PacketError::kTooShort;
  const std::size_t padded = bytes.size() - row.headers_bytes - kIcrcBytes;
  if (!row.traits.payload && padded != 0) return PacketError::kUnexpectedPayload;
  if (padded % 4 != 0 || packet.bth.pad_count > padded) return PacketError::kBadPad;
  const std::byte* payload = decode_extended(row.traits, &bytes[kBthBytes], packet);
  packet.payload = {payload, padded - packet.bth.pad_count};
  packet.icrc = byte_swapped(load_be<std::uint32_t>(&bytes[bytes.size() - kIcrcBytes]));
  return packet;
}

std::size_t encode_headers(const Packet& packet, std::span<std::byte> to) noexcept {
  const Row& row = row_of(packet.bth.opcode);
  if (!row.traits.known || to.size() < row.headers_bytes) return 0;
  encode_bth(packet.bth, to.data());
  encode_extended(row.traits, packet, to.data() + kBthBytes);
  return row.headers_bytes;
}

}  // namespace ina::wire
