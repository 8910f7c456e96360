# INA_LIBRARIES: the small leaf libraries that the parts share, and Google Test for the tests.
AC_DEFUN([INA_LIBRARIES], [
  PKG_CHECK_MODULES([HWY], [libhwy])
  PKG_CHECK_MODULES([ISAL], [libisal], [have_isal=yes], [have_isal=no])
  AS_IF([test $have_isal = yes],
    [AC_DEFINE([HAVE_ISAL], [1], [ISA-L computes CRC-32])],
    [PKG_CHECK_MODULES([ZLIB], [zlib])])
  AC_CHECK_HEADER([nlohmann/json.hpp], [], [AC_MSG_ERROR([nlohmann-json is missing: install nlohmann-json3-dev])])
  PKG_CHECK_MODULES([GTEST], [gtest gmock], [have_gtest=yes], [have_gtest=no])
  AM_CONDITIONAL([HAVE_GTEST], [test $have_gtest = yes])
  PKG_CHECK_MODULES([BENCHMARK], [benchmark], [have_benchmark=yes], [have_benchmark=no])
  AM_CONDITIONAL([HAVE_BENCHMARK], [test $have_benchmark = yes])
])
