// error.hpp: what the engine throws when something cannot be set up: the same as the folder below it.
// Used by factories and constructors; the UCT glue turns it into a status and one line of log.
// Never thrown on a packet path.
#pragma once

#include "net/error.hpp"

namespace ina::engine {

using net::Error;
using net::Failure;

}  // namespace ina::engine
