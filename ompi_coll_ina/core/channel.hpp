// channel.hpp: life messages between processes, over INA_WORLD: a few posted receives, re-posted and worked off in their order.
// Used by Core alone, which hands what arrives to the life it is for.
// Knows no lives; a process's messages to itself take a short cut, in order as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "ompi_coll_ina/core/host.hpp"
#include "ompi_coll_ina/core/life_message.hpp"

namespace ina::core {

class Channel {
 public:
  using Handler = std::function<void(int source, LifeMessage&&)>;

  Channel(Host& host, int tag, int world_rank, Handler handler) : host_(host), tag_(tag), world_rank_(world_rank), handler_(std::move(handler)), sends_(host) {}
  ~Channel() { close(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Posts the receives, once. A process that no life has ever concerned has none.
  void open();
  // Cancels them. What arrives later is nobody's.
  void close() noexcept;
  // Never calls the handler.
  void send(int world_rank, const LifeMessage&);
  unsigned progress();
  [[nodiscard]] bool is_idle() const noexcept { return sends_.is_empty() && to_self_.empty(); }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_ || sends_.has_failed(); }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }  // messages that could not be decoded

 private:
  static constexpr std::size_t kReceives = 4;
  struct Receive {
    std::vector<std::byte> buffer;
    void* request = nullptr;
  };
  void post(Receive&) noexcept;
  unsigned receive();

  Host& host_;
  const int tag_;
  const int world_rank_;
  Handler handler_;
  SendQueue sends_;
  std::array<Receive, kReceives> receives_;
  std::size_t oldest_ = 0;
  std::deque<LifeMessage> to_self_;
  bool is_open_ = false;
  bool has_failed_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace ina::core
