// options.hpp: what a run of uct_traffic does.
// Used by its main program, Port and Side.
// Holds values only.
#pragma once

#include <cstdint>
#include <string>

namespace traffic {

struct Options {
  std::string transport = "ina";
  std::string device = "lo";
  std::string server_namespace;  // of ip netns; empty: this process's
  std::string client_namespace;
  std::uint64_t seed = 1;
  std::uint64_t operations = 20000;  // that each side posts
  unsigned endpoints = 3;
  std::size_t largest = 300000;  // bytes of a zero-copy PUT or GET
  unsigned limit_s = 120;
  bool to_iface = false;  // connect to the interface, else endpoint to endpoint
  bool sleeps = false;    // wait on the event descriptor whenever nothing happens
};

}  // namespace traffic
