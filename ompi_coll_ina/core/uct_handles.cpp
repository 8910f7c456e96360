#include "ompi_coll_ina/core/uct_handles.hpp"

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {
namespace {

Status status_of(ucs_status_t status) noexcept {
  switch (status) {
    case UCS_ERR_NO_MEMORY: return Status::kNoMemory;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_NOT_CONNECTED: return Status::kUnreachable;
    case UCS_ERR_REJECTED: return Status::kRefused;
    default: return Status::kUnsupported;
  }
}

}  // namespace

void require(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw Error(status_of(status), what + ": " + ucs_status_string(status));
}

Registration::Registration(uct_md_h md, void* memory, std::size_t bytes, unsigned access) : md_(md) {
  require(uct_md_mem_reg(md, memory, bytes, access, &handle_), "cannot register " + std::to_string(bytes) + " bytes of memory");
}

Registration::~Registration() { static_cast<void>(uct_md_mem_dereg(md_, handle_)); }

RemoteKey::~RemoteKey() {
  if (component_ != nullptr) static_cast<void>(uct_rkey_release(component_, &bundle_));
}

void RemoteKey::unpack(uct_component_h component, const void* packed) {
  require(uct_rkey_unpack(component, packed, &bundle_), "cannot use a neighbour's remote key");
  component_ = component;
}

}  // namespace ina::core
