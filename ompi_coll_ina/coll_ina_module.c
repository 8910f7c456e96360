/* coll_ina_module.c: one module per communicator: whether ina serves it, and the functions that were there before.
 * Used by the coll framework through coll_ina_comm_query.
 * Does not ask a switch for anything: that begins with the first eligible operation. */
#include "ina_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi_coll_ina/coll_ina.h"

_Static_assert(COLL_INA_TAG_OPERATIONS - COLL_INA_TAG_OPERATIONS_COUNT > -(1 << 23), "a tag has 24 bits in PML ucx");

static void module_construct(coll_ina_module *module) {
    module->is_served = false;
    module->declined = INA_DECLINE_COMM;
    module->comm = NULL;
    memset(&module->previous, 0, sizeof module->previous);
}

static void release_previous(coll_ina_module *module) {
    if (NULL != module->previous.allreduce_module) {
        OBJ_RELEASE(module->previous.allreduce_module);
    }
    if (NULL != module->previous.iallreduce_module) {
        OBJ_RELEASE(module->previous.iallreduce_module);
    }
    memset(&module->previous, 0, sizeof module->previous);
}

static void leave_engine(coll_ina_module *module) {
    if (NULL != module->comm) {
        if (NULL != coll_ina.core) {
            ina_comm_destroy(module->comm);
        }
        module->comm = NULL;
    }
}

static void module_destruct(coll_ina_module *module) {
    leave_engine(module);
    release_previous(module);
}

OBJ_CLASS_INSTANCE(coll_ina_module, mca_coll_base_module_t, module_construct, module_destruct);

/* Phase 1: note every function that was there; this can fail and leaves the communicator untouched. Phase 2, which cannot fail, is the framework's:
 * it copies our two functions over. */
static int module_enable(mca_coll_base_module_t *super, ompi_communicator_t *comm) {
    coll_ina_module *module = (coll_ina_module *)super;
    const coll_ina_previous previous = {
        .allreduce = comm->c_coll->coll_allreduce,
        .allreduce_module = comm->c_coll->coll_allreduce_module,
        .iallreduce = comm->c_coll->coll_iallreduce,
        .iallreduce_module = comm->c_coll->coll_iallreduce_module,
    };
    if (NULL == previous.allreduce || NULL == previous.allreduce_module || NULL == previous.iallreduce || NULL == previous.iallreduce_module) {
        return OMPI_ERR_NOT_FOUND; /* nothing below us to fall back on: another component will serve */
    }
    OBJ_RETAIN(previous.allreduce_module);
    OBJ_RETAIN(previous.iallreduce_module);
    module->previous = previous;
    return OMPI_SUCCESS;
}

static int module_disable(mca_coll_base_module_t *super, ompi_communicator_t *comm) {
    (void)comm;
    coll_ina_module *module = (coll_ina_module *)super;
    leave_engine(module);
    release_previous(module);
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *coll_ina_comm_query(ompi_communicator_t *comm, int *priority) {
    *priority = -1;
    if (0 == coll_ina.settings.priority && '\0' == coll_ina.settings.refusal[0]) {
        return NULL;
    }
    if (NULL == coll_ina.core && !coll_ina.shut_down && !coll_ina_start_core()) {
        return NULL; /* MPI_Init is being aborted */
    }
    enum ina_decline reason = INA_DECLINE_COMM;
    int agreed_priority = coll_ina.settings.priority;
    bool is_served = false;
    if (!OMPI_COMM_IS_INTER(comm)) {
        if (ompi_comm_size(comm) < 2) {
            return NULL;
        }
        is_served = coll_ina_agree(comm, &reason, &agreed_priority);
    }
    coll_ina_module *module = OBJ_NEW(coll_ina_module);
    if (NULL == module) {
        return NULL;
    }
    module->is_served = is_served;
    module->declined = reason;
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    module->super.coll_allreduce = coll_ina_allreduce;
    module->super.coll_iallreduce = coll_ina_iallreduce;
    *priority = agreed_priority > 0 ? agreed_priority : coll_ina.settings.priority;
    coll_ina_hook_finalize();
    if (NULL != coll_ina.core && ina_core_serves_others(coll_ina.core)) {
        coll_ina_ensure_progress();
    }
    return &module->super;
}

static void name_communicator(ompi_communicator_t *comm, char *name, size_t size) {
    if (comm == &ompi_mpi_comm_world.comm) {
        snprintf(name, size, "MPI_COMM_WORLD");
    } else if ('\0' == comm->c_name[0] || 0 == strncmp(comm->c_name, "MPI COMMUNICATOR", 16)) {
        snprintf(name, size, "communicator %d", (int)comm->c_contextid);
    } else {
        snprintf(name, size, "communicator %d (%s)", (int)comm->c_contextid, comm->c_name);
    }
}

ina_comm *coll_ina_engine_of(coll_ina_module *module, ompi_communicator_t *comm) {
    if (NULL != module->comm) {
        return module->comm;
    }
    const int size = ompi_comm_size(comm);
    int *world_ranks = malloc((size_t)size * sizeof *world_ranks);
    uint32_t *nodes = malloc((size_t)size * sizeof *nodes);
    if (NULL == world_ranks || NULL == nodes) {
        free(world_ranks);
        free(nodes);
        return NULL;
    }
    for (int rank = 0; rank < size; ++rank) {
        world_ranks[rank] = coll_ina_world_rank(comm, rank);
        nodes[rank] = coll_ina_node(comm, rank);
    }
    char name[MPI_MAX_OBJECT_NAME + 32];
    name_communicator(comm, name, sizeof name);
    const ina_comm_spec spec = {
        .handle = comm,
        .name = name,
        .rank = ompi_comm_rank(comm),
        .size = size,
        .world_ranks = world_ranks,
        .decision_tag = COLL_INA_TAG_DECISION,
        .first_tag = COLL_INA_TAG_OPERATIONS,
        .tag_count = COLL_INA_TAG_OPERATIONS_COUNT,
        .all_on_one_node = coll_ina_is_on_one_node(comm),
        .nodes = nodes,
    };
    module->comm = ina_comm_create(coll_ina.core, &spec);
    free(world_ranks);
    free(nodes);
    return module->comm;
}
