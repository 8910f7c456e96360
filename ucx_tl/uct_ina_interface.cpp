// uct_ina_interface.cpp: the C++ side of an interface: opening its socket and engine, progress, what is reported to UCX.
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ucx_tl/engine/payload_limit.hpp"
#include "ucx_tl/engine/resolve.hpp"
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {
namespace {

using engine::Error;
using engine::Failure;
using engine::Nanoseconds;

constexpr Nanoseconds kKeepaliveInBand = 10 * engine::kSecond;

Nanoseconds nanoseconds(double seconds, double from, double to, const char* name) {
  if (!(seconds >= from && seconds <= to)) {
    throw Error(Failure::kInvalid, std::string(name) + " is not from " + std::to_string(from) + " to " + std::to_string(to) + " s");
  }
  return static_cast<Nanoseconds>(std::llround(seconds * 1e9));
}

net::Netdev find_netdev(const std::string& name) {
  for (net::Netdev& device : net::list_netdevs()) {
    if (device.name == name) return device;
  }
  throw Error(Failure::kInvalid, "device " + name + " is not up or has no IP address");
}

// ip_limit: of the way that packets take through this host.
std::uint32_t choose_mtu(const std::string& device, const wire::UdpAddress& local, std::size_t configured, std::uint32_t ip_limit) {
  const std::uint32_t limit = engine::payload_limit(std::min(net::netdev_mtu(device), ip_limit), local.is_ipv6);
  if (limit < engine::kMinMtu) throw Error(Failure::kInvalid, "the mtu of device " + device + " leaves less than 256 bytes of payload");
  if (configured == UCS_MEMUNITS_AUTO) return limit;
  if (configured < engine::kMinMtu || configured > engine::kMaxMtu || configured % 8 != 0) {
    throw Error(Failure::kInvalid, "UCX_INA_MTU is not a multiple of 8 from 256 to 8960, nor auto");
  }
  if (configured > limit) throw Error(Failure::kInvalid, "UCX_INA_MTU is more than the " + std::to_string(limit) + " bytes that device " + device + (limit < engine::kMaxMtu && ip_limit == engine::XdpIo::kMaxIpBytes ? " and AF_XDP leave" : " leaves"));
  return static_cast<std::uint32_t>(configured);
}

// A relay of one family is reached from an address of that family.
wire::UdpAddress choose_address(const net::Netdev& netdev, uct_ina_ip_version_t ip_version, const std::string& relay) {
  const bool relay_is_ipv6 = !relay.empty() && relay.front() == '[';
  const bool use_ipv6 = ip_version == UCT_INA_IP_6 || (ip_version == UCT_INA_IP_AUTO && netdev.ipv6 && (relay_is_ipv6 || !netdev.ipv4));
  const auto& address = use_ipv6 ? netdev.ipv6 : netdev.ipv4;
  if (!address) throw Error(Failure::kInvalid, "device " + netdev.name + " has no IPv" + (use_ipv6 ? "6" : "4") + " address that UCX_INA_IP_VERSION wants");
  return *address;
}

engine::RequesterOptions requester_options(const uct_ina_iface_config_t& config) {
  engine::RequesterOptions options;
  if (config.window < 16 || config.window > 4096) throw Error(Failure::kInvalid, "UCX_INA_WINDOW is not from 16 to 4096 packets");
  options.window = config.window;
  if (config.retry_count != UCS_ULUNITS_INF) {
    if (config.retry_count > 1000000) throw Error(Failure::kInvalid, "UCX_INA_RETRY_COUNT is not from 0 to 1000000, nor inf");
    options.retry_limit = static_cast<std::uint32_t>(config.retry_count);
  }
  options.timeout_min = nanoseconds(config.rto_min, 10e-6, 10, "UCX_INA_RTO_MIN");
  options.timeout_max = nanoseconds(config.rto_max, 10e-6, 100, "UCX_INA_RTO_MAX");
  if (options.timeout_min > options.timeout_max) throw Error(Failure::kInvalid, "UCX_INA_RTO_MIN is more than UCX_INA_RTO_MAX");
  return options;
}

Nanoseconds keepalive(ucs_time_t configured, Nanoseconds automatic) {
  if (configured == UCS_TIME_AUTO) return automatic;
  if (configured == UCS_TIME_INFINITY || configured == 0) return 0;
  return nanoseconds(ucs_time_to_sec(configured), 1e-2, 3600, "UCX_INA_KEEPALIVE");
}

// Sets local.port, prefer_roce_port and share_port. A relay tells connections apart by QP numbers of its own choice.
void choose_port(const char* setting, bool has_relay, engine::UdpSocketOptions& options) {
  const std::string_view text = setting == nullptr ? "auto" : setting;
  options.share_port = !has_relay;
  if (text == "any") {
    options.share_port = false;
  } else if (text == "auto") {
    options.prefer_roce_port = !has_relay;
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), options.local.port);
    if (error != std::errc{} || end != text.data() + text.size() || options.local.port == 0) {
      throw Error(Failure::kInvalid, "UCX_INA_PORT is neither auto nor any nor a number from 1 to 65535");
    }
  }
}

// A NIC may number the packets that it cuts as it likes, and a virtual device may pass large datagrams on to one that takes packets for what
// they are. What the loopback carries ends in a socket.
bool wants_segmentation(GsoChoice choice, const net::Netdev& netdev) {
  if (choice != kGsoAuto) return choice == kGsoYes;
  return netdev.is_loopback || !net::takes_large_datagrams(netdev.name);
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) throw Error(Failure::kSystem, "no random numbers");
  return seed;
}

}  // namespace

ucs_status_t to_status(engine::QpError error) noexcept {
  switch (error) {
    case engine::QpError::kNone: return UCS_OK;
    case engine::QpError::kRetriesExhausted: return UCS_ERR_ENDPOINT_TIMEOUT;
    case engine::QpError::kInvalidRequest: return UCS_ERR_REJECTED;
    case engine::QpError::kRemoteAccess: return UCS_ERR_INVALID_ADDR;
    case engine::QpError::kRemoteOperational: return UCS_ERR_IO_ERROR;
    case engine::QpError::kRelayLost: return UCS_ERR_UNREACHABLE;
    case engine::QpError::kCancelled: return UCS_ERR_CANCELED;
    case engine::QpError::kRefused: return UCS_ERR_REJECTED;
    case engine::QpError::kReset: return UCS_ERR_CONNECTION_RESET;
    case engine::QpError::kNoAnswer: return UCS_ERR_UNREACHABLE;
  }
  return UCS_ERR_IO_ERROR;
}

ucs_status_t to_status(engine::Failure failure) noexcept {
  switch (failure) {
    case Failure::kInvalid: return UCS_ERR_INVALID_PARAM;
    case Failure::kSystem: return UCS_ERR_IO_ERROR;
    case Failure::kUnreachable: return UCS_ERR_UNREACHABLE;
    case Failure::kRefused: return UCS_ERR_REJECTED;
  }
  return UCS_ERR_IO_ERROR;
}

Interface::Interface(uct_ina_iface_t* owner, const std::string& device, const uct_ina_iface_config_t& config)
    : owner_(owner), fork_generation_(watch_forks()), device_(device) {
  ucs_list_head_init(&waiting_);
  const net::Netdev netdev = find_netdev(device);
  is_loopback_ = netdev.is_loopback;
  const std::string relay = config.relay == nullptr ? "" : config.relay;
  engine::EngineOptions options;
  options.local = choose_address(netdev, config.ip_version, relay);
  if (config.seg_size < 256 || config.seg_size > kMaxSegmentBytes) throw Error(Failure::kInvalid, "UCX_INA_SEG_SIZE is not from 256 bytes to 1 MiB");
  options.segment_bytes = static_cast<std::uint32_t>(config.seg_size);
  options.requester = requester_options(config);
  options.acknowledge_delay = nanoseconds(config.ack_delay, 0, 1e-2, "UCX_INA_ACK_DELAY");
  options.ecn = config.ecn != 0;
  options.seed = random_seed();
  options.connect_timeout = nanoseconds(config.connect_timeout, 1e-3, 3600, "UCX_INA_CONNECT_TIMEOUT");
  options.keepalive = keepalive(config.keepalive, kKeepaliveInBand);
  options.keepalive_endpoints = keepalive(config.keepalive, 0);
  const Nanoseconds relay_timeout = nanoseconds(config.relay_timeout, 1e-3, 3600, "UCX_INA_RELAY_TIMEOUT");
  if (!relay.empty()) {
    try {
      options.relay = engine::resolve(relay, options.local.is_ipv6);
    } catch (const Error& error) {
      throw Error(error.failure(), std::string("UCX_INA_RELAY: ") + error.what());
    }
    // From an IPv6 loopback address the system drops what goes elsewhere, without an error that would tell.
    if (is_loopback_ && !engine::is_of_this_host(*options.relay)) throw Error(Failure::kUnreachable, "relay " + relay + " is not on this host, and device " + device + " is the loopback");
  }
  if (config.socket_buffer > (1u << 30)) throw Error(Failure::kInvalid, "UCX_INA_SOCKET_BUFFER is more than 1 GiB");
  engine::UdpSocketOptions socket_options{.local = options.local, .buffer_bytes = config.socket_buffer, .ecn = options.ecn};
  socket_options.segmentation = wants_segmentation(static_cast<GsoChoice>(config.gso), netdev);
  choose_port(config.port, !relay.empty(), socket_options);
  socket_ = std::make_unique<engine::UdpSocket>(socket_options);
  if (socket_options.prefer_roce_port && !socket_->qpn_top_byte()) {
    ucs_debug("ina: %s has port %u: port %u is not to be had", device_.c_str(), socket_->local().port, wire::kRocePort);
  }
  ucs_debug("ina: %s sends %s", device_.c_str(), socket_->sender().is_enabled() ? "runs of packets as large datagrams" : "packets one by one");
  options.local = socket_->local();
  options.qpn_top_byte = socket_->qpn_top_byte();
  choose_io(static_cast<IoChoice>(config.io));
  options.mtu = choose_mtu(device, options.local, config.mtu, xdp_ ? engine::XdpIo::kMaxIpBytes : ~0u);
  if (options.relay && options.mtu > engine::kMaxInfinibandMtu) {
    if (config.mtu != UCS_MEMUNITS_AUTO) throw Error(Failure::kInvalid, "UCX_INA_MTU is more than the 4096 bytes that a relay takes");
    options.mtu = engine::kMaxInfinibandMtu;
  }
  const auto* const md = reinterpret_cast<const uct_ina_md_t*>(owner->super.md);
  engine_ = std::make_unique<engine::Engine>(options, *io_, clock_, *md->memory);
  if (options.relay) engine_->open_relay(relay_timeout);
  register_counters(&engine_->counters());
}

void Interface::choose_io(IoChoice choice) {
  io_ = socket_.get();
  if (choice == kIoUdp) return;
  try {
    if (is_loopback_) throw Error(Failure::kInvalid, "AF_XDP on device " + device_ + ": it is the loopback");
    xdp_ = std::make_unique<engine::XdpIo>(device_, *socket_);
  } catch (const Error& error) {
    if (choice == kIoXdp) throw Error(error.failure(), std::string("UCX_INA_IO is xdp: ") + error.what());
    ucs_debug("ina: %s uses a udp socket: %s", device_.c_str(), error.what());
    return;
  }
  io_ = xdp_.get();
  ucs_debug("ina: %s uses AF_XDP: queues %u %s %s", device_.c_str(), xdp_->queues(), xdp_->is_native() ? "native" : "generic",
            xdp_->is_zero_copy() ? "zero copy" : "copying");
}

Interface::~Interface() {
  if (is_inherited()) {
    engine_->mute();
  } else {
    stop_timer();
  }
  log_counters();
  unregister_counters(&engine_->counters());
}

void Interface::log_counters() const noexcept {
  const engine::Counters& c = engine_->counters();
  ucs_debug("ina: %s packets sent %" PRIu64 " received %" PRIu64 " send calls %" PRIu64 " receive calls %" PRIu64 " empty %" PRIu64, device_.c_str(),
            c.packets_sent.value(), c.packets_received.value(), c.send_calls.value(), c.receive_calls.value(), c.empty_receives.value());
  ucs_debug("ina: %s retransmissions %" PRIu64 " timeouts %" PRIu64 " acks sent %" PRIu64 " received %" PRIu64 " naks sent %" PRIu64
            " received %" PRIu64 " rnr naks sent %" PRIu64 " received %" PRIu64,
            device_.c_str(), c.retransmissions.value(), c.timeouts.value(), c.acks_sent.value(), c.acks_received.value(), c.naks_sent.value(),
            c.naks_received.value(), c.rnr_naks_sent.value(), c.rnr_naks_received.value());
  ucs_debug("ina: %s duplicates %" PRIu64 " gaps %" PRIu64 " kept %" PRIu64 " bad packets %" PRIu64 " bad icrc %" PRIu64 " unknown qpn %" PRIu64
            " foreign source %" PRIu64 " send blocked %" PRIu64 " send errors %" PRIu64,
            device_.c_str(), c.duplicates.value(), c.gaps.value(), c.kept_ahead.value(), c.bad_packets.value(), c.bad_icrc.value(), c.unknown_qpn.value(),
            c.foreign_source.value(), c.send_blocked.value(), c.send_errors.value());
  if (socket_->sender().was_refused()) ucs_debug("ina: %s has sent packets one by one since the system refused a large datagram", device_.c_str());
  ucs_debug("ina: %s congestion marks %" PRIu64 " notifications sent %" PRIu64 " received %" PRIu64, device_.c_str(), c.congestion_marks.value(),
            c.notifications_sent.value(), c.notifications_received.value());
  ucs_debug("ina: %s connect messages %" PRIu64 " dropped %" PRIu64 " probes sent %" PRIu64 " failed endpoints %" PRIu64, device_.c_str(), c.connect_messages.value(),
            c.half_open_drops.value(), c.probes_sent.value(), c.failed_qps.value());
}

unsigned Interface::progress() noexcept {
  if (is_inherited()) [[unlikely]] return 0;
  // Without connections all that comes is late, for somebody who had this port before: no event, and UCP asserts that a new interface has none.
  const bool has_connections = engine_->qp_count() != 0;
  unsigned events = engine_->progress();
  if (!has_connections && engine_->qp_count() == 0) events = 0;
  events += engine_->report(*this);
  if (!flushes_.empty()) events += complete_flushes();
  if (!ucs_list_is_empty(&waiting_)) events += dispatch_pending();
  return events;
}

int Interface::event_descriptor() {
  if (wakeup_ == nullptr) wakeup_ = std::make_unique<engine::Wakeup>(io_->descriptor());
  return wakeup_->descriptor();
}

bool Interface::arm() noexcept {
  if (is_inherited()) return true;
  if (wakeup_ != nullptr) wakeup_->clear();
  if (!engine_->prepare_to_wait()) return false;
  return !can_dispatch() && std::none_of(flushes_.begin(), flushes_.end(), [](const Flush& flush) { return flush.is_due(); });
}

void Interface::on_completed(void* token, engine::QpError error) noexcept {
  if ((reinterpret_cast<std::uintptr_t>(token) & kCopiedGetBit) != 0) return complete_copied_get(token, to_status(error));
  uct_invoke_completion(static_cast<uct_completion_t*>(token), to_status(error));
}

void Interface::on_received(std::span<std::byte> message) noexcept {
  const auto id = message.size() < kAmHeaderBytes ? std::uint8_t{UCT_AM_ID_MAX} : wire::load_be<std::uint8_t>(message.data());
  if (id >= UCT_AM_ID_MAX) return engine_->count_bad_message();
  (void)uct_iface_invoke_am(&owner_->super, id, message.data() + kAmHeaderBytes, static_cast<unsigned>(message.size() - kAmHeaderBytes), 0);
}

void Interface::on_failed(engine::Qp& qp, engine::QpError error) noexcept {
  auto* const ep = static_cast<uct_ina_ep_t*>(qp.user);
  if (error == engine::QpError::kCancelled) return;  // the user asked for it
  const ucs_status_t status = to_status(error);
  if (error == engine::QpError::kRefused) ucs_debug("ina: qp 0x%06x on %s is refused by the peer: %s", qp.number(), device_.c_str(), wire::describe(qp.refusal));
  const ucs_status_t handled = uct_iface_handle_ep_err(&owner_->super.super, &ep->super.super, status);
  if (handled != UCS_OK) {
    ucs_log(owner_->super.config.failure_level, "ina: endpoint with qp 0x%06x on %s failed: %s", qp.number(), device_.c_str(), ucs_status_string(status));
  }
}

void Interface::start_timer(ucs_time_t interval) {
  ucs_async_context_t* const async = owner_->super.worker->async;
  if (async == nullptr || interval == 0) return;
  // UCX's thread waits for whole milliseconds, rounded down, and polls without a pause for the rest of every period: a bit more than a whole
  // number of them leaves no rest, else a quarter of a processor at the default.
  const ucs_time_t period = interval + ucs_time_from_usec(1);
  const ucs_status_t status = ucs_async_add_timer(async->mode, period, &Interface::on_timer, this, async, &timer_id_);
  if (status != UCS_OK) throw Error(Failure::kSystem, std::string("cannot add a timer: ") + ucs_status_string(status));
}

void Interface::stop_timer() noexcept {
  if (timer_id_ < 0) return;
  ucs_async_remove_handler(timer_id_, 1);
  timer_id_ = -1;
}

// Runs with the asynchronous context blocked, in its thread or in a signal handler.
void Interface::on_timer(int, ucs_event_set_types_t, void* self) noexcept {
  auto* const interface = static_cast<Interface*>(self);
  if (interface->is_inherited()) return;
  const std::uint64_t calls = interface->engine_->progress_calls();
  const bool is_progressed = calls != interface->progress_calls_at_tick_;
  interface->progress_calls_at_tick_ = calls;
  const bool may_allocate = interface->owner_->super.worker->async->mode != UCS_ASYNC_MODE_SIGNAL;
  if (!is_progressed && interface->engine_->tick(may_allocate) && interface->wakeup_ != nullptr) interface->wakeup_->signal();
}

}  // namespace ina::uct
