// fuzz_ina_header.cpp: any payload decodes to a reason or to a header (and a bind) that encode to the same bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wire/ina_header.hpp"

namespace {

using namespace ina::wire;

void expect(bool fact) {
  if (!fact) std::abort();
}

void check(std::span<const std::byte> bytes) {
  const auto header = decode_header(bytes);
  const auto payload = decode_payload(bytes);
  const auto bind = decode_bind(bytes);
  if (!header) {
    expect(!payload && !bind && std::strcmp(name(header.error()), "unknown") != 0);
    return;
  }
  std::array<std::byte, kHeaderBytes> again;
  encode_header(*header, again);
  expect(std::ranges::equal(again, bytes.first(kHeaderBytes)));
  if (payload) expect(*payload == *header && kFramingBytes + payload->length == bytes.size() && decode_trailer(bytes.last<kTrailerBytes>()) == payload->seq);
  if (bind) expect(payload && payload->kind == Kind::kBind && std::ranges::equal(encode_bind(*bind), bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(std::as_bytes(std::span(data, size)));
  return 0;
}
