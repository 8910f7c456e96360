include ompi_coll_ina/core/local.mk
