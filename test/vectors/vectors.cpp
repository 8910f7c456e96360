#include "test/vectors/vectors.hpp"

#include <functional>

#include "test/aggregator/ring.hpp"
#include "test/support/pcap.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace ina::test {

namespace {

constexpr std::size_t kLanes = 64;  // int32: what a P4 switch takes
constexpr unsigned kForeignPort = 9;
// Time to live and header checksum of a made packet are the switch's own business: nibbles of a frame as hex digits.
constexpr std::size_t kTtlDigit = 2 * (wire::kEthernetBytes + 8);
constexpr std::size_t kIpChecksumDigit = 2 * (wire::kEthernetBytes + 10);

using Change = std::function<void(Ring::Contribution&)>;

class Writer {
 public:
  Writer(std::string name, const std::string& what) : name_(std::move(name)) {
    ring.spec.payload = wire::kFramingBytes + 4 * kLanes;
    ring.spec.place_bytes = 512;
    text_ = "# " + what + "\n";
    for (const unsigned port : {1u, 2u, kForeignPort}) {
      text_ += "# ina host " + std::to_string(port) + " 10.0.0." + std::to_string(port) + " 02:00:00:00:00:0" + std::to_string(port) + "\n";
    }
  }
  [[nodiscard]] Vector done() const { return {name_, text_}; }

  void say(const std::string& what) { text_ += "# " + what + "\n"; }
  void prepare() {
    const auto& s = ring.spec;
    say("ina prepare " + std::to_string(s.group) + " epoch " + std::to_string(s.epoch) + " members " + std::to_string(s.members) + " window " +
        std::to_string(s.window) + " first_seq " + std::to_string(s.first_seq) + " payload " + std::to_string(s.payload) + " place " +
        std::to_string(s.place_bytes));
  }
  void start() {
    prepare();
    for (std::uint16_t i = 0; i < 2; ++i) {
      forwarded(i, ring.forward_bind(i));
      forwarded_back(i, ring.backward_bind(i));
    }
    say("ina activate 17");
  }
  // Forward: from member i to its right neighbour; back: the other way.
  void packet(std::uint16_t i, const Bytes& roce) { line("packet", i + 1u, hex(frame(i, roce))); }
  void forwarded(std::uint16_t i, const Bytes& roce) {
    packet(i, roce);
    line("expect", 2u - i, hex(frame(i, roce)));
  }
  void forwarded_back(std::uint16_t i, const Bytes& roce) {
    line("packet", 2u - i, hex(frame_back(i, roce)));
    line("expect", i + 1u, hex(frame_back(i, roce)));
  }
  void packet_back(std::uint16_t i, const Bytes& roce) { line("packet", 2u - i, hex(frame_back(i, roce))); }
  void packet_at(unsigned port, std::uint16_t i, const Bytes& roce) { line("packet", port, hex(frame(i, roce))); }
  void foreign_packet(std::uint16_t i, const Bytes& roce) { line("packet", kForeignPort, hex(frame_between(kForeignPort, 2u - i, 0xc000u + i, roce))); }
  void expect_made(std::uint16_t i, const Bytes& roce) { line("expect", 2u - i, open_ip(hex(frame(i, roce)))); }
  void expect_made_back(std::uint16_t i, const Bytes& roce) { line("expect", i + 1u, open_ip(hex(frame_back(i, roce)))); }
  void damaged(std::uint16_t i, const Bytes& roce) {
    Bytes bytes = frame(i, roce);
    bytes[bytes.size() - 100] ^= std::byte{0x10};
    line("packet", i + 1u, hex(bytes));
  }

  [[nodiscard]] Bytes lanes(std::int32_t first) const {
    Bytes bytes(4 * kLanes);
    for (std::size_t k = 0; k < kLanes; ++k) {
      const std::int32_t value = first * (1 + static_cast<std::int32_t>(k));
      std::memcpy(&bytes[4 * k], &value, sizeof value);
    }
    return bytes;
  }
  [[nodiscard]] Bytes contribution(std::uint16_t member, std::uint32_t k, std::int32_t first, const Change& change = {}) const {
    return ring.contribution(member, ring.spec.first_seq + k, lanes(first), wire::LaneType::kInt32, op, change);
  }
  // What the switch makes of contributions whose combination has these lanes.
  [[nodiscard]] Bytes result(std::uint16_t i, std::uint32_t k, std::int32_t first) const {
    return contribution(i, k, first, [](Ring::Contribution& c) { c.header.kind = wire::Kind::kResult, c.header.contributions = 2; });
  }
  void expect_result(std::uint32_t k, std::int32_t first) {
    for (std::uint16_t i = 0; i < 2; ++i) expect_made(i, result(i, k, first));
  }
  // Both contribute, get the result and acknowledge it.
  void complete(std::uint32_t k) {
    packet(0, contribution(0, k, 1));
    packet(1, contribution(1, k, 2));
    expect_result(k, 3);
    for (std::uint16_t i = 0; i < 2; ++i) forwarded_back(i, ring.acknowledgement(i, ring.spec.first_seq + k));
  }

  Ring ring;
  wire::Op op = wire::Op::kSum;

 private:
  void line(const char* word, unsigned port, const std::string& digits) { text_ += std::string(word) + " " + std::to_string(port) + " " + digits + "\n"; }
  [[nodiscard]] static std::string hex(const Bytes& bytes) { return to_hex(bytes); }
  [[nodiscard]] static std::string open_ip(std::string digits) {
    digits.replace(kTtlDigit, 2, "**");
    return digits.replace(kIpChecksumDigit, 4, "****");
  }
  [[nodiscard]] static Bytes frame_between(unsigned from, unsigned to, unsigned source_port, const Bytes& roce) {
    wire::Frame frame{};
    frame.source_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(from)};
    frame.destination_mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(to)};
    frame.ip.source.ip = {10, 0, 0, static_cast<std::uint8_t>(from)};
    frame.ip.destination.ip = {10, 0, 0, static_cast<std::uint8_t>(to)};
    frame.ip.source.port = static_cast<std::uint16_t>(source_port);
    frame.ip.destination.port = wire::kRocePort;
    Bytes bytes(wire::frame_header_bytes(frame) + roce.size());
    const std::size_t headers = wire::encode_frame(frame, roce.size(), bytes);
    std::memcpy(&bytes[headers], roce.data(), roce.size());
    const auto l3 = std::span<const std::byte>(bytes).subspan(wire::kEthernetBytes);
    wire::store_icrc(&bytes[bytes.size() - wire::kIcrcBytes], wire::icrc_of_l3_packet(l3.first(l3.size() - wire::kIcrcBytes)));
    return bytes;
  }
  // Connection i has UDP source ports of its own: 0xc000 + i forward, 0xd000 + i back.
  [[nodiscard]] static Bytes frame(std::uint16_t i, const Bytes& roce) { return frame_between(i + 1u, 2u - i, 0xc000u + i, roce); }
  [[nodiscard]] static Bytes frame_back(std::uint16_t i, const Bytes& roce) { return frame_between(2u - i, i + 1u, 0xd000u + i, roce); }

  std::string name_;
  std::string text_;
};

Vector dropped(const char* name, const char* what, const Change& change) {
  Writer w(name, what);
  w.start();
  w.say("dropped:");
  w.packet(0, w.contribution(0, 0, 5, change));
  w.say("and nothing has changed:");
  w.packet(0, w.contribution(0, 0, 7));
  w.packet(1, w.contribution(1, 0, 10));
  w.expect_result(0, 17);
  return w.done();
}

Vector bind() {
  Writer w("bind", "Binds pass, the same again too; another content is refused; data pass no group that is not active.");
  w.prepare();
  w.forwarded(0, w.ring.forward_bind(0));
  w.forwarded(0, w.ring.forward_bind(0));
  w.say("the same connection with another first PSN, another rkey, another QP: dropped");
  w.packet(0, w.ring.forward_bind(0, [](auto& p, auto&) { ++p.bth.psn; }));
  w.packet(0, w.ring.forward_bind(0, [](auto& p, auto&) { ++p.reth.rkey; }));
  w.packet(0, w.ring.forward_bind(0, [](auto& p, auto&) { ++p.bth.dest_qpn; }));
  w.say("another number of members, and a foreign epoch: dropped");
  w.packet(1, w.ring.forward_bind(1, [](auto&, auto& b) { b.members = 3; }));
  w.packet(1, w.ring.forward_bind(1, [](auto&, auto& b) { ++b.epoch; }));
  w.forwarded_back(0, w.ring.backward_bind(0));
  w.forwarded(1, w.ring.forward_bind(1));
  w.say("not active: dropped");
  w.packet(0, w.contribution(0, 0, 1));
  w.forwarded_back(1, w.ring.backward_bind(1));
  w.say("ina activate 17");
  w.complete(0);
  return w.done();
}

Vector sum() {
  Writer w("sum", "Two contributions make a result on each connection; seq wraps, the PSN does too.");
  w.start();
  for (std::uint32_t k = 0; k < 6; ++k) w.complete(k);
  return w.done();
}

Vector maximum() {
  Writer w("max", "The maximum of signed lanes.");
  w.op = wire::Op::kMax;
  w.start();
  w.packet(1, w.contribution(1, 0, -3));
  w.packet(0, w.contribution(0, 0, -2));
  w.expect_result(0, -2);
  return w.done();
}

Vector duplicate() {
  Writer w("duplicate", "A duplicate of an open chunk is dropped, of a released one answered on its connection from the slot.");
  w.start();
  w.packet(0, w.contribution(0, 0, 1));
  w.packet(0, w.contribution(0, 0, 1));
  w.packet(1, w.contribution(1, 0, 2));
  w.expect_result(0, 3);
  w.packet(1, w.contribution(1, 0, 2));
  w.expect_made(1, w.result(1, 0, 3));
  return w.done();
}

Vector gap() {
  Writer w("gap", "A chunk after the next one is dropped; its sender gets one NAK, for the first PSN that the receiver has not acknowledged.");
  w.start();
  w.complete(0);
  w.packet(0, w.contribution(0, 2, 1));
  w.expect_made_back(0, w.ring.acknowledgement(0, w.ring.spec.first_seq + 1, wire::kSyndromeNakSequence));
  w.packet(0, w.contribution(0, 3, 1));
  w.packet(0, w.contribution(0, 1, 1));
  w.packet(1, w.contribution(1, 1, 2));
  w.expect_result(1, 3);
  return w.done();
}

Vector nak() {
  Writer w("nak", "A receiver's NAK for released chunks is answered from the slots and goes no further.");
  w.start();
  for (std::uint32_t k = 0; k < 2; ++k) {
    w.packet(0, w.contribution(0, k, 1));
    w.packet(1, w.contribution(1, k, 2));
    w.expect_result(k, 3);
  }
  w.packet_back(0, w.ring.acknowledgement(0, w.ring.spec.first_seq, wire::kSyndromeNakSequence));
  w.expect_made(0, w.result(0, 0, 3));
  w.expect_made(0, w.result(0, 1, 3));
  w.say("an acknowledgement of what was never released: dropped");
  w.packet_back(0, w.ring.acknowledgement(0, w.ring.spec.first_seq + 2));
  return w.done();
}

Vector stale() {
  Writer w("stale", "A duplicate whose slot has gone to a newer chunk passes untouched; an older one than 2W is dropped.");
  w.start();
  for (std::uint32_t k = 0; k < 5; ++k) w.complete(k);
  w.packet(0, w.contribution(0, 5, 1));
  w.forwarded(1, w.contribution(1, 1, 2));
  w.say("chunk 0 is not among the last 2W of member 1: dropped");
  w.packet(1, w.contribution(1, 0, 2));
  return w.done();
}

Vector foreign() {
  Writer w("foreign_source", "A contribution from another host, or with the right address at the wrong port, is dropped.");
  w.start();
  w.foreign_packet(0, w.contribution(0, 0, 5));
  w.packet_at(kForeignPort, 0, w.contribution(0, 0, 5));
  w.complete(0);
  return w.done();
}

Vector unknown_group() {
  Writer w("unknown_group", "Packets of a group that the switch does not know, or no longer knows, pass untouched.");
  w.forwarded(0, w.ring.forward_bind(0));
  w.forwarded(0, w.contribution(0, 0, 1));
  w.forwarded_back(0, w.ring.acknowledgement(0, w.ring.spec.first_seq));
  w.start();
  w.complete(0);
  w.say("ina remove 17");
  w.forwarded(0, w.contribution(0, 1, 1));
  return w.done();
}

Vector damaged() {
  Writer w("bad_icrc", "A contribution whose ICRC is wrong is dropped.");
  w.start();
  w.damaged(0, w.contribution(0, 0, 1));
  w.complete(0);
  return w.done();
}

}  // namespace

std::vector<Vector> make_vectors() {
  return {
      bind(), sum(), maximum(), duplicate(), gap(), nak(), stale(), foreign(), unknown_group(), damaged(),
      dropped("wrong_epoch", "A contribution of another life of the group is dropped.", [](auto& c) { ++c.header.epoch; }),
      dropped("wrong_member", "A contribution of a member that the group has not is dropped.", [](auto& c) { c.header.member = 2; }),
      dropped("other_member", "A contribution in another member's name is dropped.", [](auto& c) { c.header.member = 1; }),
      dropped("wrong_length", "A contribution whose length is not its payload's is dropped.", [](auto& c) { c.header.length -= 8; }),
      dropped("wrong_psn", "A contribution whose PSN is not that of its seq is dropped.", [](auto& c) { ++c.packet.bth.psn; }),
      dropped("wrong_address", "A contribution for another place of the mailbox is dropped.", [](auto& c) { c.packet.reth.address += 512; }),
      dropped("wrong_trailer", "A contribution whose trailer is not its seq is dropped.", [](auto& c) { ++c.trailer; }),
      dropped("forged_result", "A result from a host is dropped.",
              [](auto& c) { c.header.kind = wire::Kind::kResult, c.header.contributions = 2; }),
  };
}

}  // namespace ina::test
