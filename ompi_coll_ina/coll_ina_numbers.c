/* coll_ina_numbers.c: a range of numbers as an enumerator of the MCA system.
 * Used through coll_ina_numbers.h.
 * Does not list its values: there may be too many. */
#include "ina_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi_coll_ina/coll_ina.h"
#include "ompi_coll_ina/coll_ina_numbers.h"

static int count_none(mca_base_var_enum_t *self, int *count) {
    (void)self;
    *count = 0;
    return OPAL_SUCCESS;
}

static int no_value(mca_base_var_enum_t *self, int index, int *value, const char **text) {
    (void)self;
    (void)index;
    (void)value;
    (void)text;
    return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
}

static bool holds(const mca_base_var_enum_t *self, long value) {
    const coll_ina_range *range = (const coll_ina_range *)self;
    return value >= range->low && value <= range->high;
}

/* Takes everything: an error here would be shown by the MCA system, through messages that an aborting MPI_Init may lose. */
static int from_string(mca_base_var_enum_t *self, const char *text, int *value) {
    char *end = NULL;
    errno = 0;
    const long parsed = NULL == text ? 0 : strtol(text, &end, 10);
    if (NULL == end || end == text || '\0' != *end || 0 != errno || !holds(self, parsed)) {
        const coll_ina_range *range = (const coll_ina_range *)self;
        coll_ina_refuse("%s is \"%s\"; it must be a number from %d to %d", self->enum_name, NULL == text ? "" : text, range->low, range->high);
        return OPAL_SUCCESS;
    }
    if (NULL != value) {
        *value = (int)parsed;
    }
    return OPAL_SUCCESS;
}

static int to_string(mca_base_var_enum_t *self, const int value, char **text) {
    if (!holds(self, value)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (NULL != text) {
        char buffer[16];
        snprintf(buffer, sizeof buffer, "%d", value);
        *text = strdup(buffer);
    }
    return OPAL_SUCCESS;
}

static int describe(mca_base_var_enum_t *self, char **text) {
    const coll_ina_range *range = (const coll_ina_range *)self;
    char buffer[80];
    snprintf(buffer, sizeof buffer, "a number from %d to %d", range->low, range->high);
    *text = strdup(buffer);
    return NULL == *text ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

void coll_ina_range_init(coll_ina_range *range, const char *name, int low, int high) {
    OBJ_CONSTRUCT(&range->super, mca_base_var_enum_t);
    range->super.enum_is_static = true;
    range->super.enum_name = (char *)name;
    range->super.get_count = count_none;
    range->super.get_value = no_value;
    range->super.value_from_string = from_string;
    range->super.string_from_value = to_string;
    range->super.dump = describe;
    range->low = low;
    range->high = high;
}
