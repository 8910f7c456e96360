// stf_test.cpp: runs every .stf file of this folder against the software aggregator, and compares the files with what the encoder makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "test/support/pcap.hpp"
#include "test/vectors/vectors.hpp"
#include "test/vectors/wire_port.hpp"

namespace ina::test {
namespace {

std::string folder() { return INA_VECTORS; }

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Runner {
 public:
  void run(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      SCOPED_TRACE("line " + std::to_string(number));
      take(line);
      if (::testing::Test::HasFatalFailure()) return;
    }
    expect_nothing();
  }

 private:
  void take(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) return;
    unsigned port = 0;
    std::string digits;
    if (word == "packet") {
      expect_nothing();
      ASSERT_TRUE(words >> port >> digits);
      out_ = port_.receive(port, from_hex(digits));
    } else if (word == "expect") {
      ASSERT_TRUE(words >> port >> digits);
      expect(port, digits);
    } else if (word == "#") {
      if (words >> word && word == "ina") control(words);
    } else {
      FAIL() << "no such word: " << word;
    }
  }
  void expect(unsigned port, const std::string& digits) {
    ASSERT_FALSE(out_.empty()) << "nothing is sent";
    EXPECT_EQ(out_.front().port, port);
    std::string sent = to_hex(out_.front().frame);
    ASSERT_EQ(sent.size(), digits.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      if (digits[i] == '*') sent[i] = '*';
    }
    EXPECT_EQ(sent, digits);
    out_.erase(out_.begin());
  }
  void expect_nothing() const { EXPECT_TRUE(out_.empty()) << out_.size() << " packets that no line expects, the first at port " << out_.front().port; }
  void control(std::istringstream& words) {
    std::string verb;
    words >> verb;
    if (verb == "host") {
      unsigned port;
      std::string ip, mac;
      ASSERT_TRUE(words >> port >> ip >> mac);
      const auto address = wire::UdpAddress::parse(ip + ":0");
      ASSERT_TRUE(address);
      std::erase(mac, ':');
      const auto bytes = from_hex(mac);
      wire::MacAddress to{};
      ASSERT_EQ(bytes.size(), to.size());
      std::memcpy(to.data(), bytes.data(), to.size());
      port_.add_host(port, *address, to);
      return;
    }
    expect_nothing();
    std::uint32_t group;
    ASSERT_TRUE(words >> group) << verb;
    if (verb == "prepare") {
      aggregator::GroupSpec spec{};
      std::string epoch, members, window, first_seq, payload, place;
      words >> epoch >> spec.epoch >> members >> spec.members >> window >> spec.window >> first_seq >> spec.first_seq >> payload >>
          spec.payload >> place >> spec.place_bytes;
      ASSERT_TRUE(words && place == "place");
      spec.group = group;
      ASSERT_TRUE(port_.aggregator().prepare(spec));
    } else if (verb == "activate") {
      ASSERT_TRUE(port_.aggregator().activate(group));
    } else if (verb == "remove") {
      port_.aggregator().remove(group);
    } else {
      FAIL() << "no such verb: " << verb;
    }
  }

  WirePort port_;
  std::vector<Output> out_;
};

TEST(Vectors, EveryFileHolds) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".stf") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++count;
    Runner().run(read_file(entry.path()));
  }
  EXPECT_GE(count, 18);
}

TEST(Vectors, EveryFileIsWhatTheEncoderMakes) {
  for (const Vector& vector : make_vectors()) {
    EXPECT_TRUE(read_file(folder() + vector.name + ".stf") == vector.text) << vector.name << ".stf differs: run test/vectors/write_vectors " << folder();
  }
}

}  // namespace
}  // namespace ina::test
