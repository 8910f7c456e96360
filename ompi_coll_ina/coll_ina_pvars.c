/* coll_ina_pvars.c: the component's MPI_T performance variables.
 * Used by coll_ina_params.c; read through MPI_T by users, tools and tests.
 * Class LEVEL throughout: values count from MPI_Init, whenever the handle was allocated (a COUNTER would count from there). */
#include "ina_config.h"

#include <stdio.h>

#include "ompi_coll_ina/coll_ina.h"
#include "ucx_tl/uct_ina_counters.h"

enum field { kOffloaded = 1, kBytes, kDeclined, kFailovers, kRetransmissions, kSlots, kReason };

static uint64_t read_field(enum field field) {
    const ina_counters *counters = NULL != coll_ina.core ? ina_core_counters(coll_ina.core) : &coll_ina.after;
    switch (field) {
    case kOffloaded: return counters->operations_offloaded;
    case kBytes: return counters->bytes_offloaded;
    case kDeclined: return counters->operations_declined;
    case kFailovers: return counters->failovers;
    case kSlots: return counters->slots_held;
    case kRetransmissions: {
        uct_ina_counters_t transport;
        uct_ina_query_counters(&transport);
        return transport.retransmissions;
    }
    default: return counters->declined_by_reason[field - kReason];
    }
}

static int get_value(const mca_base_pvar_t *pvar, void *value, void *object) {
    (void)object;
    *(unsigned long long *)value = read_field((enum field)(uintptr_t)pvar->ctx);
    return OMPI_SUCCESS;
}

static int register_one(const char *name, const char *help, enum field field) {
    return mca_base_component_pvar_register(&mca_coll_ina_component.collm_version, name, help, OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_LEVEL,
                                            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MCA_BASE_VAR_BIND_NO_OBJECT,
                                            MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, get_value, NULL, NULL, (void *)(uintptr_t)field);
}

static int register_reasons(void) {
    for (int reason = 0; reason < INA_DECLINE_REASONS; ++reason) {
        char name[64], help[128];
        const char *word = ina_decline_name((enum ina_decline)reason);
        int length = snprintf(name, sizeof name, "declined_%s", word);
        for (int i = 0; i < length; ++i) {
            name[i] = '-' == name[i] ? '_' : name[i];
        }
        snprintf(help, sizeof help, "Operations that ran in software for the reason \"%s\"", word);
        const int rc = register_one(name, help, (enum field)(kReason + reason));
        if (rc < 0) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

int coll_ina_register_pvars(void) {
    static const struct {
        const char *name, *help;
        enum field field;
    } all[] = {
        {"operations_offloaded", "Operations that the switch has added up", kOffloaded},
        {"bytes_offloaded", "Bytes of this process's vectors that the switch has added up", kBytes},
        {"operations_declined", "Operations that ran in software; one variable a reason tells why", kDeclined},
        {"failovers", "Groups whose life a fault has ended", kFailovers},
        {"retransmissions", "Packets that the ina transport has sent again", kRetransmissions},
        {"slots_held", "Slots of the switch that groups of this process's communicators hold", kSlots},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        const int rc = register_one(all[i].name, all[i].help, all[i].field);
        if (rc < 0) {
            return rc;
        }
    }
    return register_reasons();
}
