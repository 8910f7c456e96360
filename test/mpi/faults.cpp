// Operations of several kinds without a pause, while the script does something to the switch. What this program waits for is said by --until:
//   failover: the switch goes away; until all ranks have failed over, and some operations more
//   return: the switch goes away and comes back; until operations are offloaded again after a failover
//   finalize: the switch goes away while nobody reduces; then MPI_Finalize
//   rounds: --rounds rounds, and --min-seconds
// Every result is checked on every rank. Rank 0 says "offloading" when the switch is at work, for the script.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

using ina::test::counter;

class Work {
 public:
  Work(ina::test::Run& run, int argc, char** argv) : run_(run), sleep_ms_(ina::test::option(argc, argv, "sleep-ms", 0)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &other_);
  }

  void round() {
    ++round_;
    integers(1 + round_ % 9, MPI_COMM_WORLD, round_ % 2 == 0);
    integers(20000 + round_ % 1000, MPI_COMM_WORLD, round_ % 2 != 0);
    several();
    if (sleep_ms_ > 0 && round_ % 40 == 20 && run_.rank() == run_.size() - 1) usleep(static_cast<useconds_t>(sleep_ms_ * 1000));
  }

  [[nodiscard]] long rounds() const { return round_; }

 private:
  void integers(long count, MPI_Comm comm, bool in_place) {
    std::vector<int> mine(static_cast<std::size_t>(count)), sum(mine.size(), -1);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<int>(i) * 3 + run_.rank() + static_cast<int>(round_);
    if (in_place) sum = mine;
    MPI_Allreduce(in_place ? MPI_IN_PLACE : mine.data(), sum.data(), static_cast<int>(count), MPI_INT, MPI_SUM, comm);
    check(sum);
  }

  void several() {
    constexpr int kOutstanding = 4;
    std::vector<std::vector<int>> sums;
    MPI_Request requests[kOutstanding];
    for (int k = 0; k < kOutstanding; ++k) {
      std::vector<int> v(static_cast<std::size_t>(k == 2 ? 7000 : 3 + k));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int>(i) * 3 + run_.rank() + static_cast<int>(round_);
      sums.push_back(std::move(v));
    }
    for (int k = 0; k < kOutstanding; ++k) {
      std::vector<int>& v = sums[static_cast<std::size_t>(k)];
      MPI_Iallreduce(MPI_IN_PLACE, v.data(), static_cast<int>(v.size()), MPI_INT, MPI_SUM, k % 2 == 0 ? other_ : MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(kOutstanding, requests, MPI_STATUSES_IGNORE);
    for (const std::vector<int>& sum : sums) check(sum);
  }

  void check(const std::vector<int>& sum) {
    const int n = run_.size();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (sum[i] != static_cast<int>(i) * 3 * n + n * (n - 1) / 2 + n * static_cast<int>(round_)) {
        run_.expect(false, "a sum", static_cast<long>(i));
        return;
      }
    }
  }

  ina::test::Run& run_;
  MPI_Comm other_ = MPI_COMM_NULL;
  long sleep_ms_;
  long round_ = 0;
};

// True on all ranks once it is true on all; by messages that are no allreduce.
bool everywhere(bool mine) {
  int state = mine ? 1 : 0, all = 0;
  MPI_Reduce(&state, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return all != 0;
}

std::string until(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--until=", 8) == 0) return argv[i] + 8;
  }
  return "rounds";
}

// Rank 0 connects to the port until nobody listens there any more; the others wait for it.
void wait_until_refused(const ina::test::Run& run, int port) {
  while (run.rank() == 0) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_refused = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
    close(fd);
    if (is_refused) break;
    usleep(10000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void say(const ina::test::Run& run, const char* what) {
  if (run.rank() != 0) return;
  std::printf("%s\n", what);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("faults");
  const std::string goal = until(argc, argv);
  const double end = MPI_Wtime() + static_cast<double>(ina::test::option(argc, argv, "seconds", 60));
  if (ina::test::option(argc, argv, "offloaded", 1) != 0) run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  say(run, "offloading");
  Work work(run, argc, argv);
  const auto run_until = [&](auto&& reached, const char* what) {
    for (;;) {
      work.round();
      if (everywhere(reached())) return;
      if (!everywhere(MPI_Wtime() < end)) {
        run.expect(false, what, work.rounds());
        return;
      }
    }
  };
  if (goal == "finalize") {
    wait_until_refused(run, static_cast<int>(ina::test::option(argc, argv, "port", 0)));
  } else if (goal == "rounds") {
    const long rounds = ina::test::option(argc, argv, "rounds", 100);
    const double earliest = MPI_Wtime() + static_cast<double>(ina::test::option(argc, argv, "min-seconds", 0));
    run_until([&] { return work.rounds() >= rounds && MPI_Wtime() >= earliest; }, "all rounds are done in time");
    if (ina::test::option(argc, argv, "no-failover", 0) != 0) run.expect(counter("failovers") == 0, "no failover");
  } else {
    run_until([] { return counter("failovers") > 0; }, "the failover");
    say(run, "failed over");
    if (goal == "return") {
      const std::uint64_t before = counter("operations_offloaded");
      run_until([before] { return counter("operations_offloaded") > before + 10; }, "the return of the switch");
      say(run, "offloading again");
    }
    for (int i = 0; i < 20; ++i) work.round();
  }
  return run.finish();
}
