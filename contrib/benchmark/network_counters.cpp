#include "contrib/benchmark/network_counters.hpp"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ina::benchmark {
namespace {

// Of a line of /proc/net/dev after the device's name: eight numbers of what was received, then bytes and packets that were sent.
constexpr std::size_t kSentBytes = 8, kSentPackets = 9;

void add_devices(NetworkCounters& counters) {
  std::ifstream file("/proc/self/net/dev");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream words(line.substr(0, colon));
    std::string device;
    words >> device;
    if (device == "lo") continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::array<unsigned long long, kSentPackets + 1> fields{};
    for (auto& field : fields) numbers >> field;
    counters.values[NetworkCounters::kBytes] += fields[kSentBytes];
    counters.values[NetworkCounters::kPackets] += fields[kSentPackets];
  }
}

// /proc/net/snmp has two lines a protocol: names, then values.
void add_tcp(NetworkCounters& counters) {
  std::ifstream file("/proc/self/net/snmp");
  std::string line;
  std::vector<std::string> names;
  while (std::getline(file, line)) {
    if (!line.starts_with("Tcp:")) continue;
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (names.empty()) {
      names = fields;
      continue;
    }
    for (std::size_t i = 0; i < fields.size() && i < names.size(); ++i) {
      if (names[i] == "RetransSegs") counters.values[NetworkCounters::kTcpRetransmissions] = std::stoull(fields[i]);
    }
    return;
  }
}

}  // namespace

NetworkCounters read_network_counters() {
  NetworkCounters counters;
  add_devices(counters);
  add_tcp(counters);
  return counters;
}

}  // namespace ina::benchmark
