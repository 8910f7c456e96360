// counters.hpp: everything that an engine counts.
// Written by the thread that holds the engine, read by any thread at any time.
// Counters never go back; totals over engines are the reader's affair.
#pragma once

#include <atomic>
#include <cstdint>

namespace ina::engine {

class Counter {
 public:
  // One writer at a time: no read-modify-write cycle is needed.
  void add(std::uint64_t n = 1) noexcept { value_.store(value() + n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct Counters {
  Counter packets_sent;
  Counter packets_received;
  Counter bytes_sent;      // payload of data packets, retransmissions included
  Counter bytes_received;  // payload that was executed
  Counter send_calls;      // calls of PacketIo::send: one system call or more each
  Counter receive_calls;
  Counter empty_receives;  // of receive_calls
  Counter send_blocked;    // packets that the system did not take yet
  Counter send_errors;     // packets that the system refused: as good as lost
  Counter retransmissions;
  Counter timeouts;
  Counter acks_sent;
  Counter acks_received;
  Counter naks_sent;       // sequence errors
  Counter naks_received;
  Counter rnr_naks_sent;
  Counter rnr_naks_received;
  Counter congestion_marks;        // received packets with one
  Counter notifications_sent;      // of congestion
  Counter notifications_received;
  Counter duplicates;      // requests that were executed before, answers that had come before
  Counter gaps;            // requests ahead of the expected PSN, dropped
  Counter kept_ahead;      // likewise, but kept until what is missing comes
  Counter immediates;      // messages with immediate data, which nobody here asks for
  Counter invalid_requests;      // answered 0x61
  Counter access_errors;         // answered 0x62
  Counter bad_packets;           // do not decode
  Counter bad_icrc;
  Counter unknown_qpn;
  Counter foreign_source;        // not from the peer (or the relay)
  Counter bad_acks;              // for PSNs never sent, or malformed
  Counter bad_messages;          // messages that the layer above refused
  Counter failed_qps;
  Counter relay_messages;        // received and understood
  Counter connect_messages;      // received and understood
  Counter half_open_drops;       // connect messages of hosts that have begun too many connections and not used them
  Counter probes_sent;           // empty messages that ask an idle peer for a sign of life
};

}  // namespace ina::engine
