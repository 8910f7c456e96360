# INA_UCX: UCX's public headers (for the engine of the component) and, for the transport, the internal headers of the
# same version's source tree, with the config.h that Debian's build had (ucx_info -b tells it).
AC_DEFUN([INA_UCX], [
  AC_ARG_WITH([ucx], [AS_HELP_STRING([--without-ucx], [build neither the UCX transport nor the coll component])], [], [with_ucx=yes])
  AC_ARG_WITH([ucx-source], [AS_HELP_STRING([--with-ucx-source=DIR], [source tree of the installed UCX, for the headers that a transport needs (contrib/quickstart fetches it)])],
    [], [with_ucx_source=no])
  have_ucx=no
  have_ucx_source=no
  AS_IF([test "x$with_ucx" = xno], [INA_DISTCHECK_FLAGS="$INA_DISTCHECK_FLAGS --without-ucx"])
  AS_IF([test "x$with_ucx" != xno], [
    PKG_CHECK_MODULES([UCX], [ucx-uct ucx-ucs], [have_ucx=yes])
    UCX_VERSION=`$PKG_CONFIG --modversion ucx-uct`
  ])
  AS_IF([test "x$with_ucx_source" = xyes || test "x$with_ucx_source" = x],
    [AC_MSG_ERROR([--with-ucx-source wants a folder: --with-ucx-source=DIR, the unpacked source of the UCX that is installed (contrib/quickstart fetches it)])])
  AS_IF([test "x$have_ucx" = xyes && test "x$with_ucx_source" != xno], [
    AS_IF([test ! -r "$with_ucx_source/src/uct/base/uct_iface.h"],
      [AC_MSG_ERROR([$with_ucx_source/src/uct/base/uct_iface.h is missing: --with-ucx-source wants the unpacked source of UCX $UCX_VERSION])])
    ina_ucx_source_version=`for ina_part in major minor patch; do grep "^define.*ucx_ver_$ina_part" "$with_ucx_source/configure.ac" | sed 's/.*, *//' | tr -cd 0-9; echo; done | paste -s -d. -`
    AS_IF([test "x$ina_ucx_source_version" != "x$UCX_VERSION"],
      [AC_MSG_ERROR([the source in $with_ucx_source is of UCX $ina_ucx_source_version, installed is $UCX_VERSION: a transport built from other headers would corrupt memory])])
    AC_PATH_PROG([UCX_INFO], [ucx_info], [no])
    AS_IF([test "x$UCX_INFO" = xno], [AC_MSG_ERROR([ucx_info is missing: install ucx-utils])])
    AC_CONFIG_COMMANDS([ucx_config/config.h], [mkdir -p ucx_config && $UCX_INFO -b > ucx_config/config.h && grep PACKAGE_VERSION ucx_config/config.h > /dev/null || AC_MSG_ERROR([$UCX_INFO -b does not tell how UCX was configured])], [UCX_INFO=$UCX_INFO])
    UCX_SOURCE=`cd "$with_ucx_source" && pwd`
    INA_DISTCHECK_FLAGS="$INA_DISTCHECK_FLAGS --with-ucx-source=$UCX_SOURCE"
    # Where UCX was installed elsewhere, the source tree lacks what its configure makes (uct/api/version.h).
    ina_ucx_installed=`echo $UCX_CFLAGS | sed 's/-I */-isystem /g'`
    UCX_INTERNAL_CPPFLAGS="-DHAVE_CONFIG_H -isystem \$(top_builddir)/ucx_config -isystem $UCX_SOURCE/src $ina_ucx_installed"
    have_ucx_source=yes
  ])
  AS_IF([test "x$with_ucx" = xno && test "x$with_ucx_source" != xno],
    [AC_MSG_ERROR([--without-ucx and --with-ucx-source contradict each other])])
  AC_SUBST([UCX_VERSION])
  AC_SUBST([UCX_INTERNAL_CPPFLAGS])
  AM_CONDITIONAL([HAVE_UCX], [test $have_ucx = yes])
  AM_CONDITIONAL([HAVE_UCX_SOURCE], [test $have_ucx_source = yes])
])
