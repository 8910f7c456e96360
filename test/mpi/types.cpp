// Every predefined type x operation x count, in place and not: integers bit for bit as every rank computes them itself, floats bit for bit
// the sum in member order where the switch did it.
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

using ina::test::counter;
using ina::test::mix;

constexpr std::size_t kCounts[] = {1, 3, 8, 127, 1021, 4099};

struct Context {
  ina::test::Run& run;
  std::uint64_t seed;
  bool is_offloaded = false;
  std::uint64_t cases = 0;
};

template <typename T>
T element(std::uint64_t seed, int rank, std::size_t index) {
  const std::uint64_t bits = mix(seed, static_cast<std::uint64_t>(rank), index);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(bits >> 20) - (std::int64_t{1} << 43)) * static_cast<T>(1e-9);
  } else {
    return static_cast<T>(bits);
  }
}

template <typename T>
T wrapped_sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

template <typename T>
T combine(MPI_Op op, T a, T b) {
  if (op == MPI_SUM) return wrapped_sum(a, b);
  if (op == MPI_MIN) return b < a ? b : a;
  if (op == MPI_MAX) return b > a ? b : a;
  if constexpr (!std::is_floating_point_v<T>) {
    if (op == MPI_BAND) return static_cast<T>(a & b);
    if (op == MPI_BOR) return static_cast<T>(a | b);
    if (op == MPI_BXOR) return static_cast<T>(a ^ b);
    if (op == MPI_LAND) return static_cast<T>(a != 0 && b != 0);
    if (op == MPI_LOR) return static_cast<T>(a != 0 || b != 0);
    if (op == MPI_LXOR) return static_cast<T>((a != 0) != (b != 0));
  }
  return T{};
}

// Open MPI 4.1.4 compares MPI_UNSIGNED_LONG as if it were signed, and MPI_OFFSET and MPI_COUNT as if they were not.
bool is_wrong_in_open_mpi(MPI_Datatype type, MPI_Op op) {
  return (type == MPI_UNSIGNED_LONG || type == MPI_OFFSET || type == MPI_COUNT) && (op == MPI_MIN || op == MPI_MAX);
}

// Sums of 8 and 16 bits saturate in some versions of Open MPI's vector code; the scripts switch that off, so software wraps as the switch does.
template <typename T>
void check(Context& c, const char* type_name, MPI_Datatype type, MPI_Op op, bool sparse) {
  for (const std::size_t count : kCounts) {
    const std::uint64_t seed = c.seed + ++c.cases;
    const auto make = [&](int rank) {
      std::vector<T> v(count);
      for (std::size_t i = 0; i < count; ++i) {
        v[i] = element<T>(seed, rank, i);
        if (sparse && mix(seed + 7, static_cast<std::uint64_t>(rank), i) % 2 == 0) v[i] = T{};
      }
      return v;
    };
    std::vector<T> expected = make(0);
    for (int rank = 1; rank < c.run.size(); ++rank) {
      const std::vector<T> theirs = make(rank);
      for (std::size_t i = 0; i < count; ++i) expected[i] = combine(op, expected[i], theirs[i]);
    }
    std::vector<T> result = make(c.run.rank());
    const std::uint64_t before = counter("operations_offloaded");
    if (c.cases % 2 == 0) {
      MPI_Allreduce(MPI_IN_PLACE, result.data(), static_cast<int>(count), type, op, MPI_COMM_WORLD);
    } else {
      const std::vector<T> mine = result;
      MPI_Allreduce(mine.data(), result.data(), static_cast<int>(count), type, op, MPI_COMM_WORLD);
    }
    const bool was_offloaded = counter("operations_offloaded") > before;
    if (c.is_offloaded) c.run.expect(was_offloaded, type_name, static_cast<long>(count));
    if (std::is_floating_point_v<T> && op == MPI_SUM && !was_offloaded) {
      for (std::size_t i = 0; i < count; ++i) {
        const T difference = result[i] > expected[i] ? result[i] - expected[i] : expected[i] - result[i];
        const T bound = static_cast<T>(c.run.size()) * static_cast<T>(9000) * std::numeric_limits<T>::epsilon();
        c.run.expect(difference <= bound, type_name, static_cast<long>(i));
      }
    } else if (was_offloaded || !is_wrong_in_open_mpi(type, op)) {
      c.run.expect(std::memcmp(result.data(), expected.data(), count * sizeof(T)) == 0, type_name, static_cast<long>(count));
    }
  }
}

template <typename T>
void check_integer(Context& c, const char* name, MPI_Datatype type, bool has_logical = true) {
  for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR}) check<T>(c, name, type, op, false);
  if (!has_logical) return;
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) check<T>(c, name, type, op, true);
}

template <typename T>
void check_real(Context& c, const char* name, MPI_Datatype type) {
  for (const MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX}) check<T>(c, name, type, op, false);
}

void check_bool(Context& c, const char* name, MPI_Datatype type) {
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) {
    const std::uint64_t seed = c.seed + ++c.cases;
    constexpr std::size_t kCount = 513;
    bool mine[kCount], expected[kCount], result[kCount];
    for (std::size_t i = 0; i < kCount; ++i) {
      mine[i] = (mix(seed, static_cast<std::uint64_t>(c.run.rank()), i) & 1) != 0;
      expected[i] = (mix(seed, 0, i) & 1) != 0;
      for (int rank = 1; rank < c.run.size(); ++rank) {
        expected[i] = combine<int>(op, expected[i], (mix(seed, static_cast<std::uint64_t>(rank), i) & 1) != 0) != 0;
      }
    }
    MPI_Allreduce(mine, result, kCount, type, op, MPI_COMM_WORLD);
    c.run.expect(std::memcmp(result, expected, sizeof result) == 0, name);
  }
}

template <typename T>
void check_logical(Context& c, const char* name, MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return;
  int size = 0;
  MPI_Type_size(type, &size);
  if (size != sizeof(T)) return;
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) check<T>(c, name, type, op, true);
}

void check_all(Context& c) {
  check_integer<signed char>(c, "MPI_SIGNED_CHAR", MPI_SIGNED_CHAR);
  check_integer<unsigned char>(c, "MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR);
  check_integer<short>(c, "MPI_SHORT", MPI_SHORT);
  check_integer<unsigned short>(c, "MPI_UNSIGNED_SHORT", MPI_UNSIGNED_SHORT);
  check_integer<int>(c, "MPI_INT", MPI_INT);
  check_integer<unsigned>(c, "MPI_UNSIGNED", MPI_UNSIGNED);
  check_integer<long>(c, "MPI_LONG", MPI_LONG);
  check_integer<unsigned long>(c, "MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG);
  check_integer<long long>(c, "MPI_LONG_LONG", MPI_LONG_LONG);
  check_integer<unsigned long long>(c, "MPI_UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG);
  check_integer<std::int8_t>(c, "MPI_INT8_T", MPI_INT8_T);
  check_integer<std::uint64_t>(c, "MPI_UINT64_T", MPI_UINT64_T);
  check_integer<MPI_Aint>(c, "MPI_AINT", MPI_AINT, false);
  check_integer<MPI_Offset>(c, "MPI_OFFSET", MPI_OFFSET, false);
  check_integer<MPI_Count>(c, "MPI_COUNT", MPI_COUNT, false);
  for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) check<std::uint8_t>(c, "MPI_BYTE", MPI_BYTE, op, false);
  check_real<float>(c, "MPI_FLOAT", MPI_FLOAT);
  check_real<double>(c, "MPI_DOUBLE", MPI_DOUBLE);
  check_bool(c, "MPI_C_BOOL", MPI_C_BOOL);
  check_bool(c, "MPI_CXX_BOOL", MPI_CXX_BOOL);
  check_logical<std::int32_t>(c, "MPI_LOGICAL", MPI_LOGICAL);
  check_integer<std::int32_t>(c, "MPI_INTEGER", MPI_INTEGER, false);
  check_integer<std::int8_t>(c, "MPI_INTEGER1", MPI_INTEGER1, false);
  check_integer<std::int64_t>(c, "MPI_INTEGER8", MPI_INTEGER8, false);
  check_real<float>(c, "MPI_REAL", MPI_REAL);
  check_real<double>(c, "MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION);
}

// What the switch does not do is declined, counted by reason, and right.
void check_declined(Context& c, bool has_component) {
  const int n = c.run.size();
  struct { double value; int rank; } in{static_cast<double>(c.run.rank()), c.run.rank()}, out{};
  const std::uint64_t ops_before = counter("declined_op");
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  c.run.expect(out.rank == n - 1, "MAXLOC");
  std::int64_t factor = 2, product = 0;
  MPI_Allreduce(&factor, &product, 1, MPI_INT64_T, MPI_PROD, MPI_COMM_WORLD);
  c.run.expect(product == std::int64_t{1} << n, "PROD");
  if (has_component) c.run.expect(counter("declined_op") == ops_before + 2, "two operations declined for their op");
  const std::uint64_t types_before = counter("declined_type");
  long double one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  c.run.expect(sum == static_cast<long double>(n), "long double");
  std::complex<double> z{1, 2}, w{};
  MPI_Allreduce(&z, &w, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  c.run.expect(w == std::complex<double>(n, 2.0 * n), "complex");
  if (has_component) c.run.expect(counter("declined_type") == types_before + 2, "two operations declined for their type");
  std::vector<int> large(50000, c.run.rank() + 1), large_product(50000);
  MPI_Allreduce(large.data(), large_product.data(), 50000, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
  int expected = 1;
  for (int i = 1; i <= n; ++i) expected *= i;
  c.run.expect(large_product.front() == expected && large_product.back() == expected, "a large PROD");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("types");
  Context context{run, static_cast<std::uint64_t>(ina::test::option(argc, argv, "seed", 1))};
  if (ina::test::option(argc, argv, "offloaded", 1) != 0) {
    context.is_offloaded = ina::test::wait_until_offloaded(MPI_COMM_WORLD);
    run.expect(context.is_offloaded, "the switch is reached");
  }
  check_all(context);
  check_declined(context, ina::test::option(argc, argv, "component", 1) != 0);
  int nothing = 5;
  MPI_Allreduce(nullptr, &nothing, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  run.expect(nothing == 5, "count 0 writes nothing");
  return run.finish();
}
