# ompi_coll_ina/core
