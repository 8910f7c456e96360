// qp.hpp: one reliable connection: a requester, a responder, and where the peer is.
// Created and driven by Engine; the UCT glue holds a pointer per endpoint.
// Does not send: Engine asks it for packets when a batch is made.
#pragma once

#include <cstdint>
#include <optional>

#include "ucx_tl/engine/congestion.hpp"
#include "ucx_tl/engine/deadline_heap.hpp"
#include "ucx_tl/engine/packet_io.hpp"
#include "ucx_tl/engine/requester.hpp"
#include "ucx_tl/engine/responder.hpp"
#include "wire/connect_message.hpp"
#include "wire/icrc.hpp"

namespace ina::engine {

// What a peer must know to send to a QP; the UDP address comes with it.
struct QpAddress {
  std::uint32_t qpn = 0;
  std::uint32_t first_psn = 0;
  std::uint32_t mtu = 0;  // largest payload of a packet
  bool operator==(const QpAddress&) const = default;
};

struct Link;  // connector.hpp

class Qp {
 public:
  Qp(std::uint32_t number, std::uint32_t first_psn, const RequesterOptions& options, MemoryTable& memory, ReceiveResources& resources, Counters& counters)
      : requester(options, first_psn, counters), responder(memory, resources, counters), number_(number), first_psn_(first_psn) {}

  struct Peer {
    Peer(const wire::UdpAddress& local, const wire::UdpAddress& remote, std::uint32_t peer_qpn) noexcept
        : destination(remote), outgoing(local, remote), incoming(remote, local), qpn(peer_qpn) {}
    Destination destination;
    wire::IcrcFlow outgoing;
    wire::IcrcFlow incoming;
    std::uint32_t qpn;
  };

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t first_psn() const noexcept { return first_psn_; }
  [[nodiscard]] bool is_connected() const noexcept { return peer.has_value(); }
  // In band: the peer has not answered yet.
  [[nodiscard]] bool is_connecting() const noexcept { return link != nullptr && !is_connected() && !has_failed(); }
  [[nodiscard]] bool has_failed() const noexcept { return requester.error() != QpError::kNone; }
  [[nodiscard]] QpError error() const noexcept { return requester.error(); }
  [[nodiscard]] bool has_work(Nanoseconds now) const noexcept { return requester.can_send(now) || responder.response_deadline() <= now || congestion_reporter.is_due(); }
  [[nodiscard]] bool has_event() const noexcept { return requester.has_completed() || (has_failed() && !is_failure_reported); }

  void* user = nullptr;  // the layer above's
  std::optional<Peer> peer;
  Link* link = nullptr;       // connected in band; the connector's
  wire::ConnectRefusal refusal = wire::ConnectRefusal::kNone;  // why the peer's interface refused
  Nanoseconds keepalive = 0;  // idle time after which the peer is asked for a sign of life; 0: never
  Nanoseconds last_heard = 0;
  Requester requester;
  Responder responder;
  CongestionReporter congestion_reporter;
  CongestionReporter answer_congestion;  // marks on what answers us, which we report to ourselves

  // Engine's bookkeeping.
  bool is_listed_for_sending = false;
  bool is_listed_for_response = false;
  bool is_listed_for_events = false;
  bool is_listed_as_paced = false;
  bool is_failure_reported = false;
  std::uint32_t counted_in_flight = 0;
  std::size_t live_place = 0;
  std::uint64_t posted_at_last_look = 0;
  DeadlineEntry deadline_entry;

 private:
  std::uint32_t number_;
  std::uint32_t first_psn_;
};

}  // namespace ina::engine
