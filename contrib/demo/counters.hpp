// counters.hpp: the component's MPI_T performance variables, as this process sees them.
// Used by ina-demo. Works, with nothing in it, where the component is not loaded.
// Does not know which variables there are: it takes all whose name begins with coll_ina_.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace ina::demo {

class Counters {
 public:
  Counters();  // after MPI_Init
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void end();  // before MPI_Finalize

  [[nodiscard]] bool is_empty() const { return variables_.empty(); }
  // Value since MPI_Init; 0 where there is no such variable.
  [[nodiscard]] unsigned long long value(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct Variable {
    std::string name;
    MPI_T_pvar_handle handle;
  };

  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  std::vector<Variable> variables_;
  bool is_open_ = false;
};

}  // namespace ina::demo
