#include "ompi_coll_ina/core/life_message.hpp"

#include "ompi_coll_ina/core/byte_cursor.hpp"
#include "wire/limits.hpp"

namespace ina::core {

namespace {

constexpr std::uint32_t kLifeMagic = 0x494e4c31;  // "INL1": the digit is the version

template <typename Body>
constexpr std::uint8_t kind_of() noexcept {
  std::uint8_t kind = 0;
  []<std::size_t... I>(std::index_sequence<I...>, std::uint8_t& found) {
    ((std::is_same_v<Body, std::variant_alternative_t<I, LifeBody>> ? void(found = I + 1) : void()), ...);
  }(std::make_index_sequence<std::variant_size_v<LifeBody>>{}, kind);
  return kind;
}

std::uint8_t flag(bool value) noexcept { return value ? 1 : 0; }

void put(ByteWriter& to, const AddressMessage& body) { to.put_bytes(body.address); }
void put(ByteWriter& to, const VoteMessage& body) {
  to.put(flag(body.ok)).put(body.max_payload).put_text(body.reason, kMaxReason);
}
void put(ByteWriter& to, const ProbeMessage& body) { to.put(body.round); }
void put(ByteWriter& to, const StatusMessage& body) { to.put(body.round).put(body.contributed_end).put(body.result_end); }
void put(ByteWriter& to, const ReportMessage& body) {
  to.put(body.has).put(body.posted).put(body.ended_at).put_text(body.reason, kMaxReason);
}
void put(ByteWriter& to, const HandoverMessage& body) { to.put(body.seq).put(flag(body.lost)).put_bytes(body.lanes); }
void put(ByteWriter& to, const QuiesceMessage& body) { to.put(static_cast<std::uint8_t>(body.step)); }
void put(ByteWriter& to, const WhereIsSwitchMessage& body) { to.put(static_cast<std::uint8_t>(body.why)); }
void put(ByteWriter& to, const SwitchIsAtMessage& body) { to.put_text(body.address, kMaxReason).put_text(body.reason, kMaxReason); }

// A flag is 0 or 1; anything else is another version's.
bool get_flag(ByteReader& from, bool& wrong) noexcept {
  const auto value = from.get<std::uint8_t>();
  wrong = wrong || value > 1;
  return value == 1;
}

std::vector<std::byte> get_vector(ByteReader& from, std::size_t most) {
  const auto bytes = from.get_bytes(most);
  return {bytes.begin(), bytes.end()};
}

std::optional<LifeBody> get_body(std::uint8_t kind, ByteReader& from) {
  bool wrong = false;
  LifeBody body;
  switch (kind) {
    case kind_of<AddressMessage>(): body = AddressMessage{.address = get_vector(from, kMaxAddress)}; break;
    case kind_of<VoteMessage>(): {
      const bool ok = get_flag(from, wrong);
      const auto max_payload = from.get<std::uint32_t>();
      body = VoteMessage{.ok = ok, .max_payload = max_payload, .reason = from.get_text(kMaxReason)};
      break;
    }
    case kind_of<ProbeMessage>(): body = ProbeMessage{.round = from.get<std::uint32_t>()}; break;
    case kind_of<StatusMessage>(): {
      StatusMessage status;
      status.round = from.get<std::uint32_t>();
      status.contributed_end = from.get<std::uint32_t>();
      status.result_end = from.get<std::uint32_t>();
      body = status;
      break;
    }
    case kind_of<ReportMessage>(): {
      ReportMessage report;
      report.has = from.get<std::uint32_t>();
      report.posted = from.get<std::uint64_t>();
      report.ended_at = from.get<std::uint64_t>();
      report.reason = from.get_text(kMaxReason);
      body = std::move(report);
      break;
    }
    case kind_of<HandoverMessage>(): {
      HandoverMessage handover;
      handover.seq = from.get<std::uint32_t>();
      handover.lost = get_flag(from, wrong);
      handover.lanes = get_vector(from, wire::kMaxPayload);
      body = std::move(handover);
      break;
    }
    case kind_of<QuiesceMessage>(): {
      const auto step = from.get<std::uint8_t>();
      wrong = step < 1 || step > 4;
      body = QuiesceMessage{.step = static_cast<QuiesceMessage::Step>(step)};
      break;
    }
    case kind_of<WhereIsSwitchMessage>(): {
      const auto why = from.get<std::uint8_t>();
      wrong = why < 1 || why > 3;
      body = WhereIsSwitchMessage{.why = static_cast<WhereIsSwitchMessage::Why>(why)};
      break;
    }
    case kind_of<SwitchIsAtMessage>(): {
      SwitchIsAtMessage place;
      place.address = from.get_text(kMaxReason);
      place.reason = from.get_text(kMaxReason);
      body = std::move(place);
      break;
    }
    default: return std::nullopt;
  }
  if (wrong || !from.finished()) return std::nullopt;
  return body;
}

}  // namespace

std::vector<std::byte> encode(const LifeMessage& message) {
  ByteWriter to;
  to.put(kLifeMagic).put(static_cast<std::uint8_t>(message.body.index() + 1)).put(message.life.group).put(message.life.epoch).put(message.member);
  std::visit([&to](const auto& body) { put(to, body); }, message.body);
  return to.take();
}

std::optional<LifeMessage> decode_life_message(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (from.get<std::uint32_t>() != kLifeMagic) return std::nullopt;
  const auto kind = from.get<std::uint8_t>();
  LifeMessage message;
  message.life.group = from.get<std::uint32_t>();
  message.life.epoch = from.get<std::uint32_t>();
  message.member = from.get<std::uint16_t>();
  auto body = get_body(kind, from);
  if (!body) return std::nullopt;
  message.body = std::move(*body);
  return message;
}

}  // namespace ina::core
