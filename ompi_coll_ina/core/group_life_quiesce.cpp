// Quiesce, the end of every life: two agreements through the leader, over messages that need no communicator.
//
//     member                leader
//     finished   ------->   all have finished: nobody waits for a result any more
//                <-------   destroy
//     destroyed  ------->   all QPs of the life are gone: nobody writes into anybody's memory any more
//                <-------   forget
//
// Until `destroy` a member answers probes and reports and hands results over, so that nobody who is slower is left alone.
#include "ompi_coll_ina/core/group_life.hpp"

namespace ina::core {

void GroupLife::progress_quiesce() {
  if (end_ != End::kInUse || is_attached_ || !outstanding_.empty()) return;
  end_ = End::kFinished;
  send(0, QuiesceMessage{.step = QuiesceMessage::Step::kFinished});
}

void GroupLife::take(std::uint16_t member, const QuiesceMessage& message) {
  using Step = QuiesceMessage::Step;
  switch (message.step) {
    case Step::kFinished:
      if (!is_leader() || states_[member].has_finished) return;
      states_[member].has_finished = true;
      if (++finished_ == members()) send_to_all(QuiesceMessage{.step = Step::kDestroy});
      return;
    case Step::kDestroy:
      if (member != 0 || end_ != End::kFinished) return;
      end_ = End::kDestroyed;
      if (ring_) ring_->destroy_endpoints();
      send(0, QuiesceMessage{.step = Step::kDestroyed});
      return;
    case Step::kDestroyed:
      if (!is_leader() || states_[member].has_destroyed) return;
      states_[member].has_destroyed = true;
      if (++destroyed_ == members()) send_to_all(QuiesceMessage{.step = Step::kForget});
      return;
    case Step::kForget:
      if (member == 0 && end_ == End::kDestroyed) forget();
      return;
  }
}

// The stream's completions point into it, so it goes first; the interface outlives both.
void GroupLife::forget() noexcept {
  if (end_ == End::kForgotten) return;
  end_ = End::kForgotten;
  stream_.reset();
  ring_.reset();
  fabric_.reset();
}

}  // namespace ina::core
