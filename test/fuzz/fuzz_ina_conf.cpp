// fuzz_ina_conf.cpp: any text is an ina.conf or is refused, with its name; an address that is taken is written as it is read.
#include <cstdlib>
#include <string>

#include "ompi_coll_ina/core/conf_file.hpp"
#include "ompi_coll_ina/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try {
    const auto conf = ina::core::parse_conf(text, "ina.conf");
    if (conf.switch_address && !(ina::core::parse_switch_address(conf.switch_address->text()) == *conf.switch_address)) std::abort();
  } catch (const ina::core::Error& error) {
    if (!std::string(error.what()).starts_with("ina.conf:")) std::abort();
  }
  return 0;
}
