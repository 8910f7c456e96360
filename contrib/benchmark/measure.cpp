// measure: how long MPI_Allreduce takes, on rank 0 in one line of JSON per size. contrib/bench runs it once per variant and round.
// Every result is checked. What is timed and counted is the call alone: vectors are filled and compared in between.
#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include "contrib/benchmark/network_counters.hpp"
#include "contrib/benchmark/options.hpp"
#include "contrib/benchmark/pattern.hpp"
#include "contrib/demo/counters.hpp"

namespace ina::benchmark {
namespace {

// As long as the first offloaded operation may take to come; then it is said that nothing is offloaded.
constexpr double kSetUpSeconds = 20.0;
constexpr int kWarmUps = 3;
constexpr double kWarmUpSeconds = 0.5;
// Calls of one size until coll_ina_select=auto has chosen, at most.
struct Trial {
  std::size_t largest_bytes;
  int calls;
};
constexpr Trial kTrials[] = {{32 << 10, 42}, {512 << 10, 22}, {~std::size_t{0}, 12}};
// A batch of calls back to back; its mean is one sample.
constexpr int kBatch = 20;

// User and system time of all threads of this process.
[[nodiscard]] double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Job {
  int rank = 0;
  int ranks = 0;
  bool speaks_for_host = false;
  int hosts = 0;
};

[[nodiscard]] Job find_job() {
  Job job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank_on_host = 0;
  MPI_Comm_rank(host, &rank_on_host);
  MPI_Comm_free(&host);
  job.speaks_for_host = rank_on_host == 0;
  int one = job.speaks_for_host ? 1 : 0;
  MPI_Reduce(&one, &job.hosts, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  return job;
}

[[nodiscard]] unsigned long long sum_over_ranks(unsigned long long mine) {
  unsigned long long sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

// Groups are asked for at the first call, and offloading, or comparing it with software, begins some calls later.
void wait_for_offload(const demo::Counters& counters) {
  const double start = MPI_Wtime();
  for (;;) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int goes_on = !counters.is_empty() && counters.value("coll_ina_operations_offloaded") == 0 &&
                  counters.value("coll_ina_declined_cost") == 0 && counters.value("coll_ina_declined_no_switch") == 0 && MPI_Wtime() - start < kSetUpSeconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (goes_on == 0) return;
  }
}

// What is counted over the timed calls of one size.
struct Totals {
  NetworkCounters network;
  unsigned long long offloaded = 0;
  unsigned long long retransmissions = 0;
};

[[nodiscard]] Totals totals_now(const demo::Counters& counters) {
  return {.network = read_network_counters(), .offloaded = counters.value("coll_ina_operations_offloaded"),
          .retransmissions = counters.value("coll_ina_retransmissions")};
}

struct Samples {
  std::vector<double> times_us;
  double processor_s = 0;
  unsigned long long calls = 0;
  unsigned long long wrong = 0;
  Totals before, after;
};

template <typename T>
class Measurement {
 public:
  Measurement(const Options& options, const Job& job, MPI_Datatype type, MPI_Op op, std::size_t bytes)
      : options_(options), job_(job), type_(type), op_(op), pattern_(options.operation, job.ranks), in_(bytes / sizeof(T)), out_(in_.size()),
        calls_(bytes <= options.back_to_back ? kBatch : 1) {}

  // What is counted begins after the warm-up.
  [[nodiscard]] Samples run(const demo::Counters& counters) {
    const int iterations = agree_on_iterations();
    samples_ = {};
    samples_.before = totals_now(counters);
    samples_.times_us.reserve(static_cast<std::size_t>(iterations));
    for (int i = 0; i < iterations; ++i) sample();
    samples_.after = totals_now(counters);
    return std::move(samples_);
  }

 private:
  // Warms up, then rank 0 tells how many samples fit into the time.
  [[nodiscard]] int agree_on_iterations() {
    const double start = MPI_Wtime();
    int goes_on = 1;
    for (int i = 1; goes_on != 0; ++i) {
      sample();
      goes_on = i < kWarmUps && MPI_Wtime() - start < kWarmUpSeconds ? 1 : 0;
      if (options_.settles && i * calls_ < trial_calls()) goes_on = 1;
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    const double each_s = std::max(samples_.times_us.back() * 1e-6 * calls_, 1e-7);
    int iterations = static_cast<int>(std::clamp(options_.seconds / each_s, double(options_.min_iterations), double(options_.max_iterations)));
    MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return iterations;
  }

  [[nodiscard]] int trial_calls() const {
    const std::size_t bytes = in_.size() * sizeof(T);
    return std::find_if(std::begin(kTrials), std::end(kTrials), [bytes](const Trial& trial) { return bytes <= trial.largest_bytes; })->calls;
  }

  void sample() {
    ++round_;
    pattern_.fill(in_.data(), in_.size(), job_.rank, round_);
    std::fill(out_.begin(), out_.end(), T{});
    MPI_Barrier(MPI_COMM_WORLD);
    const double processor_before = processor_seconds();
    const double start = MPI_Wtime();
    for (int i = 0; i < calls_; ++i) MPI_Allreduce(in_.data(), out_.data(), static_cast<int>(in_.size()), type_, op_, MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    samples_.processor_s += processor_seconds() - processor_before;
    samples_.times_us.push_back((end - start) * 1e6 / calls_);
    samples_.calls += static_cast<unsigned long long>(calls_);
    samples_.wrong += pattern_.count_wrong(out_.data(), out_.size(), round_);
  }

  const Options& options_;
  const Job& job_;
  MPI_Datatype type_;
  MPI_Op op_;
  Pattern<T> pattern_;
  std::vector<T> in_, out_;
  int calls_;  // of a sample
  unsigned round_ = 0;
  Samples samples_;
};

// Of each call, the time of the slowest rank.
[[nodiscard]] std::vector<double> slowest(const std::vector<double>& mine) {
  std::vector<double> most(mine.size());
  MPI_Reduce(mine.data(), most.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  std::sort(most.begin(), most.end());
  return most;
}

// Returns how many elements were wrong on any rank; rank 0 alone knows.
unsigned long long report(const Job& job, std::size_t bytes, const Samples& samples) {
  const Totals &before = samples.before, &after = samples.after;
  const std::vector<double> times = slowest(samples.times_us);
  double processor_s = 0;
  MPI_Reduce(&samples.processor_s, &processor_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  NetworkCounters sent;
  for (std::size_t i = 0; i < NetworkCounters::kCount; ++i) {
    sent.values[i] = sum_over_ranks(job.speaks_for_host ? after.network.values[i] - before.network.values[i] : 0);
  }
  const auto retransmissions = sum_over_ranks(after.retransmissions - before.retransmissions);
  const auto wrong = sum_over_ranks(samples.wrong);
  if (job.rank == 0) {
    std::printf("{\"bytes\": %zu, \"ranks\": %d, \"hosts\": %d, \"calls\": %llu, \"median_us\": %.2f, \"min_us\": %.2f, \"max_us\": %.2f, "
                "\"cpu_s\": %.6f, \"offloaded\": %llu, \"packets\": %llu, \"wire_bytes\": %llu, \"tcp_retransmissions\": %llu, "
                "\"ina_retransmissions\": %llu, \"wrong\": %llu}\n",
                bytes, job.ranks, job.hosts, samples.calls, times[times.size() / 2], times.front(), times.back(), processor_s,
                after.offloaded - before.offloaded, sent.values[NetworkCounters::kPackets], sent.values[NetworkCounters::kBytes],
                sent.values[NetworkCounters::kTcpRetransmissions], retransmissions, wrong);
    std::fflush(stdout);
  }
  return wrong;
}

template <typename T>
unsigned long long measure_all(const Options& options, MPI_Datatype type) {
  const Job job = find_job();
  demo::Counters counters;
  wait_for_offload(counters);
  const MPI_Op op = options.operation == Operation::kSum ? MPI_SUM : options.operation == Operation::kMin ? MPI_MIN : MPI_MAX;
  unsigned long long wrong = 0;
  for (const std::size_t bytes : options.sizes) {
    Measurement<T> measurement(options, job, type, op, bytes);
    wrong += report(job, bytes, measurement.run(counters));
  }
  counters.end();
  return wrong;
}

}  // namespace
}  // namespace ina::benchmark

int main(int argc, char** argv) {
  using namespace ina::benchmark;
  Options options;
  if (const std::string wrong = parse(argc, argv, options); !wrong.empty()) {
    std::fprintf(stderr, "measure: %s\n%s", wrong.c_str(), kUsage);
    return 2;
  }
  MPI_Init(&argc, &argv);
  unsigned long long wrong = 0;
  if (options.type == "float") wrong = measure_all<float>(options, MPI_FLOAT);
  else if (options.type == "double") wrong = measure_all<double>(options, MPI_DOUBLE);
  else if (options.type == "int32") wrong = measure_all<std::int32_t>(options, MPI_INT32_T);
  else wrong = measure_all<std::int64_t>(options, MPI_INT64_T);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
