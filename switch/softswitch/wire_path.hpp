// wire_path.hpp: the switch in the wire as a data path: its interfaces, which may come and go, and the frames between them.
// Used by the program where it has ports.
// Knows nothing of the manager, and of frames only from which port to which they go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/descriptor.hpp"
#include "net/link_watch.hpp"
#include "net/links.hpp"
#include "switch/aggregator/aggregator.hpp"
#include "switch/softswitch/data_path.hpp"
#include "switch/softswitch/faulty_port.hpp"
#include "switch/softswitch/frame_port.hpp"
#include "switch/softswitch/port_opener.hpp"
#include "switch/softswitch/wire_switch.hpp"

namespace ina::softswitch {

struct WireSettings {
  std::vector<std::string> ports;  // interfaces
  PortMode mode = PortMode::kAuto;
  FaultSettings faults;
  std::uint64_t seed = 0;
};

class WirePath final : public DataPath, private FrameOutbox {
 public:
  // Throws SetupError if an interface is not there, or cannot be a port. on_payload: the largest chunk payload has changed.
  WirePath(aggregator::Aggregator&, const WireSettings&, OnBind, std::function<void()> on_payload);
  ~WirePath() override;

  [[nodiscard]] int descriptor() const noexcept override { return epoll_.get(); }
  bool serve(Time now) override;
  void serve_events() override;
  void add_counters(Counters&) const override;
  [[nodiscard]] std::string description() const override;

 private:
  struct Port {
    std::string name;
    std::optional<net::Link> link;     // as it was last seen
    std::unique_ptr<FramePort> frames;  // none: the interface is not there
    FramePortCounters earlier;          // of interfaces of this name that are gone
    std::string complaint;              // why it is not open; said once
    [[nodiscard]] bool is_usable() const noexcept { return frames != nullptr && link && link->is_up; }
  };

  void send(PortIndex, const FramePieces&) noexcept override;
  void before_change(std::span<const std::byte> body) noexcept override;
  void use(Port&, std::unique_ptr<FramePort>);
  void close(Port&) noexcept;
  void look_at(PortIndex);
  void choose_payload();
  void watch(int descriptor, std::uint32_t label);
  bool receive(PortIndex, Time now) noexcept;

  aggregator::Aggregator& aggregator_;
  std::function<void()> on_payload_;
  net::Descriptor epoll_;
  net::Links links_;
  PortOpener opener_;
  net::LinkWatch link_watch_;
  bool links_changed_ = false;
  std::unique_ptr<FaultyPort::Injector> inward_faults_, outward_faults_;
  std::vector<Port> ports_;
  unsigned calls_until_events_ = 0;
  std::size_t payload_ = 0;
  std::uint64_t port_down_ = 0;  // frames for a port that is down or gone
  WireSwitch switch_;
};

}  // namespace ina::softswitch
