// fuzz_connect_message.cpp: any payload decodes to a reason or to a message that encodes to the same bytes.
#include <algorithm>
#include <cstdlib>

#include "wire/connect_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ina::wire;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto message = decode_connect_message(bytes);
  if (message && !std::ranges::equal(encode_connect_message(*message), bytes)) std::abort();
  return 0;
}
