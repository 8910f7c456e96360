#include "ompi_coll_ina/core/life_table.hpp"

namespace ina::core {

std::shared_ptr<GroupLife> LifeTable::add(std::shared_ptr<GroupLife> life) {
  const LifeKey key = life->key();
  if (!lives_.emplace(key, life).second) return nullptr;
  for (auto each = early_.begin(); each != early_.end();) {
    if (each->message.life != key) {
      ++each;
      continue;
    }
    life->handle(each->source, std::move(each->message));
    each = early_.erase(each);
  }
  return life;
}

void LifeTable::handle(int source, LifeMessage&& message) {
  const auto found = lives_.find(message.life);
  if (found != lives_.end()) {
    found->second->handle(source, std::move(message));
    return;
  }
  if (!std::holds_alternative<AddressMessage>(message.body) || past_.contains(message.life)) return;
  // Whoever loses an address here loses a set-up, which the leader then aborts.
  if (early_.size() == kMaxEarly) early_.pop_front();
  early_.push_back({.source = source, .message = std::move(message)});
}

unsigned LifeTable::progress(std::uint64_t now) {
  unsigned events = 0;
  for (auto each = lives_.begin(); each != lives_.end();) {
    GroupLife& life = *each->second;
    events += life.progress(now);
    if (!life.is_forgotten()) {
      ++each;
      continue;
    }
    bury(life.key());
    forgotten_(life);
    each = lives_.erase(each);
    ++events;
  }
  return events;
}

void LifeTable::bury(const LifeKey& key) {
  if (!past_.insert(key).second) return;
  past_order_.push_back(key);
  if (past_order_.size() <= kMaxPast) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

void LifeTable::give_up() noexcept {
  for (const auto& [key, life] : lives_) life->give_up();
}

}  // namespace ina::core
