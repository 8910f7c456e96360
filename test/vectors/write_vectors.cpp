// write_vectors.cpp: writes the .stf files of this folder: write_vectors DIR.
#include <cstdio>
#include <fstream>

#include "test/vectors/vectors.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_vectors DIR\n");
    return 2;
  }
  for (const auto& vector : ina::test::make_vectors()) {
    const std::string path = std::string(argv[1]) + "/" + vector.name + ".stf";
    std::ofstream file(path);
    file << vector.text;
    file.close();
    if (!file) {
      std::fprintf(stderr, "write_vectors: cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
