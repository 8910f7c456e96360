// wakeup.hpp: one descriptor that becomes readable when packets arrive, or when a timer has taken them from the socket meanwhile.
// Used by the transport for users that sleep until there is something to do.
// Does not say what there is to do; a user that wakes asks the engine.
#pragma once

namespace ina::engine {

class Wakeup {
 public:
  explicit Wakeup(int packet_descriptor);  // throws Error
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return set_; }
  // signal() holds until clear(). Whoever calls either holds the engine.
  void signal() noexcept;
  void clear() noexcept;

 private:
  void close_all() noexcept;
  int set_ = -1;     // of epoll: the packets' descriptor and event_
  int event_ = -1;
  bool is_signalled_ = false;
};

}  // namespace ina::engine
