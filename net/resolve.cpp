// resolve.cpp: splits HOST:PORT and asks getaddrinfo, which a numeric address never needs.
#include "net/resolve.hpp"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace ina::net {
namespace {

struct AddrinfoDeleter {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

Resolution failure(std::string_view text, const std::string& what) { return {.addresses = {}, .error = std::string(text) + ": " + what}; }

bool is_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size();
}

Resolution ask_resolver(std::string_view text, const std::string& host, const std::string& port) {
  const addrinfo hints{.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM};
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (status != 0) {
    return failure(text, "cannot resolve " + host + ": " + (status == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(status)));
  }
  const std::unique_ptr<addrinfo, AddrinfoDeleter> list(found);
  Resolution resolution;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    sockaddr_storage storage{};
    std::memcpy(&storage, entry->ai_addr, std::min<std::size_t>(entry->ai_addrlen, sizeof storage));
    const auto address = wire::UdpAddress::from_sockaddr(storage);
    if (address && std::ranges::find(resolution.addresses, *address) == resolution.addresses.end()) resolution.addresses.push_back(*address);
  }
  if (resolution.addresses.empty()) return failure(text, host + " has no IPv4 or IPv6 address");
  return resolution;
}

}  // namespace

Resolution resolve(std::string_view text) {
  if (const auto numeric = wire::UdpAddress::parse(text)) return {.addresses = {*numeric}, .error = {}};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return failure(text, "is neither HOST:PORT nor [IPv6]:PORT");
  const std::string_view port = text.substr(colon + 1);
  const std::string_view host = text.substr(0, colon);
  if (!is_port(port)) return failure(text, "the port is no number from 0 to 65535");
  if (host.front() == '[') return failure(text, "what stands in brackets is no IPv6 address (without a zone)");
  if (host.find_first_of(":[]% \t/") != std::string_view::npos) return failure(text, "is neither HOST:PORT nor [IPv6]:PORT");
  return ask_resolver(text, std::string(host), std::string(port));
}

}  // namespace ina::net
