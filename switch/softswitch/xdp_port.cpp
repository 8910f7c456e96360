#include "switch/softswitch/xdp_port.hpp"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "net/error.hpp"
#include "net/netdev.hpp"
#include "wire/frame.hpp"
#include "wire/roce.hpp"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

namespace ina::softswitch {
namespace {

constexpr unsigned kMaxQueues = 64;
constexpr std::uint32_t kReceiveFrames = XdpPort::kFramesPerPort / 2;
constexpr std::uint32_t kTransmitFrames = 512;

}  // namespace

XdpPort::XdpPort(const std::string& device, std::shared_ptr<XdpFrames> frames) : frames_(std::move(frames)), uses_(frames_->count(), 0) {
  const net::EthernetDevice ethernet = net::find_ethernet(device);
  if (ethernet.driver == "veth") {
    try {
      open_beside(device, ethernet.index);
      return;
    } catch (const net::Error&) {  // the other way says what is wrong, if that is not only the kernel's age
      close();
    }
  }
  try {
    open_directly(device, ethernet.index);
  } catch (const net::Error&) {
    close();
    throw;
  }
}

XdpPort::~XdpPort() { close(); }

void XdpPort::close() noexcept {
  side_entry_.reset();
  program_.reset();
  sender_ = nullptr;
  apart_.reset();
  sockets_.clear();
  descriptors_.clear();
  filled_.clear();
  arrived_count_ = 0;
  // What was in the rings is nobody's now.
  for (Frame frame = 0; frame < uses_.size(); ++frame) {
    while (uses_[frame] != 0) release(frame);
  }
}

void XdpPort::open_beside(const std::string& device, unsigned index) {
  side_entry_ = std::make_unique<SideEntry>(device, index);
  const net::EthernetDevice entry = net::find_ethernet(side_entry_->device());
  attach(side_entry_->device(), entry.index, 1);
  fill_target_ = kReceiveFrames;
  open_receiver(entry.index, 0, 0);
  program_->redirect(0, sockets_.front().descriptor());
  apart_ = std::make_unique<net::XdpSocket>(net::XdpSocketOptions{.device_index = index, .transmit_frames = kTransmitFrames}, frames_->memory());
  sender_ = apart_.get();
  // A tag that is beside the frame is put into it on the way.
  side_entry_->open({.port = wire::kRocePort, .max_frame_bytes = kMaxFrameBytes - wire::kVlanTagBytes});
}

void XdpPort::open_directly(const std::string& device, unsigned index) {
  const unsigned queues = net::count_receive_queues(device);
  if (queues > kMaxQueues) {
    throw net::Error(net::Failure::kInvalid, "device " + device + " has " + std::to_string(queues) + " receive queues, AF_XDP serves at most " +
                                                 std::to_string(kMaxQueues) + " (ethtool -L " + device + " combined N)");
  }
  attach(device, index, queues);
  fill_target_ = std::bit_floor(kReceiveFrames / queues);
  sockets_.reserve(queues);
  for (unsigned i = 0; i < queues; ++i) open_receiver(index, i, i == 0 ? kTransmitFrames : 0);
  for (unsigned i = 0; i < queues; ++i) program_->redirect(i, sockets_[i].descriptor());
  sender_ = &sockets_.front();
}

void XdpPort::attach(const std::string& device, unsigned index, unsigned queues) {
  const auto make = [&](bool takes_fragments) {
    const net::XdpPortFilter filter{.port = wire::kRocePort, .max_frame_bytes = kMaxFrameBytes, .has_fragments = takes_fragments};
    return std::make_unique<net::XdpProgram>(net::XdpProgramOptions{.device = device,
                                                                   .device_index = index,
                                                                   .assemble = [&](int map) { return net::assemble(filter, map); },
                                                                   .takes_fragments = takes_fragments,
                                                                   .queues = queues});
  };
  try {
    program_ = make(true);
  } catch (const net::Error&) {  // an older kernel: its device drivers may refuse large frames
    program_ = make(false);
  }
}

void XdpPort::open_receiver(unsigned device_index, unsigned queue, std::uint32_t transmit_frames) {
  sockets_.emplace_back(net::XdpSocketOptions{.device_index = device_index,
                                              .queue = queue,
                                              .may_be_zero_copy = program_->is_native(),
                                              .receive_frames = fill_target_,
                                              .transmit_frames = transmit_frames,
                                              .shared_with = queue == 0 ? -1 : sockets_.front().descriptor()},
                        frames_->memory());
  descriptors_.push_back(sockets_.back().descriptor());
  filled_.push_back(0);
  fill(queue);
}

std::string XdpPort::way() const {
  if (side_entry_ != nullptr) return "beside the interface";
  if (sockets_.front().is_zero_copy()) return "the driver's XDP, without copying";
  return program_->is_native() ? "the driver's XDP" : "the kernel's XDP";
}

void XdpPort::fill(std::size_t queue) noexcept {
  net::XdpSocket& socket = sockets_[queue];
  if (filled_[queue] == fill_target_) return;
  while (filled_[queue] < fill_target_) {
    const auto frame = frames_->take();
    if (!frame) break;
    use(*frame);
    socket.fill.put(XdpFrames::address(*frame));
    ++filled_[queue];
  }
  socket.fill.publish();
  socket.wake_receiver();
}

std::span<const ArrivedFrame> XdpPort::receive() noexcept {
  for (std::size_t i = 0; i < arrived_count_; ++i) release(handed_out_[i]);
  arrived_count_ = 0;
  ++counters_.receive_calls;
  for (std::size_t i = 0; i < sockets_.size() && arrived_count_ < kBatch; ++i) receive_from((first_queue_ + i) % sockets_.size());
  first_queue_ = (first_queue_ + 1) % sockets_.size();
  if (arrived_count_ == 0) ++counters_.receive_calls_empty;
  counters_.frames_in += arrived_count_;
  return {arrived_.data(), arrived_count_};
}

void XdpPort::receive_from(std::size_t queue) noexcept {
  auto& ring = sockets_[queue].received;
  const std::uint32_t available = ring.available();
  for (std::uint32_t n = 0; n < available && arrived_count_ < kBatch; ++n) {
    const xdp_desc descriptor = ring.take();
    --filled_[queue];
    handed_out_[arrived_count_] = XdpFrames::index(descriptor.addr);
    arrived_[arrived_count_++] = {.bytes = {frames_->memory().at(descriptor.addr), descriptor.len}, .offload = {}};
    counters_.bytes_in += descriptor.len;
  }
  if (available == 0 && filled_[queue] == fill_target_) return;
  ring.release();
  fill(queue);
}

std::optional<std::uint64_t> XdpPort::to_packet_memory(const FramePieces& pieces) noexcept {
  if (pieces.head.empty() && pieces.tail.empty()) {
    if (const auto address = frames_->find(pieces.body)) {
      const Frame frame = XdpFrames::index(*address);
      frames_->hold(frame);
      use(frame);
      return address;
    }
  }
  const auto frame = frames_->take();
  if (!frame) return std::nullopt;
  use(*frame);
  std::byte* at = frames_->bytes(*frame);
  for (const auto piece : {pieces.head, pieces.body, pieces.tail}) {
    if (piece.empty()) continue;
    std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  }
  return XdpFrames::address(*frame);
}

void XdpPort::send(const FramePieces& pieces) noexcept {
  const std::size_t bytes = pieces.head.size() + pieces.body.size() + pieces.tail.size();
  auto& ring = sender_->transmit;
  if (ring.free() == 0) flush();
  if (bytes > kMaxFrameBytes || !pieces.offload.is_none() || ring.free() == 0) {
    ++counters_.not_sent;
    return;
  }
  auto address = to_packet_memory(pieces);
  if (!address) {
    flush();
    address = to_packet_memory(pieces);
  }
  if (!address) {
    ++counters_.not_sent;
    return;
  }
  ring.put({.addr = *address, .len = static_cast<std::uint32_t>(bytes), .options = 0});
  ++counters_.frames_out;
  counters_.bytes_out += bytes;
}

void XdpPort::flush() noexcept {
  sender_->transmit.publish();
  if (!sender_->transmit.is_drained()) counters_.send_calls += sender_->kick();
  recycle();
}

void XdpPort::recycle() noexcept {
  auto& ring = sender_->completion;
  std::uint32_t available = ring.available();
  if (available == 0) return;
  for (; available != 0; --available) release(XdpFrames::index(ring.take()));
  ring.release();
}

FramePortCounters XdpPort::counters() const noexcept {
  FramePortCounters all = counters_;
  for (const net::XdpSocket& socket : sockets_) {
    xdp_statistics kernel{};
    socklen_t bytes = sizeof kernel;
    if (getsockopt(socket.descriptor(), SOL_XDP, XDP_STATISTICS, &kernel, &bytes) != 0) continue;
    all.not_received += kernel.rx_ring_full + kernel.rx_fill_ring_empty_descs;
    all.truncated += kernel.rx_dropped;
    all.not_sent += kernel.tx_invalid_descs;
  }
  return all;
}

}  // namespace ina::softswitch
