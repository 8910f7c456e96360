# INA_SANITIZERS: --enable-sanitizers=address,undefined or =thread instruments everything that is built.
AC_DEFUN([INA_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [instrument with the compiler's sanitizers, e.g. address,undefined or thread])],
    [], [enable_sanitizers=no])
  AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])
  # A plugin with undefined symbols would end its host when they are first called. The sanitizers' are their run-time's, which the program brings.
  INA_NO_UNDEFINED="-Wl,-z,defs"
  AS_IF([test "x$enable_sanitizers" != xno], [
    INA_NO_UNDEFINED=""
    INA_CXXFLAGS="$INA_CXXFLAGS -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    INA_CFLAGS="$INA_CFLAGS -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    INA_LDFLAGS="$INA_LDFLAGS -fsanitize=$enable_sanitizers"
  ])
  AC_SUBST([INA_NO_UNDEFINED])
  AM_CONDITIONAL([SANITIZED], [test "x$enable_sanitizers" != xno])
])
