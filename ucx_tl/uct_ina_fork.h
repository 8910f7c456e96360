// uct_ina_fork.h: whether a process is the one that opened an interface, or a child of it by fork().
// Used by the interface: what a child has inherited shares its socket with the parent and must be left alone.
// Does not see children that were made without fork(): they share memory with their parent, or call exec().
#pragma once

namespace ina::uct {

// Differs between a process and its children. Throws Error.
[[nodiscard]] unsigned watch_forks();
[[nodiscard]] unsigned fork_generation() noexcept;

}  // namespace ina::uct
