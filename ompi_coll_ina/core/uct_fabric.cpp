#include <algorithm>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/fabric.hpp"
#include "ompi_coll_ina/core/local_route.hpp"
#include "ompi_coll_ina/core/uct_device.hpp"
#include "ompi_coll_ina/core/uct_interface.hpp"
#include "ompi_coll_ina/core/uct_ring.hpp"
#include "wire/ina_header.hpp"
#include "wire/limits.hpp"

namespace ina::core {
namespace {

constexpr const char* kOwnTransport = "ina";
// A relay answers within milliseconds or is not there: whoever opens the fabric waits that long inside an MPI call.
constexpr const char* kRelayTimeout = "200ms";

ucs_status_t on_endpoint_error(void* interface, uct_ep_h ep, ucs_status_t) noexcept {
  for (UctRing* ring : static_cast<UctInterface*>(interface)->rings) {
    if (ring->fail_if_owner_of(ep)) break;
  }
  return UCS_OK;  // handled: the group's life decides what follows
}

void modify(uct_iface_config_t* config, const char* name, const char* value) {
  ucs_status_t status = uct_config_modify(config, name, value);
  if (status == UCS_ERR_NO_ELEM) status = uct_config_modify(config, (std::string("INA_") + name).c_str(), value);  // UCX 1.17 and later
  require(status, std::string("cannot set ") + name + " of the ina transport to " + value);
}

// A member that computes or is stopped leaves contributions unacknowledged for as long as it takes: retries never end. What fails is
// told by exceptions and has_failed(): UCX itself stays silent.
void configure_own_transport(uct_iface_config_t* config, const FabricSettings& settings) {
  const std::string& relay = settings.relay;
  modify(config, "RETRY_COUNT", "inf");
  modify(config, "FAILURE", "debug");
  modify(config, "ECN", "n");  // a switch that adds up sees nothing on a ring's connection but what it expects there
  // A result's acknowledgement tells nobody anything new, and costs each member and the switch as much as the result: one for several of them.
  modify(config, "ACK_DELAY", "500us");
  // Longer than that, than the timer's period, and than a member may have to wait for its turn on a core. The switch reports gaps.
  modify(config, "RTO_MIN", "10ms");
  if (relay.empty()) {
    const auto manager = wire::UdpAddress::parse(settings.manager);
    if (manager) modify(config, "IP_VERSION", manager->is_ipv6 ? "6" : "4");
    return;
  }
  modify(config, "RELAY", relay.c_str());
  modify(config, "RELAY_TIMEOUT", kRelayTimeout);
}

std::string choose_device(const FabricSettings& settings) {
  const bool has_relay = !settings.relay.empty();
  const std::string& goal = has_relay ? settings.relay : settings.manager;
  if (goal.empty() || !settings.device.empty()) return settings.device;
  const std::string what = has_relay ? "relay " : "manager ";
  const auto address = wire::UdpAddress::parse(goal);
  if (!address) throw Error(Status::kBadSetting, what + goal + " is no numeric HOST:PORT");
  auto device = device_towards(*address);
  if (!device) throw Error(Status::kUnreachable, "no route to the " + what + goal);
  return *std::move(device);
}

void open_interface(UctInterface& interface, const FabricSettings& settings) {
  uct_iface_config_t* config = nullptr;
  require(uct_md_iface_config_read(interface.md.get(), interface.transport.c_str(), nullptr, nullptr, &config), "cannot read the settings of " + interface.transport);
  const ConfigHandle<uct_iface_config_t> owner(config);
  if (interface.transport == kOwnTransport) configure_own_transport(config, settings);
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_STATS_ROOT | UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device = {.tl_name = interface.transport.c_str(), .dev_name = interface.device.c_str()};
  params.err_handler = &on_endpoint_error;
  params.err_handler_arg = &interface;
  uct_iface_h iface = nullptr;
  const std::string where = settings.relay.empty() ? "" : " with relay " + settings.relay;
  require(uct_iface_open(interface.md.get(), interface.worker.get(), &params, config, &iface), "cannot open " + interface.transport + " on " + interface.device + where);
  interface.iface.reset(iface);
  require(uct_iface_query(iface, &interface.attr), "cannot query " + interface.transport);
}

void check_capabilities(const UctInterface& interface) {
  const auto& cap = interface.attr.cap;
  const bool is_able = (cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY) != 0 && (cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0 && cap.put.max_iov >= 1 &&
                       cap.put.min_zcopy <= wire::kFramingBytes + wire::kLengthMultiple && (interface.md_attr.cap.flags & UCT_MD_FLAG_REG) != 0;
  if (!is_able) throw Error(Status::kUnsupported, "transport " + interface.transport + " has no put_zcopy over connected endpoints");
  if (std::min(cap.put.align_mtu, cap.put.max_zcopy) < wire::kMinPayload)
    throw Error(Status::kUnsupported, "packets of " + interface.transport + " on " + interface.device + " are too small");
}

class UctFabric final : public Fabric {
 public:
  explicit UctFabric(const FabricSettings& settings);

  [[nodiscard]] std::size_t max_payload() const noexcept override { return max_payload_; }
  [[nodiscard]] std::unique_ptr<Ring> create_ring(const RingSpec& spec) override { return std::make_unique<UctRing>(interface_, spec); }
  unsigned progress() noexcept override { return uct_worker_progress(interface_.worker.get()); }
  [[nodiscard]] int event_fd() noexcept override { return event_fd_; }
  [[nodiscard]] bool arm() noexcept override { return event_fd_ >= 0 && uct_iface_event_arm(interface_.iface.get(), events_) == UCS_OK; }
  [[nodiscard]] const std::string& description() const noexcept override { return description_; }

 private:
  void open_event_fd();

  UctInterface interface_;
  std::size_t max_payload_ = 0;
  int event_fd_ = -1;
  unsigned events_ = 0;
  std::string description_;
};

UctFabric::UctFabric(const FabricSettings& settings) {
  interface_.transport = settings.transport;
  UctDevice device = find_uct_device(settings.transport, choose_device(settings));
  interface_.component = device.component;
  interface_.md = std::move(device.md);
  interface_.device = std::move(device.name);
  require(uct_md_query(interface_.md.get(), &interface_.md_attr), "cannot query the memory domain of " + settings.transport);
  ucs_async_context_t* async = nullptr;
  require(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async), "cannot create an asynchronous context");
  interface_.async.reset(async);
  uct_worker_h worker = nullptr;
  require(uct_worker_create(async, UCS_THREAD_MODE_SERIALIZED, &worker), "cannot create a worker");
  interface_.worker.reset(worker);
  open_interface(interface_, settings);
  check_capabilities(interface_);
  uct_iface_progress_enable(interface_.iface.get(), UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  const auto& put = interface_.attr.cap.put;
  max_payload_ = std::min({put.align_mtu, put.max_zcopy, wire::kMaxPayload}) & ~std::size_t{3};
  open_event_fd();
  description_ = settings.transport + (settings.relay.empty() ? " on " + interface_.device : " over relay " + settings.relay);
}

// RDMA WRITEs of a NIC raise no receive event: its users wait with a time limit.
void UctFabric::open_event_fd() {
  const std::uint64_t flags = interface_.attr.cap.event_flags;
  if ((flags & UCT_IFACE_FLAG_EVENT_FD) == 0 || uct_iface_event_fd_get(interface_.iface.get(), &event_fd_) != UCS_OK) {
    event_fd_ = -1;
    return;
  }
  if ((flags & UCT_IFACE_FLAG_EVENT_RECV) != 0) events_ |= UCT_EVENT_RECV;
  if ((flags & UCT_IFACE_FLAG_EVENT_SEND_COMP) != 0) events_ |= UCT_EVENT_SEND_COMP;
}

}  // namespace

std::unique_ptr<Fabric> open_uct_fabric(const FabricSettings& settings) { return std::make_unique<UctFabric>(settings); }

}  // namespace ina::core
