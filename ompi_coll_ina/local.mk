include ompi_coll_ina/core/local.mk

EXTRA_DIST += ompi_coll_ina/coll_ina.map ompi_coll_ina/help-coll-ina.txt
