// fabric.hpp: the transport as the stream needs it: one opened interface, and per group a ring position with a mailbox.
// Implemented over UCT (uct_fabric.cpp) and by the tests' in-memory network. Used by Stream and by the group's life.
// Nothing but put is ever sent over a ring's two connections: no flush, no endpoint check (they would shift the PSNs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ina::core {

enum class PutStatus : std::uint8_t {
  kPosted,      // the completion will be called
  kDone,        // already complete: the completion will not be called
  kNoResource,  // not now: ask again from progress
  kFailed,      // the connection is in error
};

struct PutCompletion {
  void (*done)(PutCompletion* self, bool ok) noexcept = nullptr;  // called from Fabric::progress() only
};

struct RingSpec {
  std::uint32_t places;        // 2W
  std::uint32_t place_bytes;   // P; the mailbox is places x P bytes, aligned to its own size
  std::uint32_t source_buffers;  // of P bytes each, in registered memory
};

// One member's position in a ring: connection `right` (this member sends data), connection `left` (this member receives data; sends only its backward bind).
class Ring {
 public:
  virtual ~Ring() = default;  // destroys the endpoints if that has not been done, then deregisters
  // What both neighbours need to connect: opaque, at most 1,024 bytes.
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  // Throws Error if an address cannot be used or reached.
  virtual void connect(std::span<const std::byte> left, std::span<const std::byte> right) = 0;
  // Own memory. The mailbox is written by the left neighbour's RDMA WRITEs at any time.
  [[nodiscard]] virtual std::span<std::byte> mailbox() noexcept = 0;
  [[nodiscard]] virtual std::span<std::byte> source_buffers() noexcept = 0;
  // Address of the right neighbour's mailbox as RETH carries it. After connect().
  [[nodiscard]] virtual std::uint64_t right_mailbox() const noexcept = 0;
  // Puts `bytes` of source memory (inside source_buffers()) into the right neighbour's mailbox at `offset`: one packet. The source is
  // the transport's until `completion` is called.
  [[nodiscard]] virtual PutStatus put_right(const std::byte* source, std::size_t bytes, std::size_t offset, PutCompletion*) noexcept = 0;
  // The same into the left neighbour's scratch area (64 bytes and more), for the backward bind.
  [[nodiscard]] virtual PutStatus put_left(const std::byte* source, std::size_t bytes, PutCompletion*) noexcept = 0;
  // True once a connection has reported an error. Never becomes false again.
  [[nodiscard]] virtual bool has_failed() const noexcept = 0;
  // Ends both connections, PUTs outstanding or not: no completion is called after this. Memory stays registered until the destructor.
  virtual void destroy_endpoints() noexcept = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  // Largest payload of one packet: what the path MTU of the interface leaves. Bytes.
  [[nodiscard]] virtual std::size_t max_payload() const noexcept = 0;
  // Throws Error.
  [[nodiscard]] virtual std::unique_ptr<Ring> create_ring(const RingSpec&) = 0;
  // Sends what was posted, receives, calls completions. Returns the number of events.
  virtual unsigned progress() noexcept = 0;
  // A descriptor that becomes readable when there is something to progress; -1: none.
  [[nodiscard]] virtual int event_fd() noexcept = 0;
  // Arms event_fd(). False: something is there already, progress again instead of waiting.
  [[nodiscard]] virtual bool arm() noexcept = 0;
  [[nodiscard]] virtual const std::string& description() const noexcept = 0;  // "ina over relay 10.0.0.1:5050", for the path line
};

struct FabricSettings {
  std::string transport;  // UCT transport name: "ina", "rc_verbs", ...
  std::string device;     // empty: any
  std::string relay;      // HOST:PORT numeric, or empty when the switch is in the wire (ina transport only)
  std::string manager{};  // HOST:PORT numeric: without a relay the device is the one that leads there, and its family is used; empty: not known
};

// Opens the UCT interface. Throws Error {status, "what, where"}. Bounded: at most some 200 ms where a relay does not answer.
[[nodiscard]] std::unique_ptr<Fabric> open_uct_fabric(const FabricSettings&);

}  // namespace ina::core
