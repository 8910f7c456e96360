// Point-to-point messages between all pairs of ranks: every way to send, every size around the limits of protocols, wildcards, probes,
// derived types, persistent requests, one-sided windows, and many messages at once. Every byte is checked.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

using ina::test::mix;
using ina::test::Run;

constexpr int kSizes[] = {0, 1, 7, 8, 100, 1000, 1016, 4096, 8176, 8184, 8192, 8193, 20000, 65536, 300001, 1 << 20, (4 << 20) + 3};

std::vector<unsigned char> content(std::uint64_t seed, int source, int bytes) {
  std::vector<unsigned char> made(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < made.size(); i += 8) {
    const std::uint64_t word = mix(seed, static_cast<std::uint64_t>(source), i);
    std::memcpy(&made[i], &word, std::min<std::size_t>(8, made.size() - i));
  }
  return made;
}

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

// A ring: from the left neighbour, to the right one.
void send_each_way(Run& run, Send send, const char* what) {
  const int right = (run.rank() + 1) % run.size(), left = (run.rank() + run.size() - 1) % run.size();
  for (int bytes : kSizes) {
    const auto mine = content(1, run.rank(), bytes), wanted = content(1, left, bytes);
    std::vector<unsigned char> got(mine.size() + 1);
    MPI_Request request;
    MPI_Irecv(got.data(), bytes, MPI_BYTE, left, bytes % 1000, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD); // a ready send needs its receive
    send(mine.data(), bytes, MPI_BYTE, right, bytes % 1000, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    got.resize(mine.size());
    run.expect(count == bytes && status.MPI_SOURCE == left && got == wanted, what, bytes);
  }
}

// Everybody to everybody, all at once, received in the opposite order by tag.
void cross(Run& run) {
  constexpr int kMessages = 40;
  std::vector<std::vector<unsigned char>> sent, got;
  std::vector<MPI_Request> requests;
  const auto bytes_of = [](int source, int target, int message) { return static_cast<int>(mix(3, static_cast<std::uint64_t>(source * 64 + target), static_cast<std::uint64_t>(message)) % 30000); };
  for (int peer = 0; peer < run.size(); ++peer) {
    for (int message = kMessages - 1; message >= 0; --message) {
      got.emplace_back(static_cast<std::size_t>(bytes_of(peer, run.rank(), message)));
      requests.emplace_back();
      MPI_Irecv(got.back().data(), static_cast<int>(got.back().size()), MPI_BYTE, peer, message, MPI_COMM_WORLD, &requests.back());
    }
  }
  for (int message = 0; message < kMessages; ++message) {
    for (int peer = 0; peer < run.size(); ++peer) {
      sent.push_back(content(static_cast<std::uint64_t>(100 + message), run.rank(), bytes_of(run.rank(), peer, message)));
      requests.emplace_back();
      MPI_Isend(sent.back().data(), static_cast<int>(sent.back().size()), MPI_BYTE, peer, message, MPI_COMM_WORLD, &requests.back());
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  std::size_t next = 0;
  for (int peer = 0; peer < run.size(); ++peer) {
    for (int message = kMessages - 1; message >= 0; --message, ++next) {
      run.expect(got[next] == content(static_cast<std::uint64_t>(100 + message), peer, static_cast<int>(got[next].size())), "all to all", message);
    }
  }
}

// Rank 0 takes whatever comes, of an order that only each source has.
void wildcards(Run& run) {
  constexpr int kEach = 50;
  if (run.rank() != 0) {
    for (int i = 0; i < kEach; ++i) {
      const int bytes = (i * 977) % 20000;
      const auto mine = content(static_cast<std::uint64_t>(i), run.rank(), bytes);
      MPI_Send(mine.data(), bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(run.size()));
  for (int i = 0; i < kEach * (run.size() - 1); ++i) {
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::vector<unsigned char> got(static_cast<std::size_t>(bytes));
    MPI_Mrecv(got.data(), bytes, MPI_BYTE, &message, &status);
    run.expect(status.MPI_TAG == next[static_cast<std::size_t>(status.MPI_SOURCE)]++, "order of a source", status.MPI_TAG);
    run.expect(got == content(static_cast<std::uint64_t>(status.MPI_TAG), status.MPI_SOURCE, bytes), "wildcard receive", bytes);
  }
}

// Every second int, both ways at once.
void derived_types(Run& run) {
  const int right = (run.rank() + 1) % run.size(), left = (run.rank() + run.size() - 1) % run.size();
  for (int count : {1, 100, 30000}) {
    MPI_Datatype stride;
    MPI_Type_vector(count, 1, 2, MPI_INT, &stride);
    MPI_Type_commit(&stride);
    std::vector<int> mine(static_cast<std::size_t>(2 * count)), got(mine.size(), -1);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<int>(i) * 3 + run.rank();
    MPI_Sendrecv(mine.data(), 1, stride, right, 5, got.data(), 1, stride, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool right_values = true;
    for (std::size_t i = 0; i < got.size(); ++i) right_values &= got[i] == (i % 2 == 0 ? static_cast<int>(i) * 3 + left : -1);
    run.expect(right_values, "strided", count);
    MPI_Type_free(&stride);
  }
}

void persistent(Run& run) {
  const int right = (run.rank() + 1) % run.size(), left = (run.rank() + run.size() - 1) % run.size();
  std::vector<int> mine(20000), got(mine.size());
  MPI_Request requests[2];
  MPI_Send_init(mine.data(), static_cast<int>(mine.size()), MPI_INT, right, 9, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(got.data(), static_cast<int>(got.size()), MPI_INT, left, 9, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 20; ++round) {
    std::fill(mine.begin(), mine.end(), round * 100 + run.rank());
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    run.expect(std::all_of(got.begin(), got.end(), [&](int value) { return value == round * 100 + left; }), "persistent", round);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Everybody adds to a counter of rank 0, writes its own part of the right neighbour's window, and reads it back.
void one_sided(Run& run) {
  constexpr int kInts = 5000;
  std::vector<int> window(static_cast<std::size_t>(kInts) * 2 + 1, 0), mine(kInts), back(kInts);
  const int right = (run.rank() + 1) % run.size(), left = (run.rank() + run.size() - 1) % run.size();
  for (int i = 0; i < kInts; ++i) mine[static_cast<std::size_t>(i)] = i * 7 + run.rank();
  MPI_Win handle;
  MPI_Win_create(window.data(), static_cast<MPI_Aint>(window.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &handle);
  MPI_Win_fence(0, handle);
  const int one = 1;
  for (int i = 0; i < 10; ++i) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, handle);
  MPI_Put(mine.data(), kInts, MPI_INT, right, 1, kInts, MPI_INT, handle);
  MPI_Win_fence(0, handle);
  MPI_Get(back.data(), kInts, MPI_INT, right, 1, kInts, MPI_INT, handle);
  MPI_Win_fence(0, handle);
  run.expect(back == mine, "what was put and got");
  for (int i = 0; i < kInts; ++i) run.expect(window[static_cast<std::size_t>(i) + 1] == i * 7 + left, "window", i);
  if (run.rank() == 0) run.expect(window[0] == 10 * run.size(), "accumulated", window[0]);
  MPI_Win_free(&handle);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Run run("point_to_point");
  send_each_way(run, MPI_Send, "MPI_Send");
  send_each_way(run, MPI_Ssend, "MPI_Ssend");
  send_each_way(run, MPI_Rsend, "MPI_Rsend");
  cross(run);
  wildcards(run);
  MPI_Barrier(MPI_COMM_WORLD);  // nothing of what follows is for the wildcards
  derived_types(run);
  persistent(run);
  one_sided(run);
  return run.finish();
}
