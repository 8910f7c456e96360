/* coll_ina_iallreduce.c: MPI_Iallreduce, with a request of its own class that completes from progress.
 * Used by MPI_Iallreduce through the communicator's table.
 * Does not run software itself: what the engine takes, it completes. What it cannot take goes to the component below. */
#include "ina_config.h"

#include "ompi_coll_ina/coll_ina.h"

typedef struct coll_ina_request {
    ompi_request_t super;
    coll_ina_waiter waiter;
    ina_operation *operation;
} coll_ina_request;

static int request_free(ompi_request_t **request);
static int request_cancel(ompi_request_t *request, int flag);

static void request_construct(coll_ina_request *request) {
    OMPI_REQUEST_INIT(&request->super, false);
    request->super.req_type = OMPI_REQUEST_COLL;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->super.req_start = NULL;
    request->super.req_status._cancelled = 0;
    request->waiter = (coll_ina_waiter){.request = &request->super};
    request->operation = NULL;
}

static void request_destruct(coll_ina_request *request) { OMPI_REQUEST_FINI(&request->super); }

static OBJ_CLASS_INSTANCE(coll_ina_request, ompi_request_t, request_construct, request_destruct);

static int request_free(ompi_request_t **request) {
    coll_ina_request *mine = (coll_ina_request *)*request;
    if (!REQUEST_COMPLETE(&mine->super)) {
        return MPI_ERR_REQUEST;
    }
    ina_operation_free(mine->operation);
    OBJ_RELEASE(mine);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* MPI does not let users cancel collective operations. */
static int request_cancel(ompi_request_t *request, int flag) {
    (void)request;
    (void)flag;
    return MPI_ERR_REQUEST;
}

static coll_ina_request *new_request(ompi_communicator_t *comm) {
    coll_ina_request *request = OBJ_NEW(coll_ina_request);
    if (NULL != request) {
        request->super.req_mpi_object.comm = comm;
        request->super.req_state = OMPI_REQUEST_ACTIVE;
        request->super.req_complete = REQUEST_PENDING;
        request->super.req_status.MPI_ERROR = MPI_SUCCESS;
        request->super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
        request->super.req_status.MPI_TAG = MPI_ANY_TAG;
        request->super.req_status._ucount = 0;
    }
    return request;
}

static int run_previous(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                        ompi_request_t **request, coll_ina_module *module) {
    return module->previous.iallreduce(source, destination, count, type, op, comm, request, module->previous.iallreduce_module);
}

/* Open MPI agrees on a new communicator's number with non-blocking reductions of one int, MPI_MIN or MPI_MAX, over the old one. MPI_Comm_idup posts
 * them from progress, so each rank has them at another place among the caller's own operations, and only what all ranks post in the same
 * order can be the engine's. Whose they are does not show: all of that form go to the component below, alike on all ranks. */
static bool may_be_from_progress(int count, const ompi_datatype_t *type, const ompi_op_t *op) {
    return 1 == count && MPI_INT == type && (MPI_MAX == op || MPI_MIN == op);
}

int coll_ina_iallreduce(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *super) {
    coll_ina_module *module = (coll_ina_module *)super;
    if (0 == count) {
        return run_previous(source, destination, count, type, op, comm, request, module);
    }
    ina_reduction reduction = {
        .source = MPI_IN_PLACE == source ? destination : source,
        .destination = destination,
        .count = (size_t)count,
    };
    enum ina_decline reason = module->declined;
    const bool is_open = module->is_served && !coll_ina.shut_down;
    if (is_open && may_be_from_progress(count, type, op)) {
        coll_ina_count_decline(INA_DECLINE_OP);
        return run_previous(source, destination, count, type, op, comm, request, module);
    }
    if (!is_open || !coll_ina_translate(type, op, &reduction, &reason)) {
        coll_ina_count_decline(module->is_served && coll_ina.shut_down ? INA_DECLINE_NO_SWITCH : reason);
        return run_previous(source, destination, count, type, op, comm, request, module);
    }
    ina_comm *engine = coll_ina_engine_of(module, comm);
    coll_ina_request *mine = new_request(comm);
    if (NULL == engine || NULL == mine) {
        if (NULL != mine) {
            OBJ_RELEASE(mine);
        }
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    coll_ina_ensure_progress();
    reduction.cookie = &mine->waiter;
    if (INA_ROUTE_POSTED != ina_comm_allreduce(engine, &reduction, &mine->operation)) {
        OBJ_RELEASE(mine);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &mine->super;
    coll_ina_settle();
    return OMPI_SUCCESS;
}
