// random.hpp: numbers that nobody can guess, for group ids, epochs and lease tokens.
// Used by the manager; tests put a seeded source in its place (ManagerSettings::random).
// Not for packets: it makes a system call.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ina::manager {

// Fills from the kernel's generator; throws std::system_error if there is none.
void fill_random(std::span<std::byte> to);

// Lower-case hex digits, two a byte.
[[nodiscard]] std::string hex(std::span<const std::byte> bytes);

}  // namespace ina::manager
