#include "ompi_coll_ina/core/uct_ring.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/uct_interface.hpp"

namespace ina::core {
namespace {

constexpr std::size_t kScratchBytes = 64;

std::vector<std::byte> packed_key(const UctInterface& interface, const Registration& registration) {
  std::vector<std::byte> key(interface.md_attr.rkey_packed_size);
  require(uct_md_mkey_pack(interface.md.get(), registration.handle(), key.data()), "cannot pack a remote key");
  return key;
}

EpHandle create_endpoint(uct_iface_h iface) {
  uct_ep_params_t params{};
  params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
  params.iface = iface;
  uct_ep_h ep = nullptr;
  require(uct_ep_create(&params, &ep), "cannot create an endpoint");
  return EpHandle(ep);
}

std::vector<std::byte> endpoint_address(const UctInterface& interface, const EpHandle& ep) {
  std::vector<std::byte> address(interface.attr.ep_addr_len);
  require(uct_ep_get_address(ep.get(), reinterpret_cast<uct_ep_addr_t*>(address.data())), "cannot tell an endpoint's address");
  return address;
}

std::uint64_t address_of(std::span<std::byte> memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); }

void connect_endpoint(const UctInterface& interface, const EpHandle& ep, const RingAddress& peer, const std::vector<std::byte>& peer_ep) {
  const auto* device = reinterpret_cast<const uct_device_addr_t*>(peer.device.data());
  if (uct_iface_is_reachable(interface.iface.get(), device, reinterpret_cast<const uct_iface_addr_t*>(peer.iface.data())) == 0)
    throw Error(Status::kUnreachable, "a neighbour's interface cannot be reached, " + interface.transport + " on " + interface.device);
  require(uct_ep_connect_to_ep(ep.get(), device, reinterpret_cast<const uct_ep_addr_t*>(peer_ep.data())), "cannot connect to a neighbour");
}

}  // namespace

UctRing::UctRing(UctInterface& interface, const RingSpec& spec)
    : interface_(interface), spec_(spec), mailbox_(std::size_t{spec.places} * spec.place_bytes), scratch_(kScratchBytes),
      sources_(std::bit_ceil(std::size_t{spec.source_buffers} * spec.place_bytes)),
      mailbox_registration_(interface.md.get(), mailbox_.bytes().data(), mailbox_.bytes().size(), UCT_MD_MEM_ACCESS_REMOTE_PUT | UCT_MD_MEM_ACCESS_LOCAL_WRITE),
      scratch_registration_(interface.md.get(), scratch_.bytes().data(), scratch_.bytes().size(), UCT_MD_MEM_ACCESS_REMOTE_PUT | UCT_MD_MEM_ACCESS_LOCAL_WRITE),
      source_registration_(interface.md.get(), sources_.bytes().data(), sources_.bytes().size(), UCT_MD_MEM_ACCESS_LOCAL_READ),
      puts_(std::make_unique<Put[]>(spec.source_buffers)) {
  right_.ep = create_endpoint(interface.iface.get());
  left_.ep = create_endpoint(interface.iface.get());
  interface_.rings.push_back(this);
}

UctRing::~UctRing() {
  destroy_endpoints();
  std::erase(interface_.rings, this);
}

std::vector<std::byte> UctRing::address() const {
  RingAddress address;
  address.transport = interface_.transport;
  address.places = spec_.places;
  address.place_bytes = spec_.place_bytes;
  address.mailbox = address_of(mailbox_.bytes());
  address.scratch = address_of(scratch_.bytes());
  address.device.resize(interface_.attr.device_addr_len);
  address.iface.resize(interface_.attr.iface_addr_len);
  require(uct_iface_get_device_address(interface_.iface.get(), reinterpret_cast<uct_device_addr_t*>(address.device.data())), "cannot tell the device's address");
  require(uct_iface_get_address(interface_.iface.get(), reinterpret_cast<uct_iface_addr_t*>(address.iface.data())), "cannot tell the interface's address");
  address.right_ep = endpoint_address(interface_, right_.ep);
  address.left_ep = endpoint_address(interface_, left_.ep);
  address.mailbox_key = packed_key(interface_, mailbox_registration_);
  address.scratch_key = packed_key(interface_, scratch_registration_);
  auto bytes = encode(address);
  if (bytes.empty()) throw Error(Status::kUnsupported, "an address of " + interface_.transport + " is too long");
  return bytes;
}

// UCT reads as many bytes as its own lengths say: a peer's fields must have exactly these.
RingAddress UctRing::decode_neighbour(std::span<const std::byte> bytes, const char* which) const {
  auto address = decode_ring_address(bytes);
  const std::string where = std::string("the ") + which + " neighbour's address";
  if (!address) throw Error(Status::kRefused, where + " is no ring address of this version");
  if (address->transport != interface_.transport) throw Error(Status::kUnsupported, where + " is of transport " + address->transport + ", not " + interface_.transport);
  const uct_iface_attr_t& attr = interface_.attr;
  const std::size_t key_bytes = interface_.md_attr.rkey_packed_size;
  const bool fits = address->places == spec_.places && address->place_bytes == spec_.place_bytes && address->device.size() == attr.device_addr_len &&
                    address->iface.size() == attr.iface_addr_len && address->right_ep.size() == attr.ep_addr_len && address->left_ep.size() == attr.ep_addr_len &&
                    address->mailbox_key.size() == key_bytes && address->scratch_key.size() == key_bytes;
  if (!fits) throw Error(Status::kRefused, where + " has other lengths or another geometry");
  return *std::move(address);
}

void UctRing::connect(std::span<const std::byte> left, std::span<const std::byte> right) {
  const RingAddress from_left = decode_neighbour(left, "left");
  const RingAddress from_right = decode_neighbour(right, "right");
  right_.key.unpack(interface_.component, from_right.mailbox_key.data());
  left_.key.unpack(interface_.component, from_left.scratch_key.data());
  right_.address = right_mailbox_ = from_right.mailbox;
  right_.bytes = mailbox_.bytes().size();
  left_.address = from_left.scratch;
  left_.bytes = kScratchBytes;
  connect_endpoint(interface_, right_.ep, from_right, from_right.left_ep);
  connect_endpoint(interface_, left_.ep, from_left, from_left.right_ep);
}

PutStatus UctRing::put_right(const std::byte* source, std::size_t bytes, std::size_t offset, PutCompletion* completion) noexcept {
  return put(right_, source, bytes, offset, completion);
}

PutStatus UctRing::put_left(const std::byte* source, std::size_t bytes, PutCompletion* completion) noexcept {
  return put(left_, source, bytes, 0, completion);
}

PutStatus UctRing::put(Target& to, const std::byte* source, std::size_t bytes, std::size_t offset, PutCompletion* completion) noexcept {
  if (has_failed_ || to.ep == nullptr) return PutStatus::kFailed;
  const auto index = static_cast<std::size_t>(source - sources_.bytes().data()) / spec_.place_bytes;
  const bool is_inside = index < spec_.source_buffers && offset <= to.bytes && bytes <= to.bytes - offset;
  assert(is_inside);
  if (!is_inside) return PutStatus::kFailed;
  Put& put = puts_[index];
  if (put.user != nullptr) return PutStatus::kNoResource;
  put.uct = {.func = &UctRing::on_completion, .count = 1, .status = UCS_OK};
  put.user = completion;
  const uct_iov_t iov{.buffer = const_cast<std::byte*>(source), .length = bytes, .memh = source_registration_.handle(), .stride = 0, .count = 1};
  const ucs_status_t status = uct_ep_put_zcopy(to.ep.get(), &iov, 1, to.address + offset, to.key.key(), &put.uct);
  if (status == UCS_INPROGRESS) return PutStatus::kPosted;
  put.user = nullptr;
  if (status == UCS_OK) return PutStatus::kDone;
  if (status == UCS_ERR_NO_RESOURCE) return PutStatus::kNoResource;
  has_failed_ = true;
  return PutStatus::kFailed;
}

void UctRing::on_completion(uct_completion_t* self) noexcept {
  static_assert(offsetof(Put, uct) == 0);
  auto* put = reinterpret_cast<Put*>(self);
  PutCompletion* user = put->user;
  put->user = nullptr;
  if (user != nullptr) user->done(user, self->status == UCS_OK);
}

// Transports complete what is outstanding inside uct_ep_destroy, or never: either way nobody hears of it any more. (A transport in error also keeps
// nothing of ours after uct_ep_destroy has returned: the completion objects live until then and beyond, as long as the ring.)
void UctRing::destroy_endpoints() noexcept {
  for (std::uint32_t i = 0; i < spec_.source_buffers; ++i) puts_[i].user = nullptr;
  right_.ep.reset();
  left_.ep.reset();
}

bool UctRing::fail_if_owner_of(uct_ep_h ep) noexcept {
  if (ep != right_.ep.get() && ep != left_.ep.get()) return false;
  has_failed_ = true;
  return true;
}

}  // namespace ina::core
