// side.hpp: one of the two processes of uct_traffic: draws operations, keeps a model of the other side's memory, checks every byte.
// Used by uct_traffic's main program.
// Uses nothing but UCX's public interface: any transport will do.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "test/traffic/operation.hpp"

namespace traffic {

class Side {
 public:
  Side(const Options&, unsigned index, int control);
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  void run();

 private:
  void post_until_done();
  void finish();
  void compare_regions();
  [[nodiscard]] Bytes wait_for_message();

  void find_kinds();
  [[nodiscard]] std::unique_ptr<Operation> draw(Stream&);
  void draw_length(Operation&, std::size_t least, std::size_t most);
  void cut(Operation&, std::byte* from, std::size_t length, std::size_t most_pieces);
  [[nodiscard]] bool post(Stream&);                      // false: not now
  [[nodiscard]] ucs_status_t attempt(Operation&);
  [[nodiscard]] ucs_status_t attempt_message(Operation&, uct_ep_h);
  [[nodiscard]] ucs_status_t attempt_atomic(Operation&, uct_ep_h);
  void apply_to_model(Operation&);
  void taken(Stream&, ucs_status_t);
  void complete(Operation*);
  void verify(Operation&);
  unsigned progress();
  void idle();

  static void on_complete(uct_completion_t*);
  static ucs_status_t on_pending(uct_pending_req_t*);
  static ucs_status_t on_message(void*, void*, size_t, unsigned);
  static size_t pack(void*, void*);
  static void unpack(void*, const void*, size_t);

  Options options_;
  unsigned index_;
  Channel channel_;
  std::mt19937_64 random_;
  Port port_;
  GuardedMemory region_;  // the other side works on it
  GuardedMemory arena_;   // of slices: what zero copy reads from and writes to
  uct_mem_h region_handle_, arena_handle_;
  std::vector<std::byte*> free_slices_;
  Bytes model_;           // of the other side's region
  std::vector<Kind> kinds_;
  std::vector<Stream> streams_;
  std::uint64_t drawn_ = 0;
  unsigned idle_turns_ = 0;
};

}  // namespace traffic
