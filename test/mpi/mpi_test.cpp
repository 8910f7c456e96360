#include "test/mpi/mpi_test.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ina::test {

Run::Run(const char* name) : name_(name) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

void Run::expect(bool fact, const char* what, long detail) {
  if (fact) return;
  if (++failures_ <= 10) std::fprintf(stderr, "%s: rank %d: not true: %s (%ld)\n", name_, rank_, what, detail);
}

int Run::finish() {
  int worst = 0;
  MPI_Reduce(&failures_, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Bcast(&worst, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank_ == 0) {
    std::printf("%s: %s, %llu offloaded, %llu declined, %llu of them for a missing rank, %llu failovers\n", name_, worst == 0 ? "passed" : "FAILED",
                static_cast<unsigned long long>(counter("operations_offloaded")), static_cast<unsigned long long>(counter("operations_declined")),
                static_cast<unsigned long long>(counter("declined_missing")), static_cast<unsigned long long>(counter("failovers")));
    std::fflush(stdout);
  }
  MPI_Finalize();
  return worst == 0 ? 0 : 1;
}

namespace {

// MPI_T stays initialised: Open MPI 4.1.4 does not survive every order of its two finalizations.
class Variables {
 public:
  Variables() {
    int provided = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session_);
  }
  [[nodiscard]] std::uint64_t read(const std::string& wanted) {
    int count = 0;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
      char name[256], help[512];
      int name_size = sizeof name, help_size = sizeof help, verbosity, kind, bind, is_readonly, is_continuous, is_atomic;
      MPI_Datatype type;
      MPI_T_enum values;
      if (MPI_T_pvar_get_info(i, name, &name_size, &verbosity, &kind, &type, &values, help, &help_size, &bind, &is_readonly, &is_continuous,
                              &is_atomic) == MPI_SUCCESS && wanted == name) {
        return read_index(i);
      }
    }
    return 0;
  }

 private:
  [[nodiscard]] std::uint64_t read_index(int index) {
    MPI_T_pvar_handle handle;
    int count = 0;
    unsigned long long value = 0;
    if (MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle, &count) != MPI_SUCCESS) return 0;
    MPI_T_pvar_read(session_, handle, &value);
    MPI_T_pvar_handle_free(session_, &handle);
    return value;
  }

  MPI_T_pvar_session session_{};
};

}  // namespace

std::uint64_t counter(const std::string& name) {
  static Variables variables;
  return variables.read("coll_ina_" + name);
}

bool wait_until_offloaded(MPI_Comm comm, double seconds) {
  const double end = MPI_Wtime() + seconds;
  for (;;) {
    const std::uint64_t before = counter("operations_offloaded");
    int mine = 1, sum = 0;
    for (int i = 0; i < 8; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    int state = counter("operations_offloaded") > before ? 1 : 0;
    if (MPI_Wtime() > end) state = -1;
    int agreed = 0;
    MPI_Reduce(&state, &agreed, 1, MPI_INT, MPI_MIN, 0, comm);  // not an allreduce: it must not change what it looks at
    MPI_Bcast(&agreed, 1, MPI_INT, 0, comm);
    if (agreed != 0) return agreed > 0;
  }
}

long option(int argc, char** argv, const char* name, long otherwise) {
  const std::size_t length = std::strlen(name);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--", 2) == 0 && std::strncmp(argv[i] + 2, name, length) == 0 && argv[i][2 + length] == '=') {
      return std::strtol(argv[i] + 3 + length, nullptr, 0);
    }
  }
  return otherwise;
}

}  // namespace ina::test
