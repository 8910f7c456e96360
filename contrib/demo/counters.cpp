#include "contrib/demo/counters.hpp"

#include <array>

namespace ina::demo {

Counters::Counters() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
  is_open_ = true;
  if (MPI_T_pvar_session_create(&session_) != MPI_SUCCESS) return;
  int total = 0;
  if (MPI_T_pvar_get_num(&total) != MPI_SUCCESS) return;
  for (int i = 0; i < total; ++i) {
    std::array<char, 256> name{};
    int name_bytes = static_cast<int>(name.size());
    int verbosity = 0, variable_class = 0, binding = 0, is_readonly = 0, is_continuous = 0, is_atomic = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    if (MPI_T_pvar_get_info(i, name.data(), &name_bytes, &verbosity, &variable_class, &type, &values, nullptr, nullptr,
                            &binding, &is_readonly, &is_continuous, &is_atomic) != MPI_SUCCESS) {
      continue;
    }
    if (!std::string_view(name.data()).starts_with("coll_ina_") || type != MPI_UNSIGNED_LONG_LONG) continue;
    Variable variable{.name = name.data(), .handle = MPI_T_PVAR_HANDLE_NULL};
    int count = 0;
    if (MPI_T_pvar_handle_alloc(session_, i, nullptr, &variable.handle, &count) != MPI_SUCCESS || count != 1) continue;
    if (is_continuous == 0) MPI_T_pvar_start(session_, variable.handle);
    variables_.push_back(std::move(variable));
  }
}

Counters::~Counters() { end(); }

void Counters::end() {
  if (!is_open_) return;
  is_open_ = false;
  for (Variable& variable : variables_) MPI_T_pvar_handle_free(session_, &variable.handle);
  variables_.clear();
  if (session_ != MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_free(&session_);
  MPI_T_finalize();
}

unsigned long long Counters::value(std::string_view name) const {
  for (const Variable& variable : variables_) {
    if (variable.name != name) continue;
    unsigned long long number = 0;
    return MPI_T_pvar_read(session_, variable.handle, &number) == MPI_SUCCESS ? number : 0;
  }
  return 0;
}

std::vector<std::string> Counters::names() const {
  std::vector<std::string> names;
  for (const Variable& variable : variables_) names.push_back(variable.name);
  return names;
}

}  // namespace ina::demo
