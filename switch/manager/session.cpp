#include "switch/manager/session.hpp"

#include <utility>
#include <variant>

#include "switch/manager/answer.hpp"
#include "switch/manager/status.hpp"
#include "wire/limits.hpp"

namespace ina::manager {
namespace {

// Answers one request; what it returns is the line to send.
struct Answerer {
  ConnectionId connection;
  const Client& client;
  SessionContext& context;
  const RequestId& id;

  std::string operator()(const OpenRequest& request) const {
    const auto answer = context.groups.open(connection, client, request, context.settings.clock());
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return error_line(id, *refusal);
    return result_line(id, std::get<Opened>(answer));
  }
  std::string operator()(const CloseRequest& request) const {
    const std::optional<Refusal> refusal = context.groups.close(connection, request.group);
    return refusal ? error_line(id, *refusal) : result_line(id, "{}");
  }
  std::string operator()(const ResumeRequest& request) const {
    const auto answer = context.groups.resume(connection, client, request.lease);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) return error_line(id, *refusal);
    return result_line(id, std::get<Resumed>(answer));
  }
  std::string operator()(const StatusRequest& request) const {
    return result_line(id, status_text(context, request.after, context.settings.clock()));
  }
};

}  // namespace

Session::Session(ConnectionId id, Client client, SessionContext& context)
    : id_(id), client_(std::move(client)), context_(context), input_(wire::kMaxManagerLine) {}

void Session::receive(std::string_view bytes) {
  if (phase_ != SessionPhase::kClosing) input_.append(bytes);
}

bool Session::step() {
  if (phase_ == SessionPhase::kClosing) return false;
  const std::optional<std::string> line = input_.next();
  if (!line) {
    if (!input_.is_too_long()) return false;
    ++context_.counters.bad_lines;
    end({kBadLine, "a line has more than " + std::to_string(wire::kMaxManagerLine) + " bytes"});
    return false;
  }
  if (phase_ == SessionPhase::kHello) {
    on_hello(*line);
  } else {
    on_request(*line);
  }
  return phase_ != SessionPhase::kClosing;
}

void Session::on_hello(std::string_view line) {
  auto parsed = parse_hello(line);
  if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
    ++context_.counters.bad_lines;
    return end(*refusal);
  }
  client_.hello = std::get<Hello>(std::move(parsed));
  phase_ = SessionPhase::kReady;
  output_ += welcome_line(context_.settings, context_.groups.capabilities());
  const Hello& hello = client_.hello;
  if (context_.settings.log)
    context_.settings.log(LogLevel::kInfo, "connection from " + client_.address + ": " + hello.client + " on " + hello.host + " pid " +
                                               std::to_string(hello.pid));
}

void Session::on_request(std::string_view line) {
  const auto parsed = parse_request(line);
  if (const auto* bad = std::get_if<BadRequest>(&parsed)) {
    ++context_.counters.bad_lines;
    if (bad->is_fatal) return end(bad->refusal);
    output_ += error_line(bad->id, bad->refusal);
    return;
  }
  ++context_.counters.requests;
  const Request& request = std::get<Request>(parsed);
  output_ += std::visit(Answerer{id_, client_, context_, request.id}, request.body);
}

void Session::tell(const Event& event) {
  if (phase_ == SessionPhase::kClosing) return;
  output_ += event_line(event);
  if (event.kind == EventKind::kTakenOver) disconnect();
}

void Session::end(const Refusal& refusal) {
  if (phase_ == SessionPhase::kClosing) return;
  output_ += farewell_line(refusal);
  if (context_.settings.log)
    context_.settings.log(LogLevel::kInfo, "connection from " + client_.address + ": ended, " + refusal.text);
  disconnect();
}

void Session::disconnect() {
  phase_ = SessionPhase::kClosing;
  input_.clear();
  context_.groups.detach(id_, context_.settings.clock());
}

}  // namespace ina::manager
