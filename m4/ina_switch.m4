# INA_SWITCH: what the switch programs need beyond the shared libraries.
AC_DEFUN([INA_SWITCH], [
  AC_ARG_WITH([switch], [AS_HELP_STRING([--without-switch], [do not build ina-softswitch])], [], [with_switch=yes])
  AS_IF([test "x$with_switch" = xno], [INA_DISTCHECK_FLAGS="$INA_DISTCHECK_FLAGS --without-switch"], [
    PKG_CHECK_MODULES([SPDLOG], [spdlog])
    PKG_CHECK_MODULES([CLI11], [CLI11])
  ])
  AM_CONDITIONAL([HAVE_SWITCH], [test "x$with_switch" != xno])
])
