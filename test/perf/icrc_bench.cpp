// icrc_bench.cpp: the ICRC of RDMA WRITE ONLY packets beside zlib's crc32 of the same bytes.
// Rates are bytes of the packet (BTH to pad) per second; the ICRC covers 36 masked bytes more.
#include <benchmark/benchmark.h>
#include <zlib.h>

#include <array>
#include <vector>

#include "wire/icrc.hpp"
#include "wire/roce.hpp"

namespace {

using namespace ina::wire;

constexpr std::size_t kHeaders = kBthBytes + kRethBytes;
constexpr std::size_t kInaHeaderBytes = 24;
constexpr std::size_t kTrailer = 4;

std::vector<std::byte> packet(const benchmark::State& state) {
  std::vector<std::byte> bytes(kHeaders + static_cast<std::size_t>(state.range(0)) + kIcrcBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

IcrcFlow flow() { return {*UdpAddress::parse("10.0.0.1:49152"), *UdpAddress::parse("10.0.0.2:4791")}; }

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * (state.range(0) + static_cast<std::int64_t>(kHeaders)));
}

void zlib_crc32(benchmark::State& state) {
  const std::vector<std::byte> bytes = packet(state);
  const auto size = static_cast<unsigned>(bytes.size() - kIcrcBytes);
  for ([[maybe_unused]] auto round : state) benchmark::DoNotOptimize(::crc32(0, reinterpret_cast<const unsigned char*>(bytes.data()), size));
  count_bytes(state);
}
BENCHMARK(zlib_crc32)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);

void icrc_of_one_piece(benchmark::State& state) {
  const std::vector<std::byte> bytes = packet(state);
  const IcrcFlow addresses = flow();
  const auto covered = std::span(bytes).first(bytes.size() - kIcrcBytes);
  for ([[maybe_unused]] auto round : state) benchmark::DoNotOptimize(addresses.compute(covered));
  count_bytes(state);
}
BENCHMARK(icrc_of_one_piece)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);

// As a sender has it: transport headers, INA header, lanes in the user's buffer, trailer.
void icrc_of_four_pieces(benchmark::State& state) {
  const std::vector<std::byte> bytes = packet(state);
  const IcrcFlow addresses = flow();
  const auto covered = std::span(bytes).first(bytes.size() - kIcrcBytes);
  const std::array<std::span<const std::byte>, 4> pieces{
      covered.first(kHeaders), covered.subspan(kHeaders, kInaHeaderBytes),
      covered.subspan(kHeaders + kInaHeaderBytes, covered.size() - kHeaders - kInaHeaderBytes - kTrailer), covered.last(kTrailer)};
  for ([[maybe_unused]] auto round : state) benchmark::DoNotOptimize(addresses.compute(pieces));
  count_bytes(state);
}
BENCHMARK(icrc_of_four_pieces)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096);

void icrc_is_valid(benchmark::State& state) {
  std::vector<std::byte> bytes = packet(state);
  const IcrcFlow addresses = flow();
  addresses.seal(bytes);
  for ([[maybe_unused]] auto round : state) benchmark::DoNotOptimize(addresses.is_valid(bytes));
  count_bytes(state);
}
BENCHMARK(icrc_is_valid)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
