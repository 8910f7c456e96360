// memory_network.hpp: an in-memory Fabric for any number of members and a reference switch between them, with seeded delays.
// Used by the tests of the component's core.
// Loses nothing: loss is the transport's business, which is below Fabric. What may happen between any two steps here is delay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "ompi_coll_ina/core/fabric.hpp"
#include "wire/ina_header.hpp"

namespace ina::test {

class MemoryFabric;
class MemoryRing;

enum class SwitchMode {
  kAggregates,
  kForgets,  // knows no group: contributions pass untouched
  kIsDead,   // swallows contributions
};

// One step of the network is one of: a packet reaches the switch, a packet reaches its receiver, an acknowledgement reaches its sender.
// Packets of one connection and direction stay in order. Completions are called from the progress() of their fabric.
class MemoryNetwork {
 public:
  explicit MemoryNetwork(std::uint64_t seed, std::size_t max_payload = 4096);
  ~MemoryNetwork();
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;

  // Fabrics end before the network.
  [[nodiscard]] std::unique_ptr<core::Fabric> open_fabric();
  // False: nothing is under way.
  bool step();

  SwitchMode mode = SwitchMode::kAggregates;
  // Results of this seq and later are not released, of any group. Contributions are kept: setting nullopt does not release them later.
  std::optional<std::uint32_t> silent_from;
  // Share of PUTs that are refused with kNoResource, and of PUTs that complete at once.
  double no_resource = 0.0;

  // Binds of the 2N that the switch has seen of this life.
  [[nodiscard]] std::size_t binds_seen(std::uint32_t group, std::uint32_t epoch) const;
  // Breaks both connections of a ring: its PUTs fail from now on, completions of outstanding ones report failure.
  void fail(core::Ring& ring);
  // What is under way never arrives, nor is it acknowledged: as when a switch dies and the senders' transports retry for ever.
  void lose_everything() { connections_.clear(); }
  // True if a source buffer was changed while it was the transport's.
  [[nodiscard]] bool saw_changed_source() const { return saw_changed_source_; }
  [[nodiscard]] std::uint64_t results_delivered() const { return results_delivered_; }

 private:
  friend class MemoryFabric;
  friend class MemoryRing;
  enum class Direction { kRight, kLeft };
  struct Put {
    MemoryRing* from = nullptr;  // null: its endpoints are destroyed
    Direction direction = Direction::kRight;
    const std::byte* source = nullptr;
    std::vector<std::byte> bytes;  // what the source held when it was posted
    std::size_t offset = 0;
    core::PutCompletion* completion = nullptr;
  };
  using PutPtr = std::shared_ptr<Put>;
  struct Packet {
    PutPtr put;
    std::vector<std::byte> payload;
    std::size_t offset = 0;
  };
  struct Connection {  // of one ring and direction
    std::deque<PutPtr> to_switch;
    std::deque<Packet> to_receiver;
    std::deque<PutPtr> acknowledged;
  };
  struct Contribution {
    PutPtr put;
    std::vector<std::byte> payload;
  };
  struct Group {
    std::uint16_t members = 0;
    std::set<std::pair<std::uint16_t, wire::Direction>> binds;
    std::map<std::uint32_t, std::vector<Contribution>> slots;  // by seq; one contribution a member
  };
  using ConnectionId = std::pair<std::uint64_t, Direction>;  // ring id

  void check_source(const Put& put);
  void enter_switch(ConnectionId id, PutPtr put);
  void learn(const wire::Bind& bind);
  void absorb(Group& group, const wire::Header& header, Contribution contribution);
  void release(std::vector<Contribution>& contributions);
  void deliver(const Packet& packet);
  void acknowledge(const PutPtr& put);
  void forget(MemoryRing& ring);

  std::mt19937_64 random_;
  std::size_t max_payload_;
  std::uint64_t next_ring_ = 1;
  std::map<std::uint64_t, MemoryRing*> rings_;
  std::map<ConnectionId, Connection> connections_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups_;
  bool saw_changed_source_ = false;
  std::uint64_t results_delivered_ = 0;
};

}  // namespace ina::test
