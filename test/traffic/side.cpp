#include "test/traffic/side.hpp"

#include <sched.h>

#include <algorithm>

#include "test/traffic/random_bytes.hpp"

namespace traffic {
namespace {

constexpr std::size_t kPart = 512 << 10;  // of the region, for each endpoint
constexpr std::size_t kSlices = 24;
constexpr std::uint8_t kMessageId = 5;

}  // namespace

Side::Side(const Options& options, unsigned index, int control)
    : options_(options),
      index_(index),
      channel_(control),
      random_(options.seed * 2 + index),
      port_(options),
      region_(kPart * options.endpoints),
      arena_(kSlices * (options.largest + 8)),
      region_handle_(port_.register_memory(region_.data(), region_.size())),
      arena_handle_(port_.register_memory(arena_.data(), arena_.size())),
      model_(region_.size()),
      streams_(options.endpoints) {
  for (std::size_t i = 0; i < kSlices; ++i) free_slices_.push_back(arena_.data() + i * (options.largest + 8));
  fill({region_.data(), region_.size()}, index);
  fill(model_, 1 - index);
  for (unsigned i = 0; i < options.endpoints; ++i) {
    streams_[i].side = this;
    streams_[i].index = i;
    streams_[i].request.func = &Side::on_pending;
  }
  check(uct_iface_set_am_handler(port_.iface(), kMessageId, &Side::on_message, this, 0), "uct_iface_set_am_handler");
  find_kinds();
}

Side::~Side() {
  port_.destroy_endpoints();
  port_.deregister(arena_handle_);
  port_.deregister(region_handle_);
}

void Side::run() {
  channel_.send(port_.describe(region_.data(), region_handle_));
  port_.connect(channel_.receive());
  // Nobody sends before both are connected.
  channel_.send({});
  (void)wait_for_message();
  post_until_done();
  finish();
  compare_regions();
}

void Side::find_kinds() {
  constexpr std::pair<std::uint64_t, Kind> kOffers[] = {
      {UCT_IFACE_FLAG_PUT_SHORT, Kind::kPutShort}, {UCT_IFACE_FLAG_PUT_BCOPY, Kind::kPutBcopy}, {UCT_IFACE_FLAG_PUT_ZCOPY, Kind::kPutZcopy},
      {UCT_IFACE_FLAG_GET_BCOPY, Kind::kGetBcopy}, {UCT_IFACE_FLAG_GET_ZCOPY, Kind::kGetZcopy}, {UCT_IFACE_FLAG_AM_SHORT, Kind::kAmShort},
      {UCT_IFACE_FLAG_AM_SHORT, Kind::kAmShortIov}, {UCT_IFACE_FLAG_AM_BCOPY, Kind::kAmBcopy},  {UCT_IFACE_FLAG_AM_ZCOPY, Kind::kAmZcopy}};
  for (const auto& [flag, kind] : kOffers) {
    if (port_.can(flag)) kinds_.push_back(kind);
  }
  const auto& atomics = port_.attr().cap.atomic64;
  if ((atomics.fop_flags & UCS_BIT(UCT_ATOMIC_OP_ADD)) != 0) kinds_.push_back(Kind::kFetchAdd);
  if ((atomics.fop_flags & UCS_BIT(UCT_ATOMIC_OP_CSWAP)) != 0) kinds_.push_back(Kind::kCompareSwap);
  if ((atomics.op_flags & UCS_BIT(UCT_ATOMIC_OP_ADD)) != 0) kinds_.push_back(Kind::kAdd);
  kinds_.push_back(Kind::kFlush);
}

void Side::post_until_done() {
  while (drawn_ < options_.operations) {
    bool has_posted = false;
    for (int burst = 0; burst < 16 && drawn_ < options_.operations; ++burst) {
      Stream& stream = streams_[random_() % streams_.size()];
      if (stream.is_pending) continue;
      if (stream.waiting == nullptr) {
        if (free_slices_.size() < 2) break;
        stream.waiting = draw(stream);
        ++drawn_;
      }
      has_posted |= post(stream);
    }
    if (progress() == 0 && !has_posted) idle();
  }
}

void Side::finish() {
  const auto is_done = [](const Stream& stream) { return stream.waiting == nullptr && stream.outstanding.empty(); };
  while (!std::all_of(streams_.begin(), streams_.end(), is_done)) {
    for (Stream& stream : streams_) {
      if (stream.waiting != nullptr && !stream.is_pending) (void)post(stream);
    }
    if (progress() == 0) idle();
  }
  ucs_status_t status;
  while ((status = uct_iface_flush(port_.iface(), 0, nullptr)) != UCS_OK) {
    check(status == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE, "uct_iface_flush");
    if (progress() == 0) idle();
  }
  check(free_slices_.size() == kSlices, "slices are missing");
}

void Side::compare_regions() {
  Bytes counts(streams_.size() * sizeof(std::uint32_t));
  for (const Stream& stream : streams_) std::memcpy(&counts[stream.index * sizeof(std::uint32_t)], &stream.messages_sent, sizeof(std::uint32_t));
  channel_.send(counts);
  const Bytes wanted = wait_for_message();
  for (const Stream& stream : streams_) {
    std::uint32_t count = 0;
    std::memcpy(&count, &wanted[stream.index * sizeof count], sizeof count);
    while (stream.messages_received < count) {
      if (progress() == 0) idle();
    }
    check(stream.messages_received == count, "a message arrived twice");
  }
  // The other side has flushed: all that it wrote is here.
  channel_.send(Bytes(region_.data(), region_.data() + region_.size()));
  const Bytes theirs = wait_for_message();
  check(theirs.size() == model_.size(), "a short copy of the region");
  const auto differs = std::mismatch(theirs.begin(), theirs.end(), model_.begin());
  check(differs.first == theirs.end(), "the other side's memory differs from the model at " + std::to_string(differs.first - theirs.begin()));
  region_.check_guards();
  arena_.check_guards();
  channel_.send({});
  (void)wait_for_message();
  channel_.flush();
}

Bytes Side::wait_for_message() {
  while (true) {
    if (auto message = channel_.try_receive()) return *message;
    if (progress() == 0) idle();
  }
}

unsigned Side::progress() {
  const unsigned events = port_.progress();
  if (events != 0) idle_turns_ = 0;
  return events;
}

// Other processes may need the core; a side that sleeps does so once it has looked a few times.
void Side::idle() {
  if (!options_.sleeps || ++idle_turns_ < 4) {
    sched_yield();
    return;
  }
  idle_turns_ = 0;
  const ucs_status_t status = uct_iface_event_arm(port_.iface(), UCT_EVENT_SEND_COMP | UCT_EVENT_RECV);
  if (status == UCS_ERR_BUSY) return;
  check(status, "uct_iface_event_arm");
  std::array<pollfd, 2> wanted{{{.fd = port_.event_descriptor(), .events = POLLIN, .revents = 0}, {.fd = channel_.descriptor(), .events = channel_.events(), .revents = 0}}};
  check(poll(wanted.data(), wanted.size(), 20000) > 0, "nothing woke this side for 20 s");
}

ucs_status_t Side::on_message(void* self, void* data, size_t length, unsigned) {
  Side& side = *static_cast<Side*>(self);
  std::uint64_t header = 0;
  check(length >= sizeof header, "a short message");
  std::memcpy(&header, data, sizeof header);
  const std::size_t stream = header >> 56, wanted = (header >> 32) & 0xffffff;
  check(stream < side.streams_.size(), "a message of no endpoint");
  check(length == wanted, "a message of " + std::to_string(length) + " bytes instead of " + std::to_string(wanted));
  check(static_cast<std::uint32_t>(header) == side.streams_[stream].messages_received++, "a message out of order");
  check(is_filled({static_cast<const std::byte*>(data) + sizeof header, length - sizeof header}, header), "a message with other content");
  return UCS_OK;
}

}  // namespace traffic
