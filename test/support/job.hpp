// job.hpp: a job of N processes in one program: their cores, messages with seeded delays, a virtual clock, a switch and its manager.
// Used by the tests of lives, decisions and failovers.
// Has no sockets, no sleeps and no Open MPI: what the component below would do is a rendezvous that also checks that all ranks go the same way.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "ompi_coll_ina/core/core.hpp"
#include "test/support/fake_manager.hpp"
#include "test/support/memory_network.hpp"

namespace ina::test {

class Job;

struct JobSpec {
  int size = 4;
  std::uint64_t seed = 1;
  std::string switch_address = "10.0.0.1:5050";
  std::string select = "always";
  int verbose = 1;
  bool one_node = false;  // coll_ina_one_node
  int failover_ms = 250;
  std::uint64_t max_delay_ns = 20'000;  // of a message
  std::size_t max_payload = 256;
  // What the component below takes from the last member's call on, by size in bytes.
  std::function<std::uint64_t(std::size_t)> below_ns = [](std::size_t) { return std::uint64_t{0}; };
  // A process's chance to get a turn, by rank; empty: all alike.
  std::vector<double> speeds = {};
};

// One communicator as all its members see it.
struct TestComm {
  std::string name;
  std::vector<int> world_ranks;
  std::vector<ina_comm*> comms;       // per member; null once freed there
  std::vector<std::uint64_t> called;  // operations that the member has called
  std::vector<int> held;              // per member: retain minus release
  // By index of the operation: which members ran it in the component below, and their inputs.
  struct Below {
    std::map<int, std::vector<std::int64_t>> inputs;
    std::uint64_t complete_at = 0;
  };
  std::map<std::uint64_t, Below> below;
  std::map<std::uint64_t, std::map<int, ina_route>> routes;
  [[nodiscard]] int size() const { return static_cast<int>(world_ranks.size()); }
};

// One allreduce (sum of int64 or of float64) of one member: input and expected result follow from the communicator, the index and the member.
struct Call {
  TestComm* comm = nullptr;
  int member = 0;
  std::uint64_t index = 0;
  bool is_blocking = false;
  bool is_in_place = false;
  int lane_type = INA_LANE_INT64;
  std::vector<std::int64_t> input, output;
  ina_operation* operation = nullptr;
  bool is_complete = false;
  bool is_below = false;
  bool is_posted = false;
  bool is_timed = false;
  int status = 0;
};

// One process: its core, and the program that it runs, which is a list of steps. A step returns true when it is done; until then the process progresses.
class Process {
 public:
  using Step = std::function<bool(Process&)>;
  Process(Job& job, int rank);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Steps to be appended.
  void allreduce(TestComm&, std::size_t lanes, bool in_place = false);
  void iallreduce(TestComm&, std::size_t lanes, bool in_place = false);  // posted, not waited for
  void allreduce_doubles(TestComm&, std::size_t lanes);
  void iallreduce_doubles(TestComm&, std::size_t lanes);
  void wait_all();
  void free(TestComm&);
  void shut_down();
  void sleep_until(std::function<bool()> condition);  // outside of MPI: does not progress
  void then(std::function<void()> action);

  [[nodiscard]] bool is_done() const { return steps_.empty(); }
  void turn();
  [[nodiscard]] ina_core& core() { return *core_; }
  [[nodiscard]] const ina_counters& counters() { return *ina_core_counters(core_.get()); }

  std::vector<std::string> log;
  std::vector<std::string> help;

 private:
  friend class Job;
  void append(std::shared_ptr<Call>, std::size_t lanes);
  [[nodiscard]] std::shared_ptr<Call> make_call(TestComm&, int lane_type, bool is_blocking, bool is_in_place);
  void begin(Call&, std::size_t lanes);
  bool run_below(Call&);
  bool advance(Call&);
  void check(Call&);

  Job& job_;
  const int rank_;
  bool is_asleep_ = false;
  std::unique_ptr<ina_core> core_;
  std::deque<Step> steps_;
  std::deque<std::shared_ptr<Call>> outstanding_;
};

class Job {
 public:
  explicit Job(const JobSpec&);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  TestComm& make_comm(const std::string& name, const std::vector<int>& world_ranks, bool all_on_one_node = false);
  TestComm& make_world();
  // Turns of random processes until all programs have ended. Fails if `virtual_ns` have passed before.
  void run(std::uint64_t virtual_ns = 120'000'000'000);
  // Until the condition holds; false if time is up.
  bool run_until(const std::function<bool()>& condition, std::uint64_t virtual_ns = 60'000'000'000);
  [[nodiscard]] Process& process(int rank) { return *processes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  void skip(std::uint64_t ns) { now_ += ns; }
  // All processes append the same.
  void each(const std::function<void(Process&, int rank)>& action);
  [[nodiscard]] std::string state() const;

  JobSpec spec;
  std::mt19937_64 random;
  MemoryNetwork network;
  FakeManager manager;

 private:
  friend class Process;
  struct Message {
    int source;
    std::vector<std::byte> bytes;
    std::uint64_t at;
  };
  struct Request {
    bool is_send = false;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    int source = 0;
    bool is_done = false;
    std::uint64_t at = 0;
  };
  struct Mailbox {
    std::deque<Message> messages;
    std::deque<Request*> receives;
  };
  using MailboxKey = std::tuple<void*, int, int>;  // communicator, receiver (in it), tag

  void turn();
  void match(Mailbox&);
  [[nodiscard]] int rank_in(void* comm, int world_rank) const;
  [[nodiscard]] ina_host host_of(int rank);

  std::uint64_t now_ = 1'000'000;
  std::map<MailboxKey, Mailbox> mailboxes_;
  std::map<std::pair<MailboxKey, int>, std::uint64_t> last_arrival_;
  std::vector<std::unique_ptr<TestComm>> comms_;
  struct HostContext {
    Job* job;
    int rank;
  };
  std::deque<HostContext> contexts_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace ina::test
