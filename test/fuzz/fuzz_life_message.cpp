// fuzz_life_message.cpp: any bytes of a peer are no life message and no decision, or one that is written as it was read, control characters apart.
#include <algorithm>
#include <cstdlib>

#include "ompi_coll_ina/core/decision.hpp"
#include "ompi_coll_ina/core/life_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto message = ina::core::decode_life_message(bytes)) {
    const auto written = encode(*message);
    const auto again = ina::core::decode_life_message(written);
    if (written.size() != size || !again || !std::ranges::equal(encode(*again), written)) std::abort();
  }
  if (const auto decision = ina::core::decode_decision(bytes)) {
    const auto again = ina::core::decode_decision(encode(*decision));
    if (!again || !(*again == *decision)) std::abort();
  }
  return 0;
}
