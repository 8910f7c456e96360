// engine.hpp: RoCEv2 reliable connections over one PacketIo: all QPs of one interface, their packets and their time.
// Used by the UCT glue, one engine an interface. Whoever calls holds the engine alone; tick() may come from another thread then.
// Never calls back but from report(); never blocks; allocates nothing on the packet path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ucx_tl/engine/buffer_pool.hpp"
#include "ucx_tl/engine/clock.hpp"
#include "ucx_tl/engine/connector.hpp"
#include "ucx_tl/engine/counters.hpp"
#include "ucx_tl/engine/memory_table.hpp"
#include "ucx_tl/engine/packet_batch.hpp"
#include "ucx_tl/engine/packet_io.hpp"
#include "ucx_tl/engine/poll_pace.hpp"
#include "ucx_tl/engine/qp.hpp"
#include "ucx_tl/engine/qp_table.hpp"
#include "ucx_tl/engine/relay_client.hpp"

namespace ina::engine {

struct EngineOptions {
  wire::UdpAddress local;                 // as peers (or the relay) see us
  std::optional<wire::UdpAddress> relay;  // everything goes there and comes from there
  std::uint32_t mtu = 1024;               // largest payload of a packet, a multiple of 8
  std::uint32_t segment_bytes = 8192;     // longest message by SEND, and longest copied one
  std::uint32_t send_buffers = 256;
  std::uint32_t receive_buffers = 128;
  RequesterOptions requester;
  // An acknowledgement may wait so long for more to acknowledge. If that is longer than kShortDelay, it is not sent early for a caller that waits.
  Nanoseconds acknowledge_delay = kShortDelay;
  static constexpr Nanoseconds kShortDelay = 30 * kMicrosecond;
  bool ecn = false;                       // report congestion marks to peers (CNP), and slow down where peers report some
  Nanoseconds connect_timeout = 30 * kSecond;  // of a connection in band
  Nanoseconds keepalive = 0;                   // of connections in band, see Qp; 0: never
  Nanoseconds keepalive_endpoints = 0;         // of those made by connect()
  std::optional<std::uint8_t> qpn_top_byte;  // of all QP numbers: the port is shared
  std::uint64_t seed = 0;                 // of QP numbers and PSNs: random in production
};

// What happened, told from report().
class EventSink {
 public:
  virtual ~EventSink() = default;
  // error: kNone if the peer has acknowledged.
  virtual void on_completed(void* token, QpError error) noexcept = 0;
  virtual void on_received(std::span<std::byte> message) noexcept = 0;
  virtual void on_failed(Qp&, QpError) noexcept = 0;
};

enum class PostStatus : std::uint8_t { kPosted, kNoResource, kFailed };

class Engine {
 public:
  Engine(const EngineOptions&, PacketIo&, Clock&, MemoryTable&);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // With a relay: registers, waiting on the PacketIo's descriptor. Throws Error.
  void open_relay(Nanoseconds give_up_after);

  // From now on nothing is sent or received: the PacketIo is another process's.
  void mute() noexcept;

  // nullptr: no number is left.
  [[nodiscard]] Qp* create_qp();
  [[nodiscard]] QpAddress address(const Qp&) const noexcept;
  // False: the address makes no sense. The smaller MTU counts.
  [[nodiscard]] bool connect(Qp&, const wire::UdpAddress& peer, const QpAddress&) noexcept;
  // In band: the QP connects to one that the peer's interface makes, which only receives. It can be posted to once is_connecting() is false.
  // False: the address makes no sense.
  [[nodiscard]] bool connect_to_service(Qp&, const wire::UdpAddress& peer, const ServiceAddress&);
  [[nodiscard]] ServiceAddress service_address() const noexcept { return {.qpn = qps_.service_qpn(), .instance = instance_}; }
  // Posts an empty message that completes when the peer acknowledges it.
  [[nodiscard]] PostStatus probe(Qp&, void* token) noexcept;
  // Gives up what is posted and tells the sink of it, now.
  void cancel_qp(Qp&, EventSink&) noexcept;
  // Nothing is reported for it after this; what it owes its peer is sent first.
  void destroy_qp(Qp*) noexcept;

  [[nodiscard]] bool can_post(const Qp&, std::uint32_t length) const noexcept;
  [[nodiscard]] PostStatus post(Qp&, const Message&) noexcept;
  // Memory for a message of up to segment_bytes; nullptr: not now. Given back by the engine once posted.
  [[nodiscard]] std::byte* take_send_buffer() noexcept { return send_buffers_.take(); }
  void give_back_send_buffer(std::byte* buffer) noexcept { send_buffers_.give_back(buffer); }
  [[nodiscard]] bool has_send_buffer() const noexcept { return !send_buffers_.is_empty(); }
  void fail_qp(Qp&, QpError) noexcept;

  // The two halves of a progress call. Returns the number of packets received, or of events.
  unsigned progress() noexcept;
  unsigned report(EventSink&) noexcept;
  // From a timer, when progress() was not called for a while. may_allocate: not in a signal handler. True: packets arrived, or there are events.
  bool tick(bool may_allocate = true) noexcept;
  // Before the caller waits on descriptor(): sends all that is due or delayed. False: packets arrived meanwhile, there are events, or packets that cannot go.
  [[nodiscard]] bool prepare_to_wait() noexcept;

  [[nodiscard]] std::uint32_t mtu() const noexcept { return options_.mtu; }
  [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const RelayClient* relay() const noexcept { return relay_ ? &relay_->client : nullptr; }
  [[nodiscard]] std::uint64_t progress_calls() const noexcept { return progress_calls_; }
  [[nodiscard]] std::size_t qp_count() const noexcept { return live_.size(); }  // passive ones of connections in band included
  [[nodiscard]] std::size_t max_qps() const noexcept { return qps_.capacity(); }
  [[nodiscard]] bool has_events() const noexcept;
  void count_bad_message() noexcept { counters_.bad_messages.add(); }

 private:
  struct Relay {
    Relay(const wire::UdpAddress& local, const wire::UdpAddress& remote, std::uint64_t nonce) noexcept
        : destination(remote), outgoing(local, remote), incoming(remote, local), client(nonce) {}
    Destination destination;
    wire::IcrcFlow outgoing;
    wire::IcrcFlow incoming;
    RelayClient client;
  };

  [[nodiscard]] std::uint64_t random() noexcept;
  [[nodiscard]] std::uint32_t draw_qpn_base() noexcept;
  [[nodiscard]] Qp* find(std::uint32_t qpn) const noexcept;
  void list_for_sending(Qp&) noexcept;
  void note(Qp&) noexcept;  // something about the QP changed: sending, deadlines, events
  void transmit(Nanoseconds now) noexcept;
  bool fill_from(Qp&, Nanoseconds now) noexcept;
  void check_timers(Nanoseconds now) noexcept;
  [[nodiscard]] Qp* first_overdue(Nanoseconds now) noexcept;
  void on_timer(Qp&, Nanoseconds now) noexcept;
  void wake_responders(Nanoseconds now) noexcept;
  void list_again_what_was_given_back(Nanoseconds now) noexcept;
  void send_relay_message(Nanoseconds now) noexcept;
  unsigned receive(Nanoseconds now) noexcept;
  void on_packet(const IncomingPacket&, Nanoseconds now) noexcept;
  [[nodiscard]] bool is_genuine(const wire::IcrcFlow& flow, const IncomingPacket& packet) noexcept { return flow.is_valid(packet.bytes, packet.identification, identifications_); }
  void on_relay_packet(const IncomingPacket&, const wire::Packet&, Nanoseconds now) noexcept;
  void wake_paced(Nanoseconds now) noexcept;
  void on_congestion_notification(Qp&, const wire::Packet&, Nanoseconds now) noexcept;
  void on_congestion_mark(Qp&, wire::Opcode, Nanoseconds now) noexcept;
  bool add_response(Qp&) noexcept;
  bool send_batch() noexcept;
  [[nodiscard]] Nanoseconds next_look_at_idle(Qp&, Nanoseconds now) noexcept;
  void flush_responses(Nanoseconds now) noexcept;
  void on_qp_failed(Qp&) noexcept;
  // Connections in band (engine_connect.cpp).
  void on_connect_packet(const IncomingPacket&, const wire::Packet&) noexcept;
  void apply(const Connector::Event&) noexcept;
  void serve_connections(Nanoseconds now, bool may_allocate) noexcept {  // called all the time, and mostly for nothing
    const bool is_quiet = now < connector_.deadline() && now < next_probe_ && !connector_.has_work() && connector_.outgoing().empty();
    if (!is_quiet) [[unlikely]] serve(now, may_allocate);
  }
  void serve(Nanoseconds now, bool may_allocate) noexcept;
  void answer(const Connector::Request&, Nanoseconds now) noexcept;
  void watch(Qp&, Nanoseconds keepalive) noexcept;
  void send_connect_messages() noexcept;
  void probe_idle(Nanoseconds now) noexcept;

  EngineOptions options_;
  std::reference_wrapper<PacketIo> io_;
  Clock& clock_;
  MemoryTable& memory_;
  Counters counters_;
  std::uint64_t random_state_;
  std::optional<Relay> relay_;
  BufferPool send_buffers_;
  ReceiveResources receive_resources_;
  PacketBatch batch_;
  wire::IdentificationEffects identifications_;  // of what comes in
  PollPace pace_;

  QpTable qps_;
  std::vector<Qp*> live_;
  // Those that need something, perhaps: so that a call costs what is active, not what is there. Capacity as live_.
  std::vector<Qp*> sending_;
  std::vector<Qp*> responding_;            // owe the peer a response, now or later
  std::vector<Qp*> eventful_;              // have something to report
  std::vector<Qp*> paced_;                 // send again at a time of their own
  DeadlineHeap<Qp> timers_;
  Nanoseconds next_response_ = kNever;     // none of the responses is due earlier
  Nanoseconds next_paced_ = kNever;        // none of those that are paced sends earlier
  std::uint64_t in_flight_ = 0;            // packets, over all QPs
  std::uint64_t progress_calls_ = 0;
  bool holds_memory_ = false;              // the table, while the batch has payload of registered memory
  bool may_free_ = true;
  Nanoseconds lossy_until_ = 0;            // answers are looked for all the time: what they ask for is waited for
  std::uint32_t posted_packets_ = 0;       // since packets were sent last
  std::vector<ReceivedMessage> delivering_;

  Connector connector_;
  std::uint64_t instance_ = 0;             // of this interface, see ServiceAddress
  std::uint64_t nonce_key_ = 0;            // never on the wire: nonces cannot be told from other random numbers that are
  Nanoseconds next_probe_ = kNever;
};

}  // namespace ina::engine
