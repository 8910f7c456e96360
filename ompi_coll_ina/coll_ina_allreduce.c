/* coll_ina_allreduce.c: MPI_Allreduce.
 * Used by MPI_Allreduce through the communicator's table.
 * Does not choose between switch and software: the engine does, alike on all ranks. */
#include "ina_config.h"

#include <sched.h>

#include "ompi_coll_ina/coll_ina.h"

/* The engine's wait. A look at the host's own messages costs more than one at ours, and what others could do meanwhile where ranks share
 * cores: it comes once in so many rounds. How often nothing happened before the caller sleeps, and how long (microseconds): short, since
 * those messages are looked at only in between. */
enum { kIdleRounds = 256, kIdleMicroseconds = 50, kHostRounds = 16 };

/* From this size on Rabenseifner's algorithm sends less than the others; below, the component below us knows best. */
enum { kRabenseifnerBytes = 65536 };

static int run_previous(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                        coll_ina_module *module) {
    return module->previous.allreduce(source, destination, count, type, op, comm, module->previous.allreduce_module);
}

/* The software path where all ranks have ina. */
static int run_software(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                        coll_ina_module *module) {
    size_t bytes = 0;
    ompi_datatype_type_size(type, &bytes);
    bytes *= (size_t)count;
    int is_commutative = 0;
    PMPI_Op_commutative(op, &is_commutative);
    if (bytes >= kRabenseifnerBytes && count >= ompi_comm_size(comm) && is_commutative) {
        return ompi_coll_base_allreduce_intra_redscat_allgather(source, destination, count, type, op, comm, &module->super);
    }
    return run_previous(source, destination, count, type, op, comm, module);
}

/* One round of waiting. */
static void wait_a_little(unsigned *quiet_rounds) {
    if (ina_core_progress(coll_ina.core) + coll_ina_settle() > 0) {
        *quiet_rounds = 0;
        return;
    }
    if (++*quiet_rounds % kHostRounds == 0) {
        opal_progress();
    } else if (opal_progress_yield_when_idle) {
        sched_yield();
    }
    if (opal_progress_yield_when_idle && *quiet_rounds >= kIdleRounds) {
        ina_core_idle(coll_ina.core, kIdleMicroseconds);
        *quiet_rounds = 0;
    }
}

static int wait_for(coll_ina_waiter *waiter, ina_operation *operation) {
    unsigned quiet_rounds = 0;
    while (!__atomic_load_n(&waiter->is_complete, __ATOMIC_ACQUIRE)) {
        wait_a_little(&quiet_rounds);
    }
    ina_operation_free(operation);
    return 0 == waiter->status ? OMPI_SUCCESS : OMPI_ERROR;
}

int coll_ina_allreduce(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                       mca_coll_base_module_t *super) {
    coll_ina_module *module = (coll_ina_module *)super;
    if (0 == count) {
        return OMPI_SUCCESS;
    }
    if (!module->is_served || coll_ina.shut_down) {
        coll_ina_count_decline(module->is_served ? INA_DECLINE_NO_SWITCH : module->declined);
        return run_previous(source, destination, count, type, op, comm, module);
    }
    coll_ina_waiter waiter = {0};
    ina_reduction reduction = {
        .source = MPI_IN_PLACE == source ? destination : source,
        .destination = destination,
        .count = (size_t)count,
        .blocking = 1,
        .cookie = &waiter,
    };
    enum ina_decline reason = INA_DECLINE_TYPE;
    if (!coll_ina_translate(type, op, &reduction, &reason)) {
        coll_ina_count_decline(reason);
        return run_software(source, destination, count, type, op, comm, module);
    }
    ina_comm *engine = coll_ina_engine_of(module, comm);
    if (NULL == engine) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    coll_ina_ensure_progress();
    ina_operation *operation = NULL;
    unsigned quiet_rounds = 0;
    for (;;) {
        switch (ina_comm_allreduce(engine, &reduction, &operation)) {
        case INA_ROUTE_WAIT: opal_progress(); break;
        case INA_ROUTE_WAIT_SWITCH: wait_a_little(&quiet_rounds); break;
        case INA_ROUTE_SOFTWARE_TIMED: {
            const int rc = run_software(source, destination, count, type, op, comm, module);
            if (OMPI_SUCCESS == rc) {
                ina_comm_software_done(engine);
            }
            return rc;
        }
        case INA_ROUTE_SOFTWARE: return run_software(source, destination, count, type, op, comm, module);
        case INA_ROUTE_POSTED: return wait_for(&waiter, operation);
        default: return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
}
