// connector.hpp: connections in band (PROTOCOL.md 7): the handshake, the farewell, and what is answered to whom.
// Used by Engine, which sends the messages, creates and destroys the QPs and sees to it that on_message() is told valid packets only.
// Does not own QPs, send anything, or look at RC packets.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ucx_tl/engine/clock.hpp"
#include "ucx_tl/engine/half_open.hpp"
#include "ucx_tl/engine/qp.hpp"
#include "wire/address.hpp"
#include "wire/connect_message.hpp"

namespace ina::engine {

// Where an interface takes messages: the QPN that no QP of it has, and a random number that a later interface will not have.
struct ServiceAddress {
  static constexpr std::uint64_t kInstanceMask = (std::uint64_t{1} << 40) - 1;
  std::uint32_t qpn = 0;
  std::uint64_t instance = 0;
  bool operator==(const ServiceAddress&) const = default;
};

// One connection in band, of either side.
struct Link {
  enum class Phase : std::uint8_t {
    kConnecting,  // active only: the connect message is repeated
    kConnected,
    kClosing,     // active only: the QP is gone, the close message is repeated for a while
    kDead,        // refused or reset; passive: to be destroyed
  };
  std::uint64_t nonce = 0;
  bool is_active = false;
  Phase phase = Phase::kConnected;
  wire::UdpAddress peer;           // where its messages come from: its own address, or the relay
  std::uint32_t peer_service = 0;  // QPN
  std::uint64_t instance = 0;      // active: of the peer's interface
  QpAddress own;
  std::uint32_t peer_qpn = 0;      // 0: not known yet
  Qp* qp = nullptr;                // nullptr: closing
  Nanoseconds next = kNever;       // message
  Nanoseconds interval = 0;
  Nanoseconds give_up = kNever;
  Nanoseconds begun = 0;           // passive: nothing was heard of the QP's peer since, while its last_heard is that
};

class Connector {
 public:
  // What does not fit into these until it is taken is dropped: its sender repeats it.
  static constexpr std::size_t kMostRequests = 64;
  static constexpr std::size_t kMostMessages = 64;

  // most_half_open: passive connections of one host that were never used.
  Connector(Nanoseconds give_up_after, std::uint32_t most_half_open);

  // Begins to connect the QP. Throws std::bad_alloc.
  void begin(Qp&, const QpAddress& own, const wire::UdpAddress& peer, const ServiceAddress&, std::uint64_t nonce, Nanoseconds now);

  struct Event {
    enum class Kind : std::uint8_t { kNone, kConnected, kRefused, kReset, kTimedOut };
    Kind kind = Kind::kNone;
    Qp* qp = nullptr;
    wire::UdpAddress peer;
    QpAddress address;  // connected: the peer's
    wire::ConnectRefusal reason = wire::ConnectRefusal::kNone;  // refused
  };
  // A message that came from there; own_instance: of this interface.
  Event on_message(const wire::UdpAddress& from, std::uint32_t source_qpn, const wire::ConnectMessage&, std::uint64_t own_instance) noexcept;
  // A connect message of another version.
  void on_other_version(const wire::UdpAddress& from, std::uint32_t source_qpn, std::uint64_t nonce) noexcept;

  // A peer that wants a QP: to be answered by accept() or refuse().
  struct Request {
    wire::UdpAddress from;
    std::uint32_t service = 0;
    std::uint64_t nonce = 0;
    QpAddress address;
  };
  [[nodiscard]] std::optional<Request> take_request() noexcept;
  // False: its host has begun too many connections and used none of them; it is left unanswered. Throws std::bad_alloc.
  [[nodiscard]] bool has_room_for(const Request&, Nanoseconds now);
  void accept(const Request&, Qp&, const QpAddress& own);  // throws std::bad_alloc
  void refuse(const Request&, wire::ConnectRefusal) noexcept;

  // A passive QP that is not needed any more; release() is called for it.
  [[nodiscard]] Qp* take_dead() noexcept;
  // The QP has failed.
  void on_failed(Qp&) noexcept;
  // The QP is about to be destroyed. The peer is told.
  void release(Qp&, Nanoseconds now) noexcept;
  // The connection gets no answer: asks the peer's interface whether it still knows it.
  void doubt(const Qp&) noexcept;
  // The interface closes: one message to every peer.
  void say_goodbye() noexcept;

  // What the time brings: an event at a time until kNone. If the deadline has still passed then, outgoing() was full.
  [[nodiscard]] Event take_due(Nanoseconds now) noexcept;
  [[nodiscard]] Nanoseconds deadline() const noexcept { return deadline_; }
  // Something waits for take_request(), take_dead() or collect().
  [[nodiscard]] bool has_work() const noexcept { return !requests_.empty() || !dead_.empty() || !forgotten_.empty(); }
  // Frees what is forgotten. Nothing else here frees memory, so that everything else may run in a signal handler, but begin() and accept().
  void collect() noexcept;

  struct Outgoing {
    wire::UdpAddress to;
    std::uint32_t to_qpn;
    wire::ConnectMessage message;
  };
  [[nodiscard]] const std::vector<Outgoing>& outgoing() const noexcept { return outgoing_; }
  void clear_outgoing() noexcept { outgoing_.clear(); }

 private:
  using Links = std::unordered_map<std::uint64_t, Link>;  // by nonce
  [[nodiscard]] static Link* find(Links&, std::uint64_t nonce, const wire::UdpAddress& peer) noexcept;
  void send(const wire::UdpAddress& to, std::uint32_t to_qpn, const wire::ConnectMessage&) noexcept;
  void send_to_peer(const Link&, wire::ConnectKind) noexcept;
  void on_connect(const wire::UdpAddress& from, std::uint32_t source_qpn, const wire::ConnectMessage&, std::uint64_t own_instance) noexcept;
  Event on_accept(const wire::UdpAddress& from, std::uint32_t source_qpn, const wire::ConnectMessage&) noexcept;
  Event on_reject(const wire::UdpAddress& from, const wire::ConnectMessage&) noexcept;
  void on_close(const wire::UdpAddress& from, std::uint32_t source_qpn, const wire::ConnectMessage&) noexcept;
  void on_inquire(const wire::UdpAddress& from, std::uint32_t source_qpn, const wire::ConnectMessage&) noexcept;
  Event on_reset(const wire::UdpAddress& from, const wire::ConnectMessage&) noexcept;
  void bury(Link&) noexcept;
  void wait(Link&) noexcept;  // its `next` has changed
  void forget(Link*) noexcept;

  Nanoseconds give_up_after_;
  Links active_;
  Links passive_;
  std::vector<Link*> waiting_;  // those with a message to repeat; capacity for all that are active
  std::vector<Qp*> dead_;       // capacity for all that are passive
  std::vector<Link*> forgotten_;  // dead, without a QP; capacity for all
  std::vector<Request> requests_;
  HalfOpen half_open_;
  std::vector<Outgoing> outgoing_;
  Nanoseconds deadline_ = kNever;
};

}  // namespace ina::engine
