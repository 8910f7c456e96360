// Communicators in every shape: duplicated, split and freed in loops, of one rank, joined to inter-communicators, made from groups, many alive
// at once; some never freed.
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

void check_sum(ina::test::Run& run, MPI_Comm comm, int times, const char* what) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < times; ++i) {
    const int mine = rank + i;
    int sum = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    run.expect(sum == size * (size - 1) / 2 + i * size, what, i);
  }
}

void loop(ina::test::Run& run, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm dup, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    check_sum(run, dup, 1 + round % 5, "duplicate");
    MPI_Comm_split(dup, run.rank() % 2, -run.rank(), &half);
    check_sum(run, half, 3, "split");
    if (round % 2 == 0) {
      MPI_Comm_free(&dup);
      check_sum(run, half, 2, "split whose parent is gone");
      MPI_Comm_free(&half);
    } else {
      MPI_Comm_free(&half);
      MPI_Comm_free(&dup);
    }
  }
}

// Freed while operations are outstanding: they complete, and the communicator goes then.
void free_early(ina::test::Run& run) {
  for (int round = 0; round < 12; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_sum(run, comm, round, "before");
    constexpr int kOutstanding = 5;
    int mine = run.rank(), sums[kOutstanding];
    MPI_Request requests[kOutstanding];
    for (int k = 0; k < kOutstanding; ++k) MPI_Iallreduce(&mine, &sums[k], 1, MPI_INT, MPI_SUM, comm, &requests[k]);
    MPI_Comm_free(&comm);
    MPI_Waitall(kOutstanding, requests, MPI_STATUSES_IGNORE);
    for (const int sum : sums) run.expect(sum == run.size() * (run.size() - 1) / 2, "an operation of a communicator that is freed", round);
  }
}

void inter(ina::test::Run& run) {
  if (run.size() < 2) return;
  MPI_Comm half, between, merged;
  const int side = run.rank() % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, run.rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 4711, &between);
  int mine = 1, sum = 0, theirs = 0;
  MPI_Comm_remote_size(between, &theirs);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
  run.expect(sum == theirs, "an inter-communicator sums the other group");
  run.expect(ina::test::counter("declined_comm") > 0, "and is declined");
  MPI_Intercomm_merge(between, side, &merged);
  check_sum(run, merged, 3, "merged");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

// Open MPI agrees on the duplicate's number by reductions of its own over the parent, at another moment on every rank.
void duplicate_meanwhile(ina::test::Run& run) {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm parent, dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    check_sum(run, parent, 20, "parent");
    MPI_Request request;
    MPI_Comm_idup(parent, &dup, &request);
    check_sum(run, parent, 20, "parent of a duplicate under way");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(run, parent, 5, "parent of a duplicate");
    MPI_Comm_free(&parent);
    check_sum(run, dup, 5, "non-blocking duplicate");
    MPI_Comm_free(&dup);
  }
}

void groups(ina::test::Run& run) {
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  std::vector<int> ranks;
  for (int rank = run.size() - 1; rank >= 1; --rank) ranks.push_back(rank);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &some);
  if (run.rank() != 0 && !ranks.empty()) {
    MPI_Comm comm;
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 17, &comm);
    check_sum(run, comm, 4, "created from a group");
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&world);
}

void many(ina::test::Run& run, int count) {
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(count));
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int round = 0; round < 20; ++round) {
    for (MPI_Comm comm : comms) check_sum(run, comm, 1, "one of many");
  }
  for (std::size_t i = 0; i < comms.size(); i += 2) MPI_Comm_free(&comms[i]);  // the others never
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("communicators");
  if (ina::test::option(argc, argv, "offloaded", 1) != 0) run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  check_sum(run, MPI_COMM_SELF, 3, "MPI_COMM_SELF");
  loop(run, static_cast<int>(ina::test::option(argc, argv, "rounds", 20)));
  free_early(run);
  inter(run);
  groups(run);
  duplicate_meanwhile(run);
  many(run, static_cast<int>(ina::test::option(argc, argv, "many", 12)));
  MPI_Comm left_over;
  MPI_Comm_dup(MPI_COMM_WORLD, &left_over);
  check_sum(run, left_over, 10, "never freed");
  return run.finish();
}
