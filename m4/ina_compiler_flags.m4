# INA_COMPILER_FLAGS: warnings and visibility for every object of the project.
AC_DEFUN([INA_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])], [], [enable_werror=no])
  INA_CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers -fvisibility=hidden -fvisibility-inlines-hidden"
  INA_CFLAGS="-Wall -Wextra -fvisibility=hidden"
  AS_IF([test "x$enable_werror" = xyes], [INA_CXXFLAGS="$INA_CXXFLAGS -Werror"; INA_CFLAGS="$INA_CFLAGS -Werror"])
  INA_LDFLAGS=""
  AC_SUBST([INA_CXXFLAGS])
  AC_SUBST([INA_CFLAGS])
  AC_SUBST([INA_LDFLAGS])
])
