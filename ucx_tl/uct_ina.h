// uct_ina.h: the objects that UCX sees (memory domain, interface, endpoint), each with one pointer to the C++ side.
// Used by the uct_ina_* sources only.
// Holds no algorithm: translating arguments and results is all that these sources do.
#pragma once

#include "ucx_tl/uct_ina_compat.h"

#include <memory>
#include <string>
#include <vector>

#include "ucx_tl/engine/engine.hpp"
#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/memory_table.hpp"
#include "net/netdev.hpp"
#include "net/netdev_features.hpp"
#include "ucx_tl/engine/udp_socket.hpp"
#include "ucx_tl/engine/wakeup.hpp"
#include "ucx_tl/engine/xdp_io.hpp"
#include "ucx_tl/uct_ina_fork.h"

struct uct_ina_md_t {
  uct_md_t super;
  ina::engine::MemoryTable* memory;
};

struct uct_ina_md_config_t {
  uct_md_config_t super;
};

// The handle of registered memory. The rkey is what peers get.
struct uct_ina_memh_t {
  std::uint32_t rkey;
};

enum uct_ina_ip_version_t { UCT_INA_IP_AUTO, UCT_INA_IP_4, UCT_INA_IP_6 };

struct uct_ina_iface_config_t {
  uct_iface_config_t super;
  char* relay;
  double relay_timeout;
  uct_ina_ip_version_t ip_version;
  size_t mtu;
  size_t seg_size;
  unsigned window;
  unsigned long retry_count;
  double ack_delay;
  double rto_min;
  double rto_max;
  double tick;
  size_t socket_buffer;
  int ecn;
  char* port;
  double connect_timeout;
  ucs_time_t keepalive;
  int io;  // ina::uct::IoChoice
  int gso;  // ina::uct::GsoChoice
};

namespace ina::uct {
class Interface;
// UCX_INA_IO, in the order of its names.
enum IoChoice : int { kIoUdp, kIoXdp, kIoAuto };
// UCX_INA_GSO, likewise.
enum GsoChoice : int { kGsoAuto, kGsoYes, kGsoNo };
}

struct uct_ina_iface_t {
  uct_base_iface_t super;
  ina::uct::Interface* impl;
};

struct uct_ina_ep_t {
  uct_base_ep_t super;
  ina::engine::Qp* qp;
  ucs_queue_head_t pending;  // requests that wait for room
  ucs_list_link_t waiting;   // in the interface's list of endpoints with such requests; to itself: in none
  bool is_dispatching;       // one of them is being called: it may send past those behind it
  std::uint32_t fences;      // of the interface, as seen when the endpoint sent last
};

// Upcasts are address conversions: the base is the first member of each.
static_assert(offsetof(uct_ina_md_t, super) == 0 && offsetof(uct_ina_iface_t, super) == 0 && offsetof(uct_ina_ep_t, super) == 0);
static_assert(offsetof(uct_ina_iface_config_t, super) == 0);

extern uct_component_t uct_ina_component;
extern uct_tl_t uct_ina_tl;

// Endpoint operations (uct_ina_ep.cpp) and flush, for the interface's table.
void uct_ina_ep_fill_ops(uct_iface_ops_t* ops);

namespace ina::uct {

// UCX's active messages: the id and seven reserved bytes (zero) come before what UCX hands over, so that this stays aligned.
inline constexpr std::size_t kAmHeaderBytes = 8;
inline constexpr std::size_t kAmMaxIov = engine::kMaxPieces - 1;  // the header is a piece of its own
inline constexpr std::size_t kMaxSegmentBytes = 1u << 20;
// What a copied GET keeps in front of the data in its buffer.
inline constexpr std::size_t kGetHeaderBytes = 64;
// Endpoint address: QPN and first PSN (24 bits each) and MTU (16 bits), big endian.
inline constexpr std::size_t kEpAddressBytes = 8;
// Interface address: service QPN (24 bits) and instance (40 bits), big endian.
inline constexpr std::size_t kIfaceAddressBytes = 8;
// Device address: see uct_ina_address.cpp.
inline constexpr std::size_t kDeviceAddressBytes = 31;
// UCP packs these lengths into 5 bits.
static_assert(kDeviceAddressBytes < 32 && kIfaceAddressBytes < 32 && kEpAddressBytes < 32);

ucs_status_t to_status(engine::QpError error) noexcept;
ucs_status_t to_status(engine::Failure failure) noexcept;

// The only place where exceptions end. failure_level: how loudly to say that a relay does not want us or is not there.
template <typename Function>
ucs_status_t guarded(const Function& function, ucs_log_level_t failure_level = UCS_LOG_LEVEL_ERROR) noexcept {
  try {
    return function();
  } catch (const engine::Error& error) {
    const bool is_elsewhere = error.failure() == engine::Failure::kUnreachable || error.failure() == engine::Failure::kRefused;
    ucs_log(is_elsewhere ? failure_level : UCS_LOG_LEVEL_ERROR, "ina: %s", error.what());
    return to_status(error.failure());
  } catch (const std::bad_alloc&) {
    ucs_error("ina: out of memory");
    return UCS_ERR_NO_MEMORY;
  } catch (const std::exception& error) {
    ucs_error("ina: internal error: %s", error.what());
    return UCS_ERR_SOME_CONNECTS_FAILED;
  }
}

// Keeps the asynchronous timer (and other threads that progress) out while it lives. In a child that has inherited the interface nobody
// runs whom it could keep out, and who held the lock at fork() does not give it back.
class AsyncBlock {
 public:
  explicit AsyncBlock(const uct_ina_iface_t* iface) noexcept;
  ~AsyncBlock() {
    if (async_ != nullptr) UCS_ASYNC_UNBLOCK(async_);
  }
  AsyncBlock(const AsyncBlock&) = delete;
  AsyncBlock& operator=(const AsyncBlock&) = delete;

 private:
  ucs_async_context_t* async_;
};

struct PeerAddress {
  wire::UdpAddress udp;
  bool is_behind_relay = false;
  std::uint64_t instance = 0;         // of the relay, or of the host whose loopback it is
  std::uint32_t segment_bytes = 0;    // its longest active message
};

// The C++ side of an interface.
class Interface final : public engine::EventSink {
 public:
  Interface(uct_ina_iface_t*, const std::string& device, const uct_ina_iface_config_t&);
  ~Interface() override;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  [[nodiscard]] engine::Engine& engine() noexcept {
    if (is_inherited()) [[unlikely]] engine_->mute();
    return *engine_;
  }
  [[nodiscard]] const engine::Engine& engine() const noexcept { return *engine_; }
  [[nodiscard]] const std::string& device() const noexcept { return device_; }
  [[nodiscard]] std::size_t segment_bytes() const noexcept { return engine_->options().segment_bytes; }
  void pack_address(std::byte* to) const noexcept;
  [[nodiscard]] static bool unpack_address(const std::byte* from, PeerAddress& to) noexcept;
  [[nodiscard]] bool is_reachable(const PeerAddress&) const noexcept;
  // Endpoints that were connected by uct_ep_connect_to_ep() notice by themselves that their peer is gone.
  [[nodiscard]] bool has_keepalive() const noexcept { return engine_->options().keepalive_endpoints != 0; }

  // This process is a child of the one that opened the interface: nothing is sent or received, and no callback is called.
  [[nodiscard]] bool is_inherited() const noexcept { return fork_generation() != fork_generation_; }

  unsigned progress() noexcept;
  // For users that sleep. Throws Error.
  [[nodiscard]] int event_descriptor();
  // True: the event descriptor will become readable as soon as there is something to do. False: there is already.
  [[nodiscard]] bool arm() noexcept;
  void start_timer(ucs_time_t interval);
  void stop_timer() noexcept;

  void add_ep(uct_ina_ep_t* ep) { eps_.push_back(ep); }
  void remove_ep(uct_ina_ep_t* ep) noexcept;
  [[nodiscard]] const std::vector<uct_ina_ep_t*>& eps() const noexcept { return eps_; }
  // comp is called once all that was posted on the endpoint so far is done. is_cancelling: whatever becomes of it.
  void add_flush(uct_ina_ep_t* ep, uct_completion_t* comp, bool is_cancelling);
  void reserve_flushes(std::size_t more) { flushes_.reserve(flushes_.size() + more); }
  // Whether the endpoint can take any operation now, or has failed and can take none any more.
  [[nodiscard]] bool has_room(const uct_ina_ep_t*) const noexcept;
  void add_waiting(uct_ina_ep_t* ep) noexcept;
  // Counts fences of the interface; an endpoint that has seen fewer sends its next message with a fence.
  [[nodiscard]] std::uint32_t fences() const noexcept { return fences_; }
  void add_fence() noexcept { ++fences_; }

  void on_completed(void* token, engine::QpError) noexcept override;
  void on_received(std::span<std::byte> message) noexcept override;
  void on_failed(engine::Qp&, engine::QpError) noexcept override;

 private:
  struct Flush {
    uct_ina_ep_t* ep;
    std::uint64_t until;
    uct_completion_t* comp;
    bool is_cancelling;
    [[nodiscard]] bool is_due() const noexcept { return !ep->qp->is_connecting() && ep->qp->requester.reported() >= until; }
  };
  static void on_timer(int id, ucs_event_set_types_t events, void* self) noexcept;
  void log_counters() const noexcept;
  void choose_io(IoChoice);
  unsigned complete_flushes() noexcept;
  unsigned dispatch_pending() noexcept;
  enum class Turn : std::uint8_t { kMore, kStuck, kGone };  // the endpoint may send more, cannot now, was destroyed
  [[nodiscard]] Turn dispatch_one(uct_ina_ep_t* ep) noexcept;
  [[nodiscard]] bool can_dispatch() noexcept;

  uct_ina_iface_t* owner_;
  unsigned fork_generation_;
  std::string device_;
  bool is_loopback_ = false;
  engine::SteadyClock clock_;
  std::unique_ptr<engine::UdpSocket> socket_;
  std::unique_ptr<engine::XdpIo> xdp_;
  engine::PacketIo* io_ = nullptr;  // one of them
  std::unique_ptr<engine::Engine> engine_;
  std::vector<uct_ina_ep_t*> eps_;
  std::vector<Flush> flushes_;
  std::uint32_t fences_ = 0;
  ucs_list_link_t waiting_;                  // endpoints with pending requests, in the order of their turns
  uct_ina_ep_t* dispatching_ = nullptr;      // whose request is being called; nullptr again if it is destroyed meanwhile
  bool is_dispatching_ = false;
  std::unique_ptr<engine::Wakeup> wakeup_;   // once somebody wants it
  int timer_id_ = -1;
  std::uint64_t progress_calls_at_tick_ = 0;
};

inline AsyncBlock::AsyncBlock(const uct_ina_iface_t* iface) noexcept
    : async_(iface->impl != nullptr && iface->impl->is_inherited() ? nullptr : iface->super.worker->async) {
  if (async_ != nullptr) UCS_ASYNC_BLOCK(async_);
}

// Totals over all interfaces of the process, open and closed.
void register_counters(const engine::Counters*);
void unregister_counters(const engine::Counters*) noexcept;

}  // namespace ina::uct
