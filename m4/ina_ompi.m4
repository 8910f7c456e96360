# INA_OMPI: where Open MPI's public and internal headers and libraries are.
AC_DEFUN([INA_OMPI], [
  AC_ARG_WITH([ompi], [AS_HELP_STRING([--with-ompi@<:@=PREFIX@:>@], [build the coll component for the Open MPI whose PREFIX/bin has mpicc and ompi_info (default: PATH); --without-ompi leaves it out])],
    [], [with_ompi=yes])
  have_ompi=no
  AS_CASE([$with_ompi], [no], [INA_DISTCHECK_FLAGS="$INA_DISTCHECK_FLAGS --without-ompi"],
    [yes], [], [INA_DISTCHECK_FLAGS="$INA_DISTCHECK_FLAGS --with-ompi=$with_ompi"])
  AS_IF([test "x$with_ompi" != xno], [
    ina_ompi_path=$PATH
    AS_IF([test "x$with_ompi" != xyes], [ina_ompi_path=$with_ompi/bin])
    AC_PATH_PROG([MPICC], [mpicc], [no], [$ina_ompi_path])
    AC_PATH_PROG([OMPI_INFO], [ompi_info], [no], [$ina_ompi_path])
    AS_IF([test "x$MPICC" = xno || test "x$OMPI_INFO" = xno],
      [AC_MSG_ERROR([Open MPI's mpicc and ompi_info are not in $ina_ompi_path: install openmpi-bin and libopenmpi-dev, or say --with-ompi=PREFIX or --without-ompi])])
    OMPI_CPPFLAGS=
    for ina_dir in `$MPICC --showme:incdirs`; do OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $ina_dir"; done
    PKG_CHECK_MODULES([HWLOC], [hwloc])
    MPI_LIBS=`$MPICC --showme:link`
    OMPI_LIBS="$MPI_LIBS -lopen-pal"
    OMPI_VERSION=`$OMPI_INFO --version | sed -n 's/^Open MPI v//p'`
    AC_LANG_PUSH([C])
    ina_saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS $HWLOC_CFLAGS"
    AC_MSG_CHECKING([for Open MPI's internal headers])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <ompi_config.h>
#include <ompi/mca/coll/coll.h>]], [])],
      [AC_MSG_RESULT([yes, $OMPI_VERSION]); have_ompi=yes],
      [AC_MSG_RESULT([no]); AC_MSG_ERROR([ompi/mca/coll/coll.h does not compile: install Debian's libopenmpi-dev, or say --without-ompi])])
    CPPFLAGS=$ina_saved_CPPFLAGS
    AC_LANG_POP([C])
  ])
  AC_DEFINE([INA_VERSION_MAJOR], m4_bpatsubst(AC_PACKAGE_VERSION, [^\([0-9]*\)\.\([0-9]*\)\.\([0-9]*\)$], [\1]), [First number of the version, as Open MPI shows it])
  AC_DEFINE([INA_VERSION_MINOR], m4_bpatsubst(AC_PACKAGE_VERSION, [^\([0-9]*\)\.\([0-9]*\)\.\([0-9]*\)$], [\2]), [Second number of the version])
  AC_DEFINE([INA_VERSION_MICRO], m4_bpatsubst(AC_PACKAGE_VERSION, [^\([0-9]*\)\.\([0-9]*\)\.\([0-9]*\)$], [\3]), [Third number of the version])
  AC_SUBST([OMPI_CPPFLAGS])
  AC_SUBST([OMPI_LIBS])
  AC_SUBST([MPI_LIBS])
  AC_SUBST([OMPI_VERSION])
  AM_CONDITIONAL([HAVE_OMPI], [test $have_ompi = yes])
])
