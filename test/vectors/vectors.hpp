// vectors.hpp: the vectors of this folder as the encoder makes them: name and text of each .stf file.
// Used by write_vectors, which writes the files, and by the test that compares them with what is committed.
// Expected packets come from the encoder, not from the aggregator that they test.
#pragma once

#include <string>
#include <vector>

namespace ina::test {

struct Vector {
  std::string name;  // without .stf
  std::string text;
};

[[nodiscard]] std::vector<Vector> make_vectors();

}  // namespace ina::test
