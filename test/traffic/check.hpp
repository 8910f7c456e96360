// check.hpp: how uct_traffic ends when something is wrong: one line that says what, and the process is over.
// Used by all of uct_traffic.
// Does not clean up: the other side notices that its control channel is closed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
#include <uct/api/uct.h>
}

namespace traffic {

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "uct_traffic: %s\n", what.c_str());
  std::_Exit(1);
}

inline void check(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

inline void check(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) fail(what + ": " + ucs_status_string(status));
}

}  // namespace traffic
