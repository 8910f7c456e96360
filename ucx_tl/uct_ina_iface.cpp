// uct_ina_iface.cpp: the interface and the transport as UCX sees them: devices, attributes, addresses, events, settings.
#include "ucx_tl/uct_ina.h"

using ina::uct::AsyncBlock;
using ina::uct::guarded;
using ina::uct::Interface;

namespace {

uct_ina_iface_t* iface_of(uct_iface_h iface) { return reinterpret_cast<uct_ina_iface_t*>(iface); }

const char* ip_version_names[] = {"auto", "4", "6", nullptr};  // in the order of uct_ina_ip_version_t
const char* io_names[] = {"udp", "xdp", "auto", nullptr};
const char* gso_names[] = {"auto", "y", "n", nullptr};

ucs_config_field_t iface_config_table[] = {
    {"", "MAX_NUM_EPS=4096", nullptr, ucs_offsetof(uct_ina_iface_config_t, super), UCS_CONFIG_TYPE_TABLE(uct_iface_config_table)},

    {"RELAY", "",
     "HOST:PORT of a relay (ina-softswitch) that all packets go through.\n"
     "Empty: packets go to the peer's address, through whatever switch is in the path.",
     ucs_offsetof(uct_ina_iface_config_t, relay), UCS_CONFIG_TYPE_STRING},

    {"RELAY_TIMEOUT", "1s", "Time after which opening an interface gives up on a relay that does not answer.",
     ucs_offsetof(uct_ina_iface_config_t, relay_timeout), UCS_CONFIG_TYPE_TIME},

    {"IP_VERSION", "auto",
     "4 or 6: the family of addresses. auto: that of the relay; without one IPv4 where the device has it. Peers of the other family cannot be reached.",
     ucs_offsetof(uct_ina_iface_config_t, ip_version), UCS_CONFIG_TYPE_ENUM(ip_version_names)},

    {"MTU", "auto",
     "Largest payload of a packet: a multiple of 8 from 256 to 8960. The smaller one of both peers counts.\n"
     "auto: what the MTU of the device leaves.",
     ucs_offsetof(uct_ina_iface_config_t, mtu), UCS_CONFIG_TYPE_MEMUNITS},

    {"SEG_SIZE", "8kb", "Longest active message, and longest PUT that is copied.", ucs_offsetof(uct_ina_iface_config_t, seg_size),
     UCS_CONFIG_TYPE_MEMUNITS},

    {"WINDOW", "256", "Packets that an endpoint sends before the first of them is acknowledged: 16 to 4096.",
     ucs_offsetof(uct_ina_iface_config_t, window), UCS_CONFIG_TYPE_UINT},

    {"RETRY_COUNT", "64",
     "Time-outs in a row, without any acknowledgement in between, after which an endpoint fails.\n"
     "inf: never, which in-network aggregation needs: a contribution is acknowledged when the slowest member has made its own.",
     ucs_offsetof(uct_ina_iface_config_t, retry_count), UCS_CONFIG_TYPE_ULUNITS},

    {"RTO_MIN", "1ms", "Shortest time after which a packet that is not acknowledged is sent again.", ucs_offsetof(uct_ina_iface_config_t, rto_min),
     UCS_CONFIG_TYPE_TIME},

    {"RTO_MAX", "100ms", "Longest time after which a packet that is not acknowledged is sent again.", ucs_offsetof(uct_ina_iface_config_t, rto_max),
     UCS_CONFIG_TYPE_TIME},

    {"ACK_DELAY", "30us",
     "Time that an acknowledgement may wait, so that one serves several packets. The peer's RTO_MIN must be longer.\n"
     "More than 30us: also where the caller waits on the event descriptor, up to the next TICK.",
     ucs_offsetof(uct_ina_iface_config_t, ack_delay), UCS_CONFIG_TYPE_TIME},

    {"TICK", "4ms",
     "Period of the timer that acknowledges and retransmits while the application does not progress.\n"
     "0: no timer.",
     ucs_offsetof(uct_ina_iface_config_t, tick), UCS_CONFIG_TYPE_TIME},

    {"SOCKET_BUFFER", "4mb", "Wanted size of the socket's buffers; without privileges the system's limits hold. 0: the system's default.",
     ucs_offsetof(uct_ina_iface_config_t, socket_buffer), UCS_CONFIG_TYPE_MEMUNITS},

    {"ECN", "y",
     "Let queues on the way mark packets instead of dropping them: a receiver tells the sender of marks, which slows down.\n"
     "Packets are marked only by switches that are configured to.",
     ucs_offsetof(uct_ina_iface_config_t, ecn), UCS_CONFIG_TYPE_BOOL},

    {"PORT", "auto",
     "UDP port. auto: 4791, RoCE's, shared with other processes of the same user on this address; where that cannot be had, and with a relay, any.\n"
     "any: one that the system chooses. A number: that port or an error; shared in the same way unless there is a relay.",
     ucs_offsetof(uct_ina_iface_config_t, port), UCS_CONFIG_TYPE_STRING},
    {"IO", "udp",
     "How packets go out and come in: udp, a socket of the kernel's; xdp, AF_XDP, which needs privileges, and a device that no other program has its\n"
     "XDP hook on. auto: AF_XDP where it can be had, else the socket.",
     ucs_offsetof(uct_ina_iface_config_t, io), UCS_CONFIG_TYPE_ENUM(io_names)},

    {"GSO", "auto",
     "Give the kernel runs of packets as one large datagram, which it cuts behind its UDP and IP.\n"
     "auto: on the loopback, and where the device leaves the cutting to the kernel (ethtool: tx-udp-segmentation is off). y: everywhere. n: never.",
     ucs_offsetof(uct_ina_iface_config_t, gso), UCS_CONFIG_TYPE_ENUM(gso_names)},

    {"CONNECT_TIMEOUT", "30s", "Time after which connecting to an interface that does not answer is given up.",
     ucs_offsetof(uct_ina_iface_config_t, connect_timeout), UCS_CONFIG_TYPE_TIME},

    {"KEEPALIVE", "auto",
     "Time without any packet after which an endpoint asks its peer for a sign of life.\n"
     "auto: 10 s for endpoints that were connected to an interface, never for those connected to an endpoint. 0 or inf: never.",
     ucs_offsetof(uct_ina_iface_config_t, keepalive), UCS_CONFIG_TYPE_TIME_UNITS},

    {},
};

ucs_status_t query_devices(uct_md_h, uct_tl_device_resource_t** devices_p, unsigned* count_p) {
  return guarded([&] {
    const auto netdevs = ina::net::list_netdevs();
    auto* const devices = static_cast<uct_tl_device_resource_t*>(std::calloc(netdevs.size() + 1, sizeof(uct_tl_device_resource_t)));
    if (devices == nullptr) return UCS_ERR_NO_MEMORY;
    unsigned count = 0;
    for (const auto& netdev : netdevs) {
      if (netdev.name.size() >= UCT_DEVICE_NAME_MAX) continue;
      uct_tl_device_resource_t& device = devices[count++];
      netdev.name.copy(device.name, UCT_DEVICE_NAME_MAX - 1);
      device.type = UCT_DEVICE_TYPE_NET;
      device.sys_device = UCS_SYS_DEVICE_ID_UNKNOWN;
    }
    *devices_p = devices;
    *count_p = count;
    return UCS_OK;
  });
}

// What this transport costs a host: half a round trip of 8 bytes through the loopback, what one processor moves of long messages, and
// what posting and completing a message takes.
constexpr double kHostLatency = 4e-6;
constexpr double kHostBandwidth = 1e9;
constexpr double kHostOverhead = 2e-6;
constexpr double kUsualSpeed = 10e9;  // bits per second, of a device that does not tell
constexpr double kSmallFrame = 128;   // bytes

void fill_put_and_get(const Interface& impl, uct_iface_attr_t* attr) {
  const std::size_t segment = impl.segment_bytes();
  attr->cap.put.max_short = segment;
  attr->cap.put.max_bcopy = segment;
  attr->cap.put.max_zcopy = ina::engine::kMaxMessageBytes;
  attr->cap.put.opt_zcopy_align = 1;
  attr->cap.put.align_mtu = impl.engine().mtu();  // the largest PUT that is one packet
  attr->cap.put.max_iov = ina::engine::kMaxPieces;
  attr->cap.get.max_bcopy = segment - ina::uct::kGetHeaderBytes;
  attr->cap.get.max_zcopy = ina::engine::kMaxMessageBytes;
  attr->cap.get.opt_zcopy_align = 1;
  attr->cap.get.align_mtu = impl.engine().mtu();
  attr->cap.get.max_iov = ina::engine::kMaxPieces;
}

// What InfiniBand has. The peer's processor executes them, by its own atomic instructions.
void fill_atomics(uct_iface_attr_t* attr) {
  attr->cap.flags |= UCT_IFACE_FLAG_ATOMIC_CPU;
  attr->cap.atomic64.op_flags = UCS_BIT(UCT_ATOMIC_OP_ADD);
  attr->cap.atomic64.fop_flags = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_CSWAP);
}

void fill_am(const Interface& impl, uct_iface_attr_t* attr) {
  const std::size_t longest = impl.segment_bytes() - ina::uct::kAmHeaderBytes;
  attr->cap.am.max_short = longest;
  attr->cap.am.max_bcopy = longest;
  attr->cap.am.max_zcopy = longest;  // with the header
  attr->cap.am.max_hdr = longest;
  attr->cap.am.opt_zcopy_align = 1;
  attr->cap.am.align_mtu = impl.engine().mtu();
  attr->cap.am.max_iov = ina::uct::kAmMaxIov;
}

ucs_status_t iface_query(uct_iface_h tl_iface, uct_iface_attr_t* attr) {
  uct_ina_iface_t* const iface = iface_of(tl_iface);
  const Interface& impl = *iface->impl;
  uct_base_iface_query(&iface->super, attr);
  attr->ep_addr_len = ina::uct::kEpAddressBytes;
  attr->iface_addr_len = ina::uct::kIfaceAddressBytes;
  attr->device_addr_len = ina::uct::kDeviceAddressBytes;
  attr->cap.flags = uct_ina_compat_iface_flags() | UCT_IFACE_FLAG_CONNECT_TO_EP | UCT_IFACE_FLAG_CONNECT_TO_IFACE | UCT_IFACE_FLAG_EP_CHECK | UCT_IFACE_FLAG_PUT_SHORT |
                    UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY |
                    UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CB_SYNC | UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE;
  if (impl.has_keepalive()) attr->cap.flags |= UCT_IFACE_FLAG_EP_KEEPALIVE;
  attr->cap.event_flags = UCT_IFACE_FLAG_EVENT_FD | UCT_IFACE_FLAG_EVENT_RECV | UCT_IFACE_FLAG_EVENT_SEND_COMP;
  fill_put_and_get(impl, attr);
  fill_am(impl, attr);
  fill_atomics(attr);
  const double speed = ina::net::netdev_speed(impl.device()).value_or(kUsualSpeed) / 8;
  attr->latency = ucs_linear_func_make(kHostLatency + kSmallFrame / speed, 0);
  attr->bandwidth.dedicated = 0;
  attr->bandwidth.shared = std::min(speed, kHostBandwidth);
  attr->overhead = kHostOverhead;
  attr->priority = 0;
  return UCS_OK;
}

ucs_status_t iface_get_device_address(uct_iface_h tl_iface, uct_device_addr_t* address) {
  const AsyncBlock block(iface_of(tl_iface));
  iface_of(tl_iface)->impl->pack_address(reinterpret_cast<std::byte*>(address));
  return UCS_OK;
}

int iface_is_reachable(const uct_iface_h tl_iface, const uct_device_addr_t* address, const uct_iface_addr_t*) {
  ina::uct::PeerAddress peer;
  const AsyncBlock block(iface_of(tl_iface));
  return Interface::unpack_address(reinterpret_cast<const std::byte*>(address), peer) && iface_of(tl_iface)->impl->is_reachable(peer);
}

unsigned iface_progress(uct_iface_h tl_iface) {
  uct_ina_iface_t* const iface = iface_of(tl_iface);
  const AsyncBlock block(iface);
  return iface->impl->progress();
}

ucs_status_t iface_event_fd_get(uct_iface_h tl_iface, int* descriptor_p) {
  const AsyncBlock block(iface_of(tl_iface));
  return guarded([&] {
    *descriptor_p = iface_of(tl_iface)->impl->event_descriptor();
    return UCS_OK;
  });
}

ucs_status_t iface_event_arm(uct_iface_h tl_iface, unsigned) {
  uct_ina_iface_t* const iface = iface_of(tl_iface);
  const AsyncBlock block(iface);
  return iface->impl->arm() ? UCS_OK : UCS_ERR_BUSY;
}

uct_iface_ops_t make_iface_ops();

}  // namespace

static UCS_CLASS_INIT_FUNC(uct_ina_iface_t, uct_md_h md, uct_worker_h worker, const uct_iface_params_t* params, const uct_iface_config_t* tl_config) {
  static uct_iface_ops_t ops = make_iface_ops();
  self->impl = nullptr;
  UCS_CLASS_CALL_SUPER_INIT(uct_base_iface_t, &ops, uct_ina_compat_internal_ops(), md, worker, params, tl_config);
  if ((params->field_mask & UCT_IFACE_PARAM_FIELD_OPEN_MODE) == 0 || (params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE) == 0) {
    ucs_error("ina: an interface is opened on a device only");
    return UCS_ERR_UNSUPPORTED;
  }
  return guarded([&] {
    const auto& config = *reinterpret_cast<const uct_ina_iface_config_t*>(tl_config);
    if (!(config.tick >= 0 && config.tick <= 10)) throw ina::engine::Error(ina::engine::Failure::kInvalid, "UCX_INA_TICK is not from 0 to 10 s");
    auto impl = std::make_unique<Interface>(self, params->mode.device.dev_name, config);
    impl->start_timer(ucs_time_from_sec(config.tick));
    self->impl = impl.release();
    return UCS_OK;
  }, self->super.config.failure_level);
}

static UCS_CLASS_CLEANUP_FUNC(uct_ina_iface_t) {
  uct_base_iface_progress_disable(&self->super.super, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  delete self->impl;
}

UCS_CLASS_DEFINE(uct_ina_iface_t, uct_base_iface_t);
static UCS_CLASS_DEFINE_NEW_FUNC(uct_ina_iface_t, uct_iface_t, uct_md_h, uct_worker_h, const uct_iface_params_t*, const uct_iface_config_t*);
static UCS_CLASS_DEFINE_DELETE_FUNC(uct_ina_iface_t, uct_iface_t);

namespace {

uct_iface_ops_t make_iface_ops() {
  uct_iface_ops_t ops{};
  uct_ina_ep_fill_ops(&ops);
  ops.iface_progress_enable = uct_base_iface_progress_enable;
  ops.iface_progress_disable = uct_base_iface_progress_disable;
  ops.iface_progress = iface_progress;
  ops.iface_event_fd_get = iface_event_fd_get;
  ops.iface_event_arm = iface_event_arm;
  ops.iface_close = UCS_CLASS_DELETE_FUNC_NAME(uct_ina_iface_t);
  ops.iface_query = iface_query;
  ops.iface_get_device_address = iface_get_device_address;
  ops.iface_is_reachable = iface_is_reachable;
  return ops;
}

}  // namespace

UCT_TL_DEFINE_ENTRY(&uct_ina_component, ina, query_devices, uct_ina_iface_t, "INA_", iface_config_table, uct_ina_iface_config_t);

namespace {

bool is_registered = false;

// When the library is loaded, before anybody asks UCX for its transports.
__attribute__((constructor)) void register_transport() {
  if (!uct_ina_compat_is_right_ucx()) return;
  uct_ina_compat_fill_component(&uct_ina_component);
  uct_component_register(&uct_ina_component);
  uct_tl_register(&uct_ina_component, &UCT_TL_NAME(ina));
  is_registered = true;
}

__attribute__((destructor)) void unregister_transport() {
  if (!is_registered) return;
  uct_tl_unregister(&UCT_TL_NAME(ina));
  uct_component_unregister(&uct_ina_component);
}

}  // namespace
