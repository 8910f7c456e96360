// wire_switch.hpp: the switch in the wire around the aggregator: one frame in at a port, any number out at ports.
// Used by the program's loop, by tests and by the fuzzer.
// Has no socket and no clock: frames and the time come with the call, what it sends goes to the outbox. It has no address: no frame is for it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "switch/softswitch/bridge.hpp"
#include "switch/softswitch/frame_port.hpp"
#include "switch/softswitch/stations.hpp"
#include "wire/frame.hpp"

namespace ina::softswitch {

// Where frames go that leave. Frames to a port that is down are dropped there.
class FrameOutbox {
 public:
  virtual ~FrameOutbox() = default;
  virtual void send(PortIndex, const FramePieces&) noexcept = 0;
  virtual void before_change(std::span<const std::byte> body) noexcept = 0;
};

struct WireCounters {
  std::uint64_t forwarded = 0, flooded = 0, absorbed = 0, made = 0, segmented = 0;
  // drops of its own; those of the aggregator are Aggregator::drops()
  std::uint64_t runt = 0;           // no Ethernet header
  std::uint64_t bad_source = 0;     // a group address as source
  std::uint64_t pause = 0;          // a pause frame, which is for the link alone
  std::uint64_t same_port = 0;      // its destination is where it comes from
  std::uint64_t receiver_gone = 0;  // made for a connection that is not known any more
};

class WireSwitch final : private aggregator::Emitter {
 public:
  using OnBind = std::function<void(std::uint32_t group)>;

  WireSwitch(aggregator::Aggregator&, FrameOutbox&, PortIndex ports, std::uint64_t seed, OnBind);

  // The bytes may be changed, and must stay until the outbox is flushed.
  void receive(PortIndex from, const ArrivedFrame&, Time now) noexcept;
  // The port was unplugged.
  void forget(PortIndex port) noexcept { bridge_.forget(port); }

  [[nodiscard]] const WireCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t stations(Time now) const noexcept { return bridge_.stations(now); }
  [[nodiscard]] std::size_t connections() const noexcept { return stations_.connections(); }

 private:
  // A RoCE packet as the aggregator is handed it.
  struct Roce {
    PortIndex from;
    const wire::Frame& frame;
    const wire::Packet& packet;
    std::span<const std::byte> l3;  // IP header to pad and ICRC, in one piece
  };
  [[nodiscard]] std::optional<aggregator::Outcome> aggregate(const Roce&) noexcept;  // none: not the aggregator's
  [[nodiscard]] bool takes(PortIndex from, const wire::Frame&, const ArrivedFrame&, Time now) noexcept;
  [[nodiscard]] bool take_segments(PortIndex from, const wire::Frame&, const ArrivedFrame&, Time now) noexcept;
  [[nodiscard]] bool concerns(PortIndex from, const wire::Frame&, std::span<const std::byte> udp_payload) const noexcept;
  void send_segment(PortIndex from, wire::Frame, Time now) noexcept;
  void forward(PortIndex from, const wire::MacAddress& to, std::uint16_t vlan, const FramePieces&, Time now) noexcept;
  void emit(const aggregator::MadePacket&) noexcept override;
  void before_change(std::span<const std::byte> lanes) noexcept override { outbox_.before_change(lanes); }

  static constexpr std::size_t kMaxSegmentBytes = 9216;

  aggregator::Aggregator& aggregator_;
  FrameOutbox& outbox_;
  PortIndex ports_;
  OnBind on_bind_;
  Bridge bridge_;
  Stations stations_;
  WireCounters counters_;
  std::vector<std::byte> segment_;  // of a super-frame, behind headers of its own
};

}  // namespace ina::softswitch
