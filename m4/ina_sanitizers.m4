# INA_SANITIZERS: --enable-sanitizers=address,undefined or =thread instruments everything that is built.
AC_DEFUN([INA_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [instrument with the compiler's sanitizers, e.g. address,undefined or thread])],
    [], [enable_sanitizers=no])
  AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])
  AS_IF([test "x$enable_sanitizers" != xno], [
    INA_CXXFLAGS="$INA_CXXFLAGS -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    INA_CFLAGS="$INA_CFLAGS -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    INA_LDFLAGS="$INA_LDFLAGS -fsanitize=$enable_sanitizers"
  ])
  AM_CONDITIONAL([SANITIZED], [test "x$enable_sanitizers" != xno])
])
