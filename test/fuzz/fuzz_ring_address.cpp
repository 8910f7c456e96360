// fuzz_ring_address.cpp: any bytes are no ring address, or one that encodes to the same bytes.
#include <algorithm>
#include <cstdlib>

#include "ompi_coll_ina/core/ring_address.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto address = ina::core::decode_ring_address(bytes);
  if (address && !std::ranges::equal(encode(*address), bytes)) std::abort();
  return 0;
}
