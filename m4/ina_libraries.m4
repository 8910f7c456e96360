# INA_LIBRARIES: the small leaf libraries that the parts share, and Google Test for the tests.
AC_DEFUN([INA_LIBRARIES], [
  PKG_CHECK_MODULES([HWY], [libhwy])
  AC_ARG_WITH([isal], [AS_HELP_STRING([--without-isal], [compute CRC-32 by zlib even where ISA-L is installed])], [], [with_isal=check])
  have_isal=no
  AS_IF([test "x$with_isal" != xno],
    [PKG_CHECK_MODULES([ISAL], [libisal], [have_isal=yes],
      [AS_IF([test "x$with_isal" = xyes], [AC_MSG_ERROR([--with-isal needs libisal: install libisal-dev])])])])
  PKG_CHECK_MODULES([ZLIB], [zlib], [have_zlib=yes], [have_zlib=no])
  AM_CONDITIONAL([HAVE_ZLIB], [test $have_zlib = yes])
  INA_CRC_CFLAGS= INA_CRC_LIBS=
  AS_IF([test $have_isal = yes],
    [AC_DEFINE([HAVE_ISAL], [1], [ISA-L computes CRC-32])
     INA_CRC_CFLAGS=$ISAL_CFLAGS INA_CRC_LIBS=$ISAL_LIBS],
    [test $have_zlib = yes],
    [INA_CRC_CFLAGS=$ZLIB_CFLAGS INA_CRC_LIBS=$ZLIB_LIBS],
    [AC_MSG_ERROR([neither ISA-L nor zlib is installed: install libisal-dev or zlib1g-dev])])
  AC_SUBST([INA_CRC_CFLAGS])
  AC_SUBST([INA_CRC_LIBS])
  AC_CHECK_HEADER([nlohmann/json.hpp], [], [AC_MSG_ERROR([nlohmann-json is missing: install nlohmann-json3-dev])])
  PKG_CHECK_MODULES([GTEST], [gtest gmock], [have_gtest=yes], [have_gtest=no])
  AM_CONDITIONAL([HAVE_GTEST], [test $have_gtest = yes])
  PKG_CHECK_MODULES([BENCHMARK], [benchmark], [have_benchmark=yes], [have_benchmark=no])
  AM_CONDITIONAL([HAVE_BENCHMARK], [test $have_benchmark = yes])
])
