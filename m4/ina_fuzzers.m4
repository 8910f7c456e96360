# INA_FUZZERS: --enable-fuzzers builds test/fuzz with libFuzzer; the compiler must be clang.
AC_DEFUN([INA_FUZZERS], [
  AC_ARG_ENABLE([fuzzers], [AS_HELP_STRING([--enable-fuzzers], [build the libFuzzer targets of test/fuzz (needs CXX=clang++)])],
    [], [enable_fuzzers=no])
  AS_IF([test "x$enable_fuzzers" = xyes], [
    AC_MSG_CHECKING([whether $CXX has libFuzzer])
    ina_saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -fsanitize=fuzzer"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no]); AC_MSG_ERROR([--enable-fuzzers needs CXX=clang++ and its libFuzzer runtime])])
    CXXFLAGS=$ina_saved_CXXFLAGS
    INA_CXXFLAGS="$INA_CXXFLAGS -fsanitize=fuzzer-no-link"
  ])
  AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
])
