// ucp_cycles.cpp: one worker connects to another, sends a message and closes, again and again, as programs do that keep no endpoints.
// Arguments: how many times, and bytes of a message. Run by ucp_cycles-test, which loads the transport.
#include <ucp/api/ucp.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr ucp_tag_t kTag = 7;

[[noreturn]] void fail(const char* what, ucs_status_t status) {
  std::fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}
void must(const char* what, ucs_status_t status) {
  if (status != UCS_OK) fail(what, status);
}

class Worker {
 public:
  explicit Worker(ucp_context_h context) {
    const ucp_worker_params_t params{};
    must("ucp_worker_create", ucp_worker_create(context, &params, &worker_));
  }
  ~Worker() { ucp_worker_destroy(worker_); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  [[nodiscard]] ucp_worker_h get() const { return worker_; }

 private:
  ucp_worker_h worker_ = nullptr;
};

void wait(const char* what, void* request, const Worker& a, const Worker& b) {
  if (request == nullptr) return;
  if (UCS_PTR_IS_ERR(request)) fail(what, UCS_PTR_STATUS(request));
  while (ucp_request_check_status(request) == UCS_INPROGRESS) {
    ucp_worker_progress(a.get());
    ucp_worker_progress(b.get());
  }
  must(what, ucp_request_check_status(request));
  ucp_request_free(request);
}

void cycle(const Worker& from, const Worker& to, const ucp_address_t* address, const std::vector<char>& message, std::vector<char>& received) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = address;
  ucp_ep_h ep = nullptr;
  must("ucp_ep_create", ucp_ep_create(from.get(), &params, &ep));
  const ucp_request_param_t plain{};
  void* const receive = ucp_tag_recv_nbx(to.get(), received.data(), received.size(), kTag, ~ucp_tag_t{0}, &plain);
  wait("send", ucp_tag_send_nbx(ep, message.data(), message.size(), kTag, &plain), from, to);
  wait("receive", receive, from, to);
  wait("close", ucp_ep_close_nbx(ep, &plain), from, to);
}

}  // namespace

int main(int argc, char** argv) {
  const long cycles = argc > 1 ? std::atol(argv[1]) : 10;
  std::vector<char> message(argc > 2 ? static_cast<std::size_t>(std::atol(argv[2])) : 8);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_context_h context = nullptr;
  must("ucp_init", ucp_init(&params, nullptr, &context));
  {
    const Worker from(context), to(context);
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    must("ucp_worker_get_address", ucp_worker_get_address(to.get(), &address, &length));
    for (long i = 0; i < cycles; ++i) {
      for (std::size_t at = 0; at < message.size(); ++at) message[at] = static_cast<char>(at + static_cast<std::size_t>(i));
      std::vector<char> received(message.size());
      cycle(from, to, address, message, received);
      if (received == message) continue;
      std::fprintf(stderr, "cycle %ld: another message arrives than was sent\n", i);
      return 1;
    }
    ucp_worker_release_address(to.get(), address);
  }
  ucp_cleanup(context);
  std::printf("%ld cycles of %zu bytes\n", cycles, message.size());
  return 0;
}
