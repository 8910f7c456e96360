#include "test/support/memory_network.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "ompi_coll_ina/core/aligned_memory.hpp"
#include "ompi_coll_ina/core/error.hpp"
#include "wire/elements.hpp"

namespace ina::test {

using core::PutStatus;

class MemoryRing final : public core::Ring {
 public:
  MemoryRing(MemoryNetwork& network, MemoryFabric& fabric, const core::RingSpec& spec)
      : network_(network), fabric_(fabric), id_(network.next_ring_++), mailbox_(std::size_t{spec.places} * spec.place_bytes),
        sources_(std::bit_ceil(std::size_t{spec.source_buffers} * spec.place_bytes)) {
    network_.rings_[id_] = this;
  }
  ~MemoryRing() override {
    destroy_endpoints();
    network_.rings_.erase(id_);
  }
  [[nodiscard]] std::vector<std::byte> address() const override {
    std::vector<std::byte> bytes(sizeof id_);
    std::memcpy(bytes.data(), &id_, sizeof id_);
    return bytes;
  }
  void connect(std::span<const std::byte> left, std::span<const std::byte> right) override {
    left_ = peer(left);
    right_ = peer(right);
  }
  [[nodiscard]] std::span<std::byte> mailbox() noexcept override { return mailbox_.bytes(); }
  [[nodiscard]] std::span<std::byte> source_buffers() noexcept override { return sources_.bytes(); }
  [[nodiscard]] std::uint64_t right_mailbox() const noexcept override { return 0x100000 * right_; }
  [[nodiscard]] PutStatus put_right(const std::byte* source, std::size_t bytes, std::size_t offset, core::PutCompletion* completion) noexcept override {
    return put(MemoryNetwork::Direction::kRight, source, bytes, offset, completion);
  }
  [[nodiscard]] PutStatus put_left(const std::byte* source, std::size_t bytes, core::PutCompletion* completion) noexcept override {
    return put(MemoryNetwork::Direction::kLeft, source, bytes, 0, completion);
  }
  [[nodiscard]] bool has_failed() const noexcept override { return has_failed_; }
  void destroy_endpoints() noexcept override {
    is_destroyed_ = true;
    network_.forget(*this);
  }

  MemoryNetwork& network_;
  MemoryFabric& fabric_;
  std::uint64_t id_;
  std::uint64_t left_ = 0, right_ = 0;
  core::AlignedMemory mailbox_, sources_;
  std::array<std::byte, 64> scratch_{};
  bool has_failed_ = false, is_destroyed_ = false;

 private:
  static std::uint64_t peer(std::span<const std::byte> address) {
    std::uint64_t id = 0;
    if (address.size() != sizeof id) throw core::Error(core::Status::kRefused, "no address of the in-memory network");
    std::memcpy(&id, address.data(), sizeof id);
    return id;
  }
  PutStatus put(MemoryNetwork::Direction direction, const std::byte* source, std::size_t bytes, std::size_t offset, core::PutCompletion* completion) {
    if (has_failed_ || is_destroyed_) return PutStatus::kFailed;
    assert(source >= sources_.bytes().data() && source + bytes <= sources_.bytes().data() + sources_.bytes().size());
    if (std::bernoulli_distribution(network_.no_resource)(network_.random_)) return PutStatus::kNoResource;
    auto put = std::make_shared<MemoryNetwork::Put>();
    *put = {.from = this, .direction = direction, .source = source, .bytes = {source, source + bytes}, .offset = offset, .completion = completion};
    network_.connections_[{id_, direction}].to_switch.push_back(std::move(put));
    return PutStatus::kPosted;
  }
};

class MemoryFabric final : public core::Fabric {
 public:
  explicit MemoryFabric(MemoryNetwork& network) : network_(network) {}
  [[nodiscard]] std::size_t max_payload() const noexcept override { return network_.max_payload_; }
  [[nodiscard]] std::unique_ptr<core::Ring> create_ring(const core::RingSpec& spec) override { return std::make_unique<MemoryRing>(network_, *this, spec); }
  unsigned progress() noexcept override {
    for (auto steps = std::uniform_int_distribution<int>(0, 6)(network_.random_); steps > 0; --steps) network_.step();
    unsigned events = 0;
    while (!completions_.empty()) {
      const auto [put, ok] = completions_.front();
      completions_.pop_front();
      if (put->from == nullptr) continue;
      put->completion->done(put->completion, ok);
      ++events;
    }
    return events;
  }
  [[nodiscard]] int event_fd() noexcept override { return -1; }
  [[nodiscard]] bool arm() noexcept override { return false; }
  [[nodiscard]] const std::string& description() const noexcept override { return description_; }

  std::deque<std::pair<std::shared_ptr<MemoryNetwork::Put>, bool>> completions_;

 private:
  MemoryNetwork& network_;
  std::string description_ = "memory";
};

MemoryNetwork::MemoryNetwork(std::uint64_t seed, std::size_t max_payload) : random_(seed), max_payload_(max_payload) {}

MemoryNetwork::~MemoryNetwork() = default;

std::unique_ptr<core::Fabric> MemoryNetwork::open_fabric() { return std::make_unique<MemoryFabric>(*this); }

bool MemoryNetwork::step() {
  enum class Event { kToSwitch, kToReceiver, kAcknowledge };
  std::vector<std::pair<ConnectionId, Event>> possible;
  for (auto& [id, connection] : connections_) {
    if (!connection.to_switch.empty()) possible.emplace_back(id, Event::kToSwitch);
    if (!connection.to_receiver.empty()) possible.emplace_back(id, Event::kToReceiver);
    if (!connection.acknowledged.empty()) possible.emplace_back(id, Event::kAcknowledge);
  }
  if (possible.empty()) return false;
  const auto [id, event] = possible[std::uniform_int_distribution<std::size_t>(0, possible.size() - 1)(random_)];
  Connection& connection = connections_[id];
  const auto take = [](auto& queue) {
    auto front = std::move(queue.front());
    queue.pop_front();
    return front;
  };
  switch (event) {
    case Event::kToSwitch: enter_switch(id, take(connection.to_switch)); break;
    case Event::kToReceiver: deliver(take(connection.to_receiver)); break;
    case Event::kAcknowledge: acknowledge(take(connection.acknowledged)); break;
  }
  return true;
}

// A transport may read the source at any time until the completion, so it must still hold what was posted.
void MemoryNetwork::check_source(const Put& put) {
  if (put.from != nullptr && std::memcmp(put.source, put.bytes.data(), put.bytes.size()) != 0) saw_changed_source_ = true;
}

void MemoryNetwork::enter_switch(ConnectionId id, PutPtr put) {
  check_source(*put);
  Packet packet{put, put->bytes, put->offset};
  if (const auto bind = wire::decode_bind(packet.payload)) learn(*bind);
  const auto header = wire::decode_payload(packet.payload);
  const auto group = header ? groups_.find({header->group, header->epoch}) : groups_.end();
  const bool is_absorbed = header && header->kind == wire::Kind::kData && group != groups_.end() && mode != SwitchMode::kForgets;
  if (!is_absorbed) {
    connections_[id].to_receiver.push_back(std::move(packet));
  } else if (mode == SwitchMode::kAggregates) {
    absorb(group->second, *header, {std::move(put), std::move(packet.payload)});
  }
}

void MemoryNetwork::learn(const wire::Bind& bind) {
  Group& group = groups_[{bind.group, bind.epoch}];
  group.members = bind.members;
  group.binds.insert({bind.connection, bind.direction});
}

void MemoryNetwork::absorb(Group& group, const wire::Header& header, Contribution contribution) {
  auto& slot = group.slots[header.seq];
  slot.resize(group.members);
  assert(slot[header.member].put == nullptr);
  slot[header.member] = std::move(contribution);
  if (std::any_of(slot.begin(), slot.end(), [](const Contribution& c) { return c.put == nullptr; })) return;
  if (silent_from && wire::seq_distance(header.seq, *silent_from) >= 0) return;
  release(slot);
  group.slots.erase(header.seq);
}

// Lanes in member order; one result on every connection, with the header's member as it was.
void MemoryNetwork::release(std::vector<Contribution>& contributions) {
  std::vector<std::byte> sum = contributions[0].payload;
  auto header = *wire::decode_payload(sum);
  const std::size_t lanes = header.length / wire::lane_bytes(header.lane_type);
  for (std::size_t i = 1; i < contributions.size(); ++i)
    wire::combine(header.op, header.lane_type)(sum.data() + wire::kHeaderBytes, contributions[i].payload.data() + wire::kHeaderBytes, lanes);
  header.kind = wire::Kind::kResult;
  header.contributions = static_cast<std::uint16_t>(contributions.size());
  for (std::size_t i = 0; i < contributions.size(); ++i) {
    header.member = static_cast<std::uint16_t>(i);
    wire::encode_header(header, std::span<std::byte, wire::kHeaderBytes>(sum.data(), wire::kHeaderBytes));
    const PutPtr& put = contributions[i].put;
    if (put->from != nullptr) connections_[{put->from->id_, put->direction}].to_receiver.push_back({put, sum, put->offset});
  }
}

// The trailer is written last, as a transport does.
void MemoryNetwork::deliver(const Packet& packet) {
  const Put& put = *packet.put;
  if (put.from == nullptr) return;
  check_source(put);
  const auto ring = rings_.find(put.direction == Direction::kRight ? put.from->right_ : put.from->left_);
  if (ring == rings_.end() || ring->second->is_destroyed_) return;  // nobody there: never acknowledged
  std::byte* base = put.direction == Direction::kRight ? ring->second->mailbox().data() : ring->second->scratch_.data();
  std::memcpy(base + packet.offset, packet.payload.data(), packet.payload.size());
  ++results_delivered_;
  connections_[{put.from->id_, put.direction}].acknowledged.push_back(packet.put);
}

void MemoryNetwork::acknowledge(const PutPtr& put) {
  if (put->from == nullptr) return;
  check_source(*put);
  put->from->fabric_.completions_.emplace_back(put, true);
}

std::size_t MemoryNetwork::binds_seen(std::uint32_t group, std::uint32_t epoch) const {
  const auto found = groups_.find({group, epoch});
  return found == groups_.end() ? 0 : found->second.binds.size();
}

void MemoryNetwork::fail(core::Ring& ring) {
  auto& broken = static_cast<MemoryRing&>(ring);
  broken.has_failed_ = true;
  for (const Direction direction : {Direction::kRight, Direction::kLeft}) {
    Connection& connection = connections_[{broken.id_, direction}];
    for (const PutPtr& put : connection.to_switch) broken.fabric_.completions_.emplace_back(put, false);
    connection.to_switch.clear();
  }
}

void MemoryNetwork::forget(MemoryRing& ring) {
  const auto drop = [&](const PutPtr& put) {
    if (put != nullptr && put->from == &ring) put->from = nullptr;
  };
  for (const Direction direction : {Direction::kRight, Direction::kLeft}) {
    const auto found = connections_.find({ring.id_, direction});
    if (found == connections_.end()) continue;
    for (auto& put : found->second.to_switch) drop(put);
    for (auto& packet : found->second.to_receiver) drop(packet.put);
    for (auto& put : found->second.acknowledged) drop(put);
    connections_.erase(found);
  }
  for (auto& [key, group] : groups_) {
    for (auto& [seq, slot] : group.slots) {
      for (auto& contribution : slot) drop(contribution.put);
    }
  }
  for (auto& [put, ok] : ring.fabric_.completions_) drop(put);
}

}  // namespace ina::test
