// wire_load.cpp: hosts that keep a switch busy: frames in network namespaces, sent by AF_XDP, so that making them costs less than the
// switch needs for them. Plays the members of one group, in the wire or at a relay, or sends RoCE packets of no group to the next host.
// Used by test/perf/wire, which makes the namespaces. Prints one line: packets a second into and out of the switch.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>

#include "net/error.hpp"
#include "net/netdev.hpp"
#include "net/xdp_socket.hpp"
#include "switch/softswitch/xdp_frames.hpp"
#include "test/aggregator/ring.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"
#include "wire/relay_message.hpp"

namespace ina::perf {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Nothing came for this long: what is under way was lost, and is sent again.
constexpr auto kLost = 20ms;
constexpr auto kPatience = 10s;
constexpr std::uint32_t kForwardWindow = 256;
// What a host sends before the next one has its turn. Results come once all have sent: long bursts would make switch and hosts wait for each other.
constexpr unsigned kBurst = 16;

struct Options {
  std::string manager;             // path of its socket; empty: no group
  std::vector<std::string> hosts;  // NAMESPACE,DEVICE,IP
  std::string relay;               // ADDRESS:PORT; empty: the switch is in the wire
  std::string relay_device;        // NAMESPACE,DEVICE that packets to the relay go to
  std::uint32_t payload = 1408, window = 128;
  double seconds = 3;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) c == ',' ? (void)parts.emplace_back() : parts.back().push_back(c);
  return parts;
}

void enter(const std::string& name) {
  const net::Descriptor space(::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!space || ::setns(space.get(), CLONE_NEWNET) != 0) throw std::runtime_error("cannot enter network namespace " + name);
}

// One host: an endpoint at port 4791 of its device. It sends frames by AF_XDP, and receives the first bytes of datagrams by a UDP socket: where
// they arrive is the switch's core on veth devices, which a network would not charge to the switch.
class Host {
 public:
  static constexpr std::size_t kBatch = 64, kSeenBytes = 128;

  Host(const std::vector<std::string>& where, std::shared_ptr<softswitch::XdpFrames> frames) : frames_(std::move(frames)) {
    if (where.size() != 3) throw std::runtime_error("--host is NAMESPACE,DEVICE,IP");
    enter(where[0]);
    const net::EthernetDevice device = net::find_ethernet(where[1]);
    mac = device.mac;
    const auto parsed = wire::UdpAddress::parse((where[2].find(':') == std::string::npos ? where[2] : "[" + where[2] + "]") + ":4791");
    if (!parsed) throw std::runtime_error(where[2] + " is no IP address");
    address = *parsed;
    sender_ = std::make_unique<net::XdpSocket>(net::XdpSocketOptions{.device_index = device.index, .transmit_frames = 512}, frames_->memory());
    open_receiver();
  }
  // Everything in front of the BTH, for packets of one size.
  [[nodiscard]] test::Bytes head(const wire::MacAddress& to_mac, const wire::UdpAddress& to, std::size_t udp_payload) const {
    wire::Frame frame{.destination_mac = to_mac, .source_mac = mac, .vlan = {}, .ip = {.source = address, .destination = to}, .l3 = {}, .udp_payload = {}};
    test::Bytes bytes(wire::kMaxFrameHeaderBytes);
    bytes.resize(wire::encode_frame(frame, udp_payload, bytes));
    return bytes;
  }
  void send(const test::Bytes& head, const test::Bytes& body) noexcept {
    if (sender_->transmit.free() == 0) flush();
    const auto frame = frames_->take();
    if (!frame || sender_->transmit.free() == 0) return;
    std::memcpy(frames_->bytes(*frame), head.data(), head.size());
    std::memcpy(frames_->bytes(*frame) + head.size(), body.data(), body.size());
    sender_->transmit.put({.addr = softswitch::XdpFrames::address(*frame), .len = static_cast<std::uint32_t>(head.size() + body.size()), .options = 0});
    ++sent;
  }
  void flush() noexcept {
    sender_->transmit.publish();
    (void)sender_->kick();
    auto& ring = sender_->completion;
    for (std::uint32_t n = ring.available(); n != 0; --n) frames_->release(softswitch::XdpFrames::index(ring.take()));
    ring.release();
  }
  // Calls take(the datagram's first bytes) for each of a batch; how many there were.
  template <typename Take>
  std::size_t receive(const Take& take) noexcept {
    const int count = ::recvmmsg(receiver_.get(), messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      take(std::span<const std::byte>(seen_[at]).first(std::min<std::size_t>(messages_[at].msg_len, kSeenBytes)));
    }
    received += count > 0 ? static_cast<std::uint64_t>(count) : 0;
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  wire::MacAddress mac{};
  wire::UdpAddress address;
  std::uint64_t sent = 0, received = 0;

 private:
  void open_receiver() {
    receiver_ = net::Descriptor(::socket(address.is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    constexpr int kBytes = 16 << 20, kOn = 1;
    (void)::setsockopt(receiver_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBytes, sizeof kBytes);
    if (address.is_ipv6) (void)::setsockopt(receiver_.get(), IPPROTO_UDP, UDP_NO_CHECK6_RX, &kOn, sizeof kOn);
    sockaddr_storage storage{};
    const socklen_t length = address.to_sockaddr(storage);
    if (::bind(receiver_.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) throw std::runtime_error("cannot bind " + address.text());
    for (std::size_t i = 0; i < kBatch; ++i) {
      vectors_[i] = {.iov_base = seen_[i].data(), .iov_len = kSeenBytes};
      messages_[i].msg_hdr.msg_iov = &vectors_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }

  std::shared_ptr<softswitch::XdpFrames> frames_;
  std::unique_ptr<net::XdpSocket> sender_;
  net::Descriptor receiver_;
  std::array<std::array<std::byte, kSeenBytes>, kBatch> seen_{};
  std::array<iovec, kBatch> vectors_{};
  std::array<mmsghdr, kBatch> messages_{};
};

class Manager {
 public:
  explicit Manager(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("no manager at " + path);
    (void)ask(R"({"ina":1,"hello":{"client":"wire_load","host":"perf","pid":1}})");
  }
  json ask(const std::string& line) {
    const std::string text = line + "\n";
    if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) throw std::runtime_error("the manager is gone");
    return next();
  }
  json next() {
    std::string line;
    char c;
    while (::recv(socket_.get(), &c, 1, 0) == 1) {
      if (c == '\n') return json::parse(line);
      line.push_back(c);
    }
    throw std::runtime_error("the manager is gone: " + line);
  }
  [[nodiscard]] bool has_something() const { return ::recv(socket_.get(), std::array<char, 1>{}.data(), 1, MSG_PEEK | MSG_DONTWAIT) == 1; }

 private:
  net::Descriptor socket_;
};

// The members of a group, one a host, in a ring.
class Group {
 public:
  Group(const Options& options, std::deque<Host>& hosts, Manager& manager) : hosts_(hosts), n_(static_cast<std::uint16_t>(hosts.size())) {
    const json answer = manager.ask(
        json{{"id", 1}, {"request", "open"}, {"members", n_}, {"window", options.window}, {"payload", options.payload}}.dump());
    if (!answer.contains("result")) throw std::runtime_error("no group: " + answer.dump());
    const json& grant = answer["result"];
    const auto payload = std::min(grant["payload"].get<std::uint32_t>(), options.payload);
    ring_.spec = {.group = grant["group"], .epoch = grant["epoch"], .members = n_, .window = grant["window"], .first_seq = grant["first_seq"],
                  .payload = payload, .place_bytes = std::bit_ceil(payload)};
    if (!options.relay.empty()) find_relay(options);
    for (std::uint16_t m = 0; m < n_; ++m) register_at_relay(m);
    bind(manager);
    make_templates();
    next_.assign(n_, ring_.spec.first_seq);
    results_ = acknowledged_ = next_;
  }

  // One round of all members; whether anything moved.
  bool turn() {
    bool moved = false;
    for (std::uint16_t m = 0; m < n_; ++m) {
      moved |= receive(m);
      for (unsigned i = 0; i < kBurst && wire::seq_distance(next_[m], results_[m]) < static_cast<std::int32_t>(ring_.spec.window); ++i, moved = true) contribute(m, next_[m]++);
      hosts_[m].flush();
    }
    return moved;
  }
  void repeat() { next_ = results_; }
  // The next one that is played has the same QP numbers.
  void close(Manager& manager) const { (void)manager.ask(json{{"id", 2}, {"request", "close"}, {"group", ring_.spec.group}}.dump()); }
  [[nodiscard]] std::uint32_t chunks() const { return results_[0] - ring_.spec.first_seq; }

 private:
  struct Place {
    test::Bytes packet;  // BTH to ICRC
  };

  void find_relay(const Options& options) {
    const auto where = split(options.relay_device);
    const auto address = wire::UdpAddress::parse(options.relay);
    if (where.size() != 2 || !address) throw std::runtime_error("--relay is ADDRESS:PORT, and --relay-device NAMESPACE,DEVICE");
    enter(where[0]);
    relay_mac_ = net::find_ethernet(where[1]).mac;
    relay_ = *address;
  }
  [[nodiscard]] std::uint16_t right(std::uint16_t m) const { return static_cast<std::uint16_t>((m + 1) % n_); }
  [[nodiscard]] std::uint16_t left(std::uint16_t m) const { return static_cast<std::uint16_t>((m + n_ - 1) % n_); }
  [[nodiscard]] const wire::UdpAddress& address_of(std::uint16_t to) const { return relay_ ? *relay_ : hosts_[to].address; }
  void send(std::uint16_t from, std::uint16_t to, test::Bytes packet) {
    wire::IcrcFlow(hosts_[from].address, address_of(to)).seal(packet);
    hosts_[from].send(hosts_[from].head(relay_ ? relay_mac_ : hosts_[to].mac, address_of(to), packet.size()), packet);
    hosts_[from].flush();
  }
  void register_at_relay(std::uint16_t m) {
    if (!relay_) return;
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = wire::kRelayQpn};
    packet.deth = {.queue_key = wire::kRelayQueueKey, .source_qpn = wire::kRelayQpn};
    const auto until = Clock::now() + kPatience;
    while (Clock::now() < until) {
      send(m, m, test::encode(packet, wire::encode_relay_message({.kind = wire::RelayKind::kRegister, .block = static_cast<std::uint16_t>(m + 1), .nonce = 1000u + m})));
      for (const auto begin = Clock::now(); Clock::now() < begin + kLost;) {
        std::optional<wire::RelayMessage> answer;
        (void)hosts_[m].receive([&](std::span<const std::byte> bytes) {
          const auto got = wire::decode_packet(bytes);
          const auto message = wire::decode_relay_message(got ? got->payload : std::span<const std::byte>{});
          if (message) answer = *message;
        });
        if (!answer) continue;
        if (answer->kind != wire::RelayKind::kRegistered || answer->block != m + 1) throw std::runtime_error("the relay refuses a host");
        return;
      }
    }
    throw std::runtime_error("the relay does not answer");
  }
  void bind(Manager& manager) {
    const auto until = Clock::now() + kPatience;
    while (!manager.has_something()) {
      if (Clock::now() > until) throw std::runtime_error("the switch does not see the binds");
      for (std::uint16_t m = 0; m < n_; ++m) {
        send(m, right(m), ring_.forward_bind(m));
        send(right(m), m, ring_.backward_bind(m));
      }
      for (const auto begin = Clock::now(); Clock::now() < begin + kLost && !manager.has_something();) {
        for (Host& host : hosts_) (void)host.receive([](auto) {});
      }
    }
    const json event = manager.next();
    if (event.value("event", "") != "active") throw std::runtime_error("no group: " + event.dump());
  }
  void make_templates() {
    const std::size_t lanes = (ring_.spec.payload - wire::kFramingBytes) / wire::kLengthMultiple * wire::kLengthMultiple;
    const test::Bytes ones(lanes, std::byte{1});
    for (std::uint16_t m = 0; m < n_; ++m) {
      flows_.emplace_back(hosts_[m].address, address_of(right(m)));
      for (std::uint32_t place = 0; place < 2 * ring_.spec.window; ++place) {
        places_.push_back({ring_.contribution(m, ring_.spec.first_seq + place, ones)});
      }
      heads_.push_back(hosts_[m].head(relay_ ? relay_mac_ : hosts_[right(m)].mac, address_of(right(m)), places_.back().packet.size()));
    }
  }
  void contribute(std::uint16_t m, std::uint32_t seq) {
    test::Bytes& packet = places_[m * 2 * ring_.spec.window + (seq - ring_.spec.first_seq) % (2 * ring_.spec.window)].packet;
    std::byte* const payload = &packet[wire::headers_bytes(wire::Opcode::kWriteOnly)];
    const std::uint32_t psn = ring_.psn(m, seq);
    for (int i = 0; i < 3; ++i) packet[9 + static_cast<std::size_t>(i)] = static_cast<std::byte>(psn >> (16 - 8 * i));
    wire::store_be(payload + kSeqAt, seq);
    wire::encode_trailer(seq, std::span(packet).last(wire::kIcrcBytes + wire::kTrailerBytes).first<wire::kTrailerBytes>());
    flows_[m].seal(packet);
    hosts_[m].send(heads_[m], packet);
  }
  // Results in member m's mailbox, which its left neighbour's connection leads to.
  bool receive(std::uint16_t m) {
    const std::size_t count = hosts_[m].receive([&](std::span<const std::byte> bytes) {
      constexpr std::size_t kAt = wire::kBthBytes + wire::kRethBytes;
      const auto header = wire::decode_header(bytes.subspan(std::min(kAt, bytes.size())));
      if (header && header->kind == wire::Kind::kResult && header->contributions == n_ && header->seq == results_[m]) ++results_[m];
    });
    if (results_[m] - acknowledged_[m] >= kResultsPerAck) acknowledge(m);
    return count != 0;
  }

  void acknowledge(std::uint16_t m) {
    acknowledged_[m] = results_[m];
    send(m, left(m), ring_.acknowledgement(left(m), results_[m] - 1, wire::kSyndromeAck, results_[m] - ring_.spec.first_seq));
  }

  static constexpr std::uint32_t kResultsPerAck = 32;
  static constexpr std::ptrdiff_t kSeqAt = 16;  // in the INA header
  std::deque<Host>& hosts_;
  std::uint16_t n_;
  test::Ring ring_;
  std::optional<wire::UdpAddress> relay_;
  wire::MacAddress relay_mac_{};
  std::vector<wire::IcrcFlow> flows_;
  std::vector<Place> places_;
  std::vector<test::Bytes> heads_;
  std::vector<std::uint32_t> next_, results_, acknowledged_;  // of each member: what it sends next, what it lacks, and had acknowledged
};

// RoCE packets of no group: each host to the next.
class Strangers {
 public:
  Strangers(const Options& options, std::deque<Host>& hosts) : hosts_(hosts), under_way_(hosts.size()) {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = 77};
    packet.reth = {.address = 0x1000, .rkey = 1, .dma_length = options.payload};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const Host& to = hosts[(i + 1) % hosts.size()];
      packets_.push_back(test::encode(packet, test::Bytes(options.payload, std::byte{7})));
      wire::IcrcFlow(hosts[i].address, to.address).seal(packets_.back());
      heads_.push_back(hosts[i].head(to.mac, to.address, packets_.back().size()));
    }
  }
  bool turn() {
    bool moved = false;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const std::size_t next = (i + 1) % hosts_.size();
      const std::size_t count = hosts_[next].receive([](auto) {});
      under_way_[i] -= std::min<std::uint64_t>(under_way_[i], count);
      for (unsigned n = 0; n < 64 && under_way_[i] < kForwardWindow; ++n, ++under_way_[i], moved = true) hosts_[i].send(heads_[i], packets_[i]);
      hosts_[i].flush();
    }
    return moved;
  }
  void repeat() { under_way_.assign(hosts_.size(), 0); }

 private:
  std::deque<Host>& hosts_;
  std::vector<std::uint64_t> under_way_;
  std::vector<test::Bytes> packets_, heads_;
};

template <typename Load>
void run(Load& load, std::deque<Host>& hosts, double seconds) {
  const auto count = [&] {
    std::uint64_t all = 0;
    for (const Host& host : hosts) all += host.sent + host.received;
    return all;
  };
  const std::uint64_t before = count();
  const auto begin = Clock::now();
  auto moved = begin;
  unsigned repeats = 0;
  for (auto now = begin; now < begin + std::chrono::duration<double>(seconds); now = Clock::now()) {
    if (load.turn()) {
      moved = now;
    } else if (now - moved > kLost) {
      load.repeat();
      ++repeats;
      moved = now;
    }
  }
  const double duration = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("packets %.0f repeats %u seconds %.3f\n", static_cast<double>(count() - before) / duration, repeats, duration);
}

}  // namespace
}  // namespace ina::perf

int main(int argc, char** argv) {
  using namespace ina;
  perf::Options options;
  CLI::App app("Keep a switch busy; test/perf/wire says how.");
  app.add_option("--manager", options.manager, "Path of the manager's socket: play a group. Without: forward only");
  app.add_option("--host", options.hosts, "NAMESPACE,DEVICE,IP of a host; at least 2")->required();
  app.add_option("--relay", options.relay, "ADDRESS:PORT of a relay. Without: the switch is in the wire");
  app.add_option("--relay-device", options.relay_device, "NAMESPACE,DEVICE that has the relay's address");
  app.add_option("--payload", options.payload, "Bytes of a packet's payload");
  app.add_option("--window", options.window, "Window of the group");
  app.add_option("--seconds", options.seconds, "How long");
  CLI11_PARSE(app, argc, argv);
  try {
    auto frames = std::make_shared<softswitch::XdpFrames>(static_cast<std::uint32_t>(options.hosts.size() * 1024));
    std::deque<perf::Host> hosts;
    for (const std::string& host : options.hosts) hosts.emplace_back(perf::split(host), frames);
    if (options.manager.empty()) {
      perf::Strangers strangers(options, hosts);
      perf::run(strangers, hosts, options.seconds);
    } else {
      perf::Manager manager(options.manager);
      perf::Group group(options, hosts, manager);
      perf::run(group, hosts, options.seconds);
      group.close(manager);
      std::printf("chunks %u\n", group.chunks());
      if (group.chunks() == 0) return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wire_load: %s\n", error.what());
    return 1;
  }
}
