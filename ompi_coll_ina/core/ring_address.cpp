#include "ompi_coll_ina/core/ring_address.hpp"

#include <algorithm>
#include <concepts>

#include "wire/bytes.hpp"

namespace ina::core {
namespace {

//   0  magic "INAR"  u32      4  version 1  u8
//   5  places u32, place bytes u32, mailbox u64, scratch u64
//  29  seven fields of u16 length and bytes: transport, device, interface, right and left endpoint, mailbox and scratch key
constexpr std::uint32_t kRingAddressMagic = 0x494e4152;
constexpr std::uint8_t kRingAddressVersion = 1;
constexpr std::size_t kMaxFieldBytes = 256;  // UCT's lengths are 8 bits

class Writer {
 public:
  template <std::unsigned_integral T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    wire::store_be(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void put(std::span<const std::byte> field) {
    put(static_cast<std::uint16_t>(field.size()));
    bytes_.insert(bytes_.end(), field.begin(), field.end());
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads on after a failure give zeros; is_whole() tells in the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <std::unsigned_integral T>
  [[nodiscard]] T get() {
    if (!has(sizeof(T))) return 0;
    const T value = wire::load_be<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  [[nodiscard]] std::vector<std::byte> field() {
    const std::size_t length = get<std::uint16_t>();
    if (length > kMaxFieldBytes) has_failed_ = true;
    if (!has(length)) return {};
    const auto bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    return {bytes.begin(), bytes.end()};
  }
  [[nodiscard]] bool is_whole() const { return !has_failed_ && rest_.empty(); }

 private:
  [[nodiscard]] bool has(std::size_t bytes) {
    if (rest_.size() < bytes) has_failed_ = true;
    return !has_failed_;
  }
  std::span<const std::byte> rest_;
  bool has_failed_ = false;
};

}  // namespace

std::vector<std::byte> encode(const RingAddress& address) {
  Writer writer;
  writer.put(kRingAddressMagic);
  writer.put(kRingAddressVersion);
  writer.put(address.places);
  writer.put(address.place_bytes);
  writer.put(address.mailbox);
  writer.put(address.scratch);
  writer.put(std::as_bytes(std::span(address.transport)));
  for (const auto* field : {&address.device, &address.iface, &address.right_ep, &address.left_ep, &address.mailbox_key, &address.scratch_key}) {
    if (field->size() > kMaxFieldBytes) return {};
    writer.put(std::span(*field));
  }
  auto bytes = writer.take();
  if (address.transport.size() > kMaxFieldBytes || bytes.size() > kMaxRingAddressBytes) bytes.clear();
  return bytes;
}

std::optional<RingAddress> decode_ring_address(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxRingAddressBytes) return std::nullopt;
  Reader reader(bytes);
  if (reader.get<std::uint32_t>() != kRingAddressMagic || reader.get<std::uint8_t>() != kRingAddressVersion) return std::nullopt;
  RingAddress address;
  address.places = reader.get<std::uint32_t>();
  address.place_bytes = reader.get<std::uint32_t>();
  address.mailbox = reader.get<std::uint64_t>();
  address.scratch = reader.get<std::uint64_t>();
  const auto transport = reader.field();
  std::transform(transport.begin(), transport.end(), std::back_inserter(address.transport), [](std::byte b) { return static_cast<char>(b); });
  for (auto* field : {&address.device, &address.iface, &address.right_ep, &address.left_ep, &address.mailbox_key, &address.scratch_key}) *field = reader.field();
  if (!reader.is_whole()) return std::nullopt;
  return address;
}

}  // namespace ina::core
