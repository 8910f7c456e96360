// fake_manager.hpp: a manager as tests want it: it grants, refuses, keeps silent, talks nonsense, drops connections or starts anew, at their word.
// Used by Job and by the tests of ManagerClient, over in-memory connections.
// Is no reference: the real one is switch/manager.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/connection.hpp"
#include "test/support/memory_network.hpp"

namespace ina::test {

class FakeManager {
 public:
  explicit FakeManager(std::uint64_t seed, MemoryNetwork* network = nullptr) : random_(seed), network_(network) { restart(); }

  [[nodiscard]] std::unique_ptr<core::Connection> connect();
  // Looks whether groups have bound, and answers what has come. From the tests' turns.
  void turn(std::uint64_t now);
  // A new instance, which knows nothing.
  void restart();
  // Ends all connections.
  void drop_connections();
  // Sends an event failed for all groups.
  void fail_groups(const std::string& text);

  bool is_reachable = true;
  bool is_silent = false;      // takes lines and answers none
  std::string raw_answer;      // sent instead of any answer, if not empty
  std::uint32_t slots = 65536;
  std::uint32_t window = 4;    // the most that is granted
  std::uint32_t members = 256;
  std::uint32_t payload = 4096;
  std::uint32_t lease_grace_ms = 2000;
  bool activates = true;
  std::string ops = R"(["sum","min","max","and","or","xor"])";
  int opens = 0, closes = 0, resumes = 0, connections_made = 0;

  struct Group {
    std::uint32_t group, epoch, members, window, first_seq;
    bool is_active = false;
    std::string lease;
  };
  [[nodiscard]] const std::map<std::uint32_t, Group>& groups() const { return groups_; }
  [[nodiscard]] std::uint32_t slots_used() const;

  // Both ends of a connection.
  struct Pipe {
    std::string to_manager, to_host;
    bool is_open = true;
    std::string lease;
  };

 private:
  void take(Pipe&, const std::string& line);
  void open(Pipe&, const nlohmann::json& request);
  void say(Pipe&, const nlohmann::json& line);

  std::mt19937_64 random_;
  MemoryNetwork* network_;
  std::string instance_;
  std::uint32_t next_group_ = 17;
  std::vector<std::shared_ptr<Pipe>> pipes_;
  std::map<std::uint32_t, Group> groups_;
  std::map<std::string, std::uint64_t> orphans_;  // leases without a connection: when their groups go
  std::uint64_t now_ = 0;
};

}  // namespace ina::test
