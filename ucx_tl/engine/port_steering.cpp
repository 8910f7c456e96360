#include "ucx_tl/engine/port_steering.hpp"

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ina::engine {
namespace {

constexpr std::size_t kMostExceptions = 256;
constexpr std::uint32_t kOffsetOfOpcode = 0;  // from the UDP payload on, which is where the kernel lets the program begin
constexpr std::uint32_t kOffsetOfPlace = 1;
constexpr std::uint32_t kOffsetOfTopByte = 5;

constexpr sock_filter load_byte(std::uint32_t offset) noexcept { return {.code = BPF_LD | BPF_B | BPF_ABS, .jt = 0, .jf = 0, .k = offset}; }
constexpr sock_filter skip_unless(std::uint32_t value) noexcept { return {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = value}; }
constexpr sock_filter answer(std::uint32_t value) noexcept { return {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = value}; }
constexpr sock_filter answer_accumulator() noexcept { return {.code = BPF_RET | BPF_A, .jt = 0, .jf = 0, .k = 0}; }

// As /proc/net/udp prints it: words of the address as the machine stores them, and the port.
void print_as_proc(const wire::UdpAddress& address, std::array<char, 64>& to) noexcept {
  std::size_t at = 0;
  for (std::size_t i = 0; i < (address.is_ipv6 ? 16u : 4u); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &address.ip[i], sizeof word);
    at += static_cast<std::size_t>(std::snprintf(&to[at], to.size() - at, "%08X", word));
  }
  std::snprintf(&to[at], to.size() - at, ":%04X", address.port);
}

}  // namespace

bool steer_by_qp(int udp_descriptor, std::span<const SteeringException> exceptions) noexcept {
  if (exceptions.size() > kMostExceptions) return false;
  std::array<sock_filter, 6 + 2 * kMostExceptions> program;
  std::size_t size = 0;
  program[size++] = load_byte(kOffsetOfOpcode);
  program[size++] = {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 2, .k = std::to_integer<std::uint32_t>(kSteeringProbe)};
  program[size++] = load_byte(kOffsetOfPlace);
  program[size++] = answer_accumulator();
  program[size++] = load_byte(kOffsetOfTopByte);
  for (const SteeringException& exception : exceptions) {
    program[size++] = skip_unless(exception.top_byte);
    program[size++] = answer(exception.place);
  }
  program[size++] = answer_accumulator();
  sock_fprog attached;
  std::memset(&attached, 0, sizeof attached);  // its padding too: it goes to the kernel
  attached.len = static_cast<unsigned short>(size);
  attached.filter = program.data();
  return setsockopt(udp_descriptor, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &attached, sizeof attached) == 0;
}

std::optional<std::size_t> count_bound_sockets(const wire::UdpAddress& address) noexcept {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(address.is_ipv6 ? "/proc/self/net/udp6" : "/proc/self/net/udp", "re"), &std::fclose);
  if (file == nullptr) return std::nullopt;
  std::array<char, 64> wanted;
  print_as_proc(address, wanted);
  std::size_t count = 0;
  char line[512];
  char local[64];
  char remote[64];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    if (std::sscanf(line, " %*[^:]: %63s %63s", local, remote) != 2) continue;
    const bool is_connected = std::strspn(remote, "0:") != std::strlen(remote);
    if (!is_connected && std::strcmp(local, wanted.data()) == 0) ++count;
  }
  return count;
}

}  // namespace ina::engine
