/* coll_ina_numbers.h: MCA parameters that are numbers of a range. Open MPI's own parser takes "abc" for 0 and "5x" for 5.
 * Used by coll_ina_params.c.
 * Does not show the refusal: MPI_Init does, with the text that is noted here. */
#pragma once

#include "ompi_coll_ina/coll_ina_compat.h"

typedef struct coll_ina_range {
    mca_base_var_enum_t super;
    int low, high;
} coll_ina_range;

/* Initialises a range that lives as long as the component. */
void coll_ina_range_init(coll_ina_range *range, const char *name, int low, int high);
