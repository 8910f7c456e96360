#include "ucx_tl/uct_ina_counters.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "ucx_tl/uct_ina.h"

namespace ina::uct {
namespace {

std::mutex mutex;
std::vector<const engine::Counters*> open_interfaces;
uct_ina_counters_t closed_interfaces{};

void add(uct_ina_counters_t& total, const engine::Counters& counters) noexcept {
  total.packets_sent += counters.packets_sent.value();
  total.packets_received += counters.packets_received.value();
  total.bytes_sent += counters.bytes_sent.value();
  total.bytes_received += counters.bytes_received.value();
  total.system_calls += counters.send_calls.value() + counters.receive_calls.value();
  total.empty_receives += counters.empty_receives.value();
  total.retransmissions += counters.retransmissions.value();
  total.timeouts += counters.timeouts.value();
  total.acks_sent += counters.acks_sent.value();
  total.acks_received += counters.acks_received.value();
  total.naks_sent += counters.naks_sent.value();
  total.naks_received += counters.naks_received.value();
  total.duplicates += counters.duplicates.value();
  total.bad_icrc += counters.bad_icrc.value();
  total.dropped += counters.bad_packets.value() + counters.bad_icrc.value() + counters.unknown_qpn.value() + counters.foreign_source.value() +
                   counters.bad_acks.value() + counters.bad_messages.value() + counters.gaps.value() + counters.invalid_requests.value() +
                   counters.access_errors.value() + counters.half_open_drops.value();
  total.failed_endpoints += counters.failed_qps.value();
}

}  // namespace

void register_counters(const engine::Counters* counters) {
  const std::lock_guard lock(mutex);
  open_interfaces.push_back(counters);
}

void unregister_counters(const engine::Counters* counters) noexcept {
  const std::lock_guard lock(mutex);
  const auto found = std::find(open_interfaces.begin(), open_interfaces.end(), counters);
  if (found == open_interfaces.end()) return;
  open_interfaces.erase(found);
  add(closed_interfaces, *counters);
}

}  // namespace ina::uct

extern "C" void uct_ina_query_counters(uct_ina_counters_t* counters) {
  const std::lock_guard lock(ina::uct::mutex);
  *counters = ina::uct::closed_interfaces;
  for (const ina::engine::Counters* open : ina::uct::open_interfaces) ina::uct::add(*counters, *open);
}
