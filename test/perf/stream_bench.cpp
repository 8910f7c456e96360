// stream_bench.cpp: what the stream costs beside memcpys of the same bytes (in, across, out): a ring whose PUTs come back at once as results, no network.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "ompi_coll_ina/core/aligned_memory.hpp"
#include "ompi_coll_ina/core/stream.hpp"
#include "wire/ina_header.hpp"

namespace {

using namespace ina;

constexpr std::uint32_t kWindow = 64;
constexpr std::size_t kPayload = 4096;

class MirrorRing final : public core::Ring {
 public:
  MirrorRing() : mailbox_(2 * kWindow * kPayload), sources_(2 * kWindow * kPayload) {}
  std::vector<std::byte> address() const override { return {}; }
  void connect(std::span<const std::byte>, std::span<const std::byte>) override {}
  std::span<std::byte> mailbox() noexcept override { return mailbox_.bytes(); }
  std::span<std::byte> source_buffers() noexcept override { return sources_.bytes(); }
  std::uint64_t right_mailbox() const noexcept override { return 0; }
  core::PutStatus put_right(const std::byte* source, std::size_t bytes, std::size_t offset, core::PutCompletion*) noexcept override {
    std::byte* to = mailbox_.bytes().data() + offset;
    std::memcpy(to, source, bytes);
    to[3] = std::byte{static_cast<unsigned char>(wire::Kind::kResult)};
    to[7] = std::byte{2};  // contributions
    return core::PutStatus::kDone;
  }
  core::PutStatus put_left(const std::byte*, std::size_t, core::PutCompletion*) noexcept override { return core::PutStatus::kDone; }
  bool has_failed() const noexcept override { return false; }
  void destroy_endpoints() noexcept override {}

 private:
  core::AlignedMemory mailbox_, sources_;
};

void stream_allreduce(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  MirrorRing ring;
  core::Stream stream({.group = 1, .epoch = 2, .member = 0, .members = 2, .window = kWindow, .first_seq = 0, .payload = kPayload}, ring);
  stream.bind();
  std::vector<std::byte> source(bytes), destination(bytes);
  for (auto _ : state) {
    core::HostLanes lanes(wire::LaneType::kFloat64, core::Encoding::kIdentity, source.data(), destination.data(), bytes / 8);
    core::StreamOperation operation(wire::Op::kSum, lanes);
    stream.post(operation);
    while (!operation.is_done()) stream.progress();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(stream_allreduce)->Arg(8)->Arg(65536);

// Three copies: into the source buffer, over the "wire", into the destination.
void memcpy_three_times(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> a(bytes), b(bytes), c(bytes), d(bytes);
  for (auto _ : state) {
    std::memcpy(b.data(), a.data(), bytes);
    benchmark::ClobberMemory();
    std::memcpy(c.data(), b.data(), bytes);
    benchmark::ClobberMemory();
    std::memcpy(d.data(), c.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(memcpy_three_times)->Arg(65536);

}  // namespace

BENCHMARK_MAIN();
