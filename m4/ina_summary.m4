# INA_SUMMARY: what configure decided, in a few lines at its end.
AC_DEFUN([INA_SUMMARY], [
  AS_ECHO(["
ina $PACKAGE_VERSION
  prefix                $prefix
  Open MPI component    $have_ompi ${OMPI_VERSION}
  UCX transport         $have_ucx_source ${UCX_VERSION}
  switch programs       $with_switch
  unit tests            $have_gtest
  sanitizers            $enable_sanitizers
  fuzzers               $enable_fuzzers"])
])
