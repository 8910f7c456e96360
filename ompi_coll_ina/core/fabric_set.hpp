// fabric_set.hpp: the interfaces that this process has opened: one for all groups, another one when the manager's instance, the relay or the transport changes.
// Used by GroupLife and by the leaders, who ask how large a payload may be.
// Keeps an old interface as long as a life holds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/fabric.hpp"

namespace ina::core {

class FabricSet {
 public:
  using Open = std::function<std::unique_ptr<Fabric>(const FabricSettings&)>;
  explicit FabricSet(Open open) : open_(std::move(open)) {}

  // Throws Error where it cannot be opened.
  [[nodiscard]] std::shared_ptr<Fabric> get(const std::string& instance, const FabricSettings& settings) {
    if (current_ && instance == instance_ && settings.transport == settings_.transport && settings.relay == settings_.relay && settings.manager == settings_.manager) return current_;
    std::shared_ptr<Fabric> opened = open_(settings);
    if (current_) old_.push_back(std::move(current_));
    current_ = std::move(opened);
    instance_ = instance;
    settings_ = settings;
    return current_;
  }
  unsigned progress() noexcept {
    unsigned events = current_ ? current_->progress() : 0;
    for (const auto& fabric : old_) events += fabric->progress();
    return events;
  }
  // Closes old interfaces that no life needs any more.
  void release_unused() {
    std::erase_if(old_, [](const auto& fabric) { return fabric.use_count() == 1; });
  }
  [[nodiscard]] Fabric* current() const noexcept { return current_.get(); }

 private:
  Open open_;
  std::shared_ptr<Fabric> current_;
  std::vector<std::shared_ptr<Fabric>> old_;
  std::string instance_;
  FabricSettings settings_;
};

}  // namespace ina::core
