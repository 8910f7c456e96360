#include "test/vectors/wire_port.hpp"

#include <cstring>

namespace ina::test {

void WirePort::add_host(unsigned port, const wire::UdpAddress&, const wire::MacAddress& mac) {
  std::vector<std::byte> frame(60, std::byte{0});
  std::memset(frame.data(), 0xff, mac.size());
  std::memcpy(&frame[6], mac.data(), mac.size());
  (void)receive(port, std::move(frame));
}

std::vector<Output> WirePort::receive(unsigned port, std::vector<std::byte> frame) {
  out_.clear();
  switch_.receive(static_cast<softswitch::PortIndex>(port), {.bytes = frame, .offload = {}}, {});
  return std::move(out_);
}

void WirePort::send(softswitch::PortIndex port, const softswitch::FramePieces& pieces) noexcept {
  Output output{port, {}};
  for (const auto piece : {pieces.head, pieces.body, pieces.tail}) output.frame.insert(output.frame.end(), piece.begin(), piece.end());
  out_.push_back(std::move(output));
}

}  // namespace ina::test
