#include "ucx_tl/engine/xdp_io.hpp"

#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "ucx_tl/engine/error.hpp"

namespace ina::engine {
namespace {

// 4 MiB of packet memory: a quarter of it to send from.
constexpr std::uint32_t kFrames = 1024;
constexpr std::uint32_t kTransmitFrames = kFrames / 4;
// The UDP socket is asked every so many calls that find nothing; every time for a while after it had something.
constexpr unsigned kSocketPeriod = 128;
constexpr unsigned kSocketBusy = 256;

// A veth device has socket buffers already, and copies each once more for a program in the driver.
bool prefers_generic(const net::EthernetDevice& device) { return device.driver == "veth"; }

Nanoseconds coarse_now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

}  // namespace

XdpIo::XdpIo(const std::string& device, UdpSocket& socket)
    : socket_(socket), device_(net::find_ethernet(device)), routes_(device_.index, socket.local()), memory_(kFrames) {
  open_queues(device);
  free_frames_.reserve(kTransmitFrames);
  for (std::uint32_t i = 0; i < kTransmitFrames; ++i) free_frames_.push_back(std::uint64_t{i} * net::PacketMemory::kFrameBytes);
}

void XdpIo::open_queues(const std::string& device) {
  const unsigned count = std::min(net::count_receive_queues(device), kMaxQueues);
  // Each has an equal part, in a ring whose size is a power of two.
  const std::uint32_t share = (kFrames - kTransmitFrames) / count;
  net::XdpAddressFilter filter{.local = socket_.local()};
  if (const auto top_byte = socket_.qpn_top_byte()) {  // the rest of a shared port's packets is other processes'
    filter.qpn = std::uint32_t{*top_byte} << 16;
    filter.qpn_mask = 0xff0000;
  }
  program_.emplace(net::XdpProgramOptions{
      .device = device,
      .device_index = device_.index,
      .assemble = [&](int map) { return net::assemble(filter, map); },
      .queues = count,
      .prefers_generic = prefers_generic(device_)});
  queues_.reserve(count);
  std::uint64_t frame = std::uint64_t{kTransmitFrames} * net::PacketMemory::kFrameBytes;
  for (unsigned i = 0; i < count; ++i) {
    net::XdpSocket& queue = queues_.emplace_back(net::XdpSocketOptions{.device_index = device_.index,
                                                            .queue = i,
                                                            .may_be_zero_copy = program_->is_native(),
                                                            .receive_frames = std::bit_ceil(share),
                                                            .transmit_frames = i == 0 ? kTransmitFrames : 0,
                                                            .shared_with = i == 0 ? -1 : queues_.front().descriptor()},
                                            memory_);
    for (std::uint32_t n = 0; n < share; ++n, frame += net::PacketMemory::kFrameBytes) queue.fill.put(frame);
    queue.fill.publish();
    queue.wake_receiver();
  }
  for (unsigned i = 0; i < count; ++i) program_->redirect(i, queues_[i].descriptor());
}

int XdpIo::descriptor() const noexcept {
  if (epoll_) return epoll_.get();
  net::Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  const auto watch = [&](int socket) { return epoll_ctl(epoll.get(), EPOLL_CTL_ADD, socket, &event) == 0; };
  if (!epoll || !watch(socket_.descriptor())) return -1;
  for (const net::XdpSocket& queue : queues_) {
    if (!watch(queue.descriptor())) return -1;
  }
  epoll_ = std::move(epoll);
  return epoll_.get();
}

SendResult XdpIo::send(std::span<const OutgoingPacket> packets) noexcept {
  net::XdpSocket& queue = queues_.front();
  const Nanoseconds now = coarse_now();
  SendResult result;
  recycle();
  while (result.taken < packets.size()) {
    const OutgoingPacket& packet = packets[result.taken];
    if (const wire::MacAddress* const mac = hops_.find(packet.to->address, now)) {
      const PutResult put_result = put(packet, *mac);
      if (put_result == PutResult::kNotNow) break;
      ++result.taken;
      result.refused += put_result == PutResult::kTooLong ? 1 : 0;
      continue;
    }
    // In order behind what is in the ring. Those that follow find the answer in the cache, or go the same way.
    queue.transmit.publish();
    result.system_calls += queue.kick();
    const SendResult one = socket_.send({&packet, 1});
    result.taken += one.taken;
    result.refused += one.refused;
    result.system_calls += one.system_calls;
    if (one.taken == 0) break;
  }
  queue.transmit.publish();
  result.system_calls += queue.kick();
  return result;
}

XdpIo::PutResult XdpIo::put(const OutgoingPacket& packet, const wire::MacAddress& to) noexcept {
  net::XdpSocket& queue = queues_.front();
  if (free_frames_.empty() || queue.transmit.free() == 0) return PutResult::kNotNow;
  std::size_t payload_bytes = 0;
  for (std::size_t i = 0; i < packet.piece_count; ++i) payload_bytes += packet.pieces[i].iov_len;
  wire::Frame frame;
  frame.destination_mac = to;
  frame.source_mac = device_.mac;
  frame.ip.source = socket_.local();
  frame.ip.destination = packet.to->address;
  frame.ip.traffic_class = socket_.uses_ecn() ? kEcnCapable : 0;
  std::byte* const begin = memory_.at(free_frames_.back());
  std::byte* at = begin + wire::encode_frame(frame, payload_bytes, {begin, net::PacketMemory::kFrameBytes});
  if (payload_bytes > static_cast<std::size_t>(begin + net::PacketMemory::kPacketBytes - at)) return PutResult::kTooLong;
  for (std::size_t i = 0; i < packet.piece_count; ++i) {
    std::memcpy(at, packet.pieces[i].iov_base, packet.pieces[i].iov_len);
    at += packet.pieces[i].iov_len;
  }
  queue.transmit.put({.addr = free_frames_.back(), .len = static_cast<std::uint32_t>(at - begin), .options = 0});
  free_frames_.pop_back();
  return PutResult::kTaken;
}

void XdpIo::recycle() noexcept {
  auto& completion = queues_.front().completion;
  for (std::uint32_t n = completion.available(); n != 0; --n) free_frames_.push_back(completion.take() & ~std::uint64_t{net::PacketMemory::kFrameBytes - 1});
  completion.release();
}

void XdpIo::give_back_received() noexcept {
  if (held_count_ == 0) return;
  for (std::size_t i = 0; i < held_count_; ++i) queues_[held_for_[i]].fill.put(held_[i]);
  held_count_ = 0;
  for (net::XdpSocket& queue : queues_) {
    queue.fill.publish();
    queue.wake_receiver();
  }
}

std::span<const IncomingPacket> XdpIo::receive() noexcept {
  give_back_received();
  std::size_t count = 0;
  for (std::size_t i = 0; i < queues_.size() && held_count_ < kBatchPackets; ++i) {
    count = receive_from((first_queue_ + i) % queues_.size(), count);
  }
  first_queue_ = (first_queue_ + 1) % queues_.size();
  if (count != 0) return {incoming_.data(), count};
  if (!is_socket_due()) return {};
  const auto packets = socket_.receive();
  if (!packets.empty()) socket_is_busy_ = kSocketBusy;
  return packets;
}

std::size_t XdpIo::receive_from(std::size_t queue, std::size_t count) noexcept {
  auto& ring = queues_[queue].received;
  for (std::uint32_t n = ring.available(); n != 0 && held_count_ < kBatchPackets; --n) {
    const xdp_desc descriptor = ring.take();
    held_[held_count_] = descriptor.addr & ~std::uint64_t{net::PacketMemory::kFrameBytes - 1};
    held_for_[held_count_++] = static_cast<std::uint8_t>(queue);
    const auto frame = wire::decode_frame({memory_.at(descriptor.addr), descriptor.len});
    // Damaged on its way to the host: handed on empty, which is counted as a packet that does not decode.
    IncomingPacket& packet = incoming_[count++];
    packet = {};
    if (!frame || frame->ip.destination != socket_.local()) continue;
    packet.from = frame->ip.source;
    packet.bytes = frame->udp_payload;
    packet.identification = frame->ip.identification;
    packet.has_congestion_mark = (frame->ip.traffic_class & kEcnMask) == kEcnCongestionExperienced;
  }
  ring.release();
  return count;
}

bool XdpIo::is_socket_due() noexcept {
  if (socket_is_busy_ != 0) {
    --socket_is_busy_;
    return true;
  }
  if (calls_until_socket_ != 0) {
    --calls_until_socket_;
    return false;
  }
  calls_until_socket_ = kSocketPeriod;
  return true;
}

}  // namespace ina::engine
