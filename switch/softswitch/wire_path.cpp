#include "ina_config.h"

#include "switch/softswitch/wire_path.hpp"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "switch/softswitch/listening.hpp"
#include "wire/limits.hpp"
#include "wire/roce.hpp"

namespace ina::softswitch {

namespace {

constexpr unsigned kCallsPerEvents = 64;
constexpr std::uint32_t kLinkEvents = 0xffffffff;  // instead of the number of a port
// What an IPv4 packet has around a chunk's payload. Hosts that use IPv6 know that their packets carry less.
constexpr std::size_t kAround = wire::kIpv4HeaderBytes + wire::kUdpHeaderBytes + wire::kBthBytes + wire::kRethBytes + wire::kIcrcBytes;

bool is_same(const std::optional<net::Link>& a, const std::optional<net::Link>& b) noexcept {
  if (!a || !b) return !a && !b;
  return a->index == b->index && a->master == b->master && a->mtu == b->mtu && a->is_up == b->is_up;
}

FramePortCounters sum(FramePortCounters a, const FramePortCounters& b) noexcept {
  a.frames_in += b.frames_in, a.frames_out += b.frames_out, a.bytes_in += b.bytes_in, a.bytes_out += b.bytes_out;
  a.receive_calls += b.receive_calls, a.receive_calls_empty += b.receive_calls_empty, a.send_calls += b.send_calls;
  a.not_sent += b.not_sent, a.not_received += b.not_received, a.truncated += b.truncated;
  return a;
}

}  // namespace

WirePath::WirePath(aggregator::Aggregator& aggregator, const WireSettings& settings, OnBind on_bind, std::function<void()> on_payload)
    : aggregator_(aggregator),
      on_payload_(std::move(on_payload)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      opener_(settings.mode, settings.ports),
      switch_(aggregator, *this, static_cast<PortIndex>(settings.ports.size()), settings.seed, std::move(on_bind)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "cannot open an epoll instance");
  if (settings.faults.any()) {
    inward_faults_ = std::make_unique<FaultyPort::Injector>(settings.faults.with_side(0));
    outward_faults_ = std::make_unique<FaultyPort::Injector>(settings.faults.with_side(1));
  }
  watch(link_watch_.descriptor(), kLinkEvents);
  ports_.resize(settings.ports.size());
  auto opened = opener_.take();
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    port.name = settings.ports[i];
    port.link = links_.find(port.name);
    if (!port.link) throw SetupError("port " + port.name + ": its interface has gone");
    use(port, std::move(opened[i]));
    if (!port.link->is_up) spdlog::warn("port {} is down: set it up with ip link set {} up", port.name, port.name);
  }
  choose_payload();
}

WirePath::~WirePath() = default;

void WirePath::watch(int descriptor, std::uint32_t label) {
  epoll_event event{.events = EPOLLIN, .data = {.u32 = label}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) throw std::system_error(errno, std::generic_category(), "cannot watch a port");
}

void WirePath::use(Port& port, std::unique_ptr<FramePort> frames) {
  port.frames = std::move(frames);
  if (inward_faults_) port.frames = std::make_unique<FaultyPort>(std::move(port.frames), *inward_faults_, *outward_faults_);
  const auto index = static_cast<std::uint32_t>(&port - ports_.data());
  for (const int descriptor : port.frames->descriptors()) watch(descriptor, index);
}

void WirePath::close(Port& port) noexcept {
  if (port.frames == nullptr) return;
  port.earlier = sum(port.earlier, port.frames->counters());
  port.frames.reset();
}

bool WirePath::serve(Time now) {
  bool has_received = false;
  for (PortIndex index = 0; index < ports_.size(); ++index) {
    Port& port = ports_[index];
    if (port.frames != nullptr && !port.frames->takes_all_frames()) has_received |= receive(index, now);
  }
  // AF_XDP ports show in memory that something is there: no system call to ask, but now and then for links.
  if (has_received && opener_.is_xdp() && ++calls_until_events_ % kCallsPerEvents != 0) return true;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t label = events[static_cast<std::size_t>(i)].data.u32;
    if (label == kLinkEvents) {
      links_changed_ = link_watch_.has_changed() || links_changed_;
    } else if (ports_[label].frames != nullptr && ports_[label].frames->takes_all_frames()) {
      has_received |= receive(static_cast<PortIndex>(label), now);
    }
  }
  return has_received;
}

// What frames of one port make is sent before that port receives again, which ends the life of their bytes.
bool WirePath::receive(PortIndex index, Time now) noexcept {
  const auto frames = ports_[index].frames->receive();
  for (const ArrivedFrame& frame : frames) switch_.receive(index, frame, now);
  if (frames.empty()) return false;
  for (Port& port : ports_) {
    if (port.frames != nullptr) port.frames->flush();
  }
  return true;
}

void WirePath::send(PortIndex index, const FramePieces& pieces) noexcept {
  Port& port = ports_[index];
  if (port.is_usable()) {
    port.frames->send(pieces);
  } else {
    ++port_down_;
  }
}

void WirePath::before_change(std::span<const std::byte> body) noexcept {
  for (Port& port : ports_) {
    if (port.frames != nullptr) port.frames->before_change(body);
  }
}

void WirePath::serve_events() {
  if (!std::exchange(links_changed_, false)) return;
  for (PortIndex index = 0; index < ports_.size(); ++index) look_at(index);
  choose_payload();
}

// An interface that is deleted and made again has another index: the socket of the old one is dead.
void WirePath::look_at(PortIndex index) {
  Port& port = ports_[index];
  auto link = links_.find(port.name);
  if (is_same(link, port.link) && (port.frames != nullptr) == (link.has_value() && port.complaint.empty())) return;
  const auto before = std::exchange(port.link, link);
  if (!link || (before && before->index != link->index) || !opener_.objection(*link).empty()) {
    close(port);
    switch_.forget(index);
  }
  if (!link) {
    if (before) spdlog::warn("port {} is gone: its interface was deleted or moved away", port.name);
    return;
  }
  try {
    if (port.frames == nullptr) {
      if (const std::string why_not = opener_.objection(*link); !why_not.empty()) throw SetupError(why_not);
      use(port, opener_.open(*link));
      port.complaint.clear();
      spdlog::info("port {} is back", port.name);
    }
  } catch (const std::exception& error) {
    if (port.complaint != error.what()) spdlog::error("{}", error.what());
    port.complaint = error.what();
    return;
  }
  if (before && before->is_up != link->is_up) spdlog::info("port {} is {}", port.name, link->is_up ? "up" : "down");
  if (before && before->mtu != link->mtu) spdlog::info("port {} has MTU {}", port.name, link->mtu);
  if (!link->is_up) switch_.forget(index);
}

// Of groups that are set up from now on. Running ones keep theirs: where it no longer fits, the kernel drops what is too long, and they fail over.
void WirePath::choose_payload() {
  std::size_t smallest = kAround + wire::kMaxPayload;
  for (const Port& port : ports_) {
    if (port.frames != nullptr) smallest = std::min({smallest, std::size_t{port.link->mtu}, opener_.max_ip_bytes()});
  }
  const std::size_t payload = std::max((smallest - std::min(smallest, kAround)) & ~std::size_t{3}, wire::kMinPayload);
  if (payload == payload_) return;
  if (payload_ != 0) spdlog::info("new groups have chunks of up to {} bytes", payload);
  payload_ = payload;
  aggregator_.set_payload(payload);
  on_payload_();
}

std::string WirePath::description() const {
  std::string text = "ports";
  for (const Port& port : ports_) text += (&port == ports_.data() ? " " : ", ") + port.name;
  return text + " " + opener_.description() + ", chunks of up to " + std::to_string(payload_) + " bytes";
}

void WirePath::add_counters(Counters& all) const {
  const WireCounters& wire = switch_.counters();
  all.insert(all.end(), {{"forwarded", wire.forwarded}, {"flooded", wire.flooded}, {"absorbed", wire.absorbed}, {"made", wire.made}, {"segmented", wire.segmented},
                         {"stations", switch_.stations(std::chrono::steady_clock::now())}, {"connections", switch_.connections()}, {"payload", payload_},
                         {"dropped_runt", wire.runt}, {"dropped_bad_source", wire.bad_source}, {"dropped_pause", wire.pause},
                         {"dropped_same_port", wire.same_port}, {"dropped_receiver_gone", wire.receiver_gone}, {"dropped_port_down", port_down_}});
  for (const Port& port : ports_) {
    const FramePortCounters each = port.frames != nullptr ? sum(port.earlier, port.frames->counters()) : port.earlier;
    const std::string prefix = "port_" + port.name + "_";
    all.insert(all.end(), {{prefix + "frames_in", each.frames_in}, {prefix + "frames_out", each.frames_out}, {prefix + "bytes_in", each.bytes_in},
                           {prefix + "bytes_out", each.bytes_out}, {prefix + "receive_calls", each.receive_calls},
                           {prefix + "receive_calls_empty", each.receive_calls_empty}, {prefix + "send_calls", each.send_calls},
                           {prefix + "not_sent", each.not_sent}, {prefix + "not_received", each.not_received}, {prefix + "truncated", each.truncated}});
  }
  if (inward_faults_) add_fault_counters(all, "in", inward_faults_->counters());
  if (outward_faults_) add_fault_counters(all, "out", outward_faults_->counters());
}

}  // namespace ina::softswitch
