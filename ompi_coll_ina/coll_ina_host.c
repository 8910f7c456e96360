/* coll_ina_host.c: what the engine asks of its host, in terms of Open MPI's point-to-point messages.
 * Used by the engine through coll_ina_host; it holds its lock while it calls.
 * Never waits inside progress, and never completes a request or lets a communicator go under the engine's lock: coll_ina_settle() does. */
#include "ina_config.h"

#include <stdlib.h>
#include <time.h>

#include "ompi_coll_ina/coll_ina.h"

/* A reference to a communicator that an operation holds. Allocated when the reference is taken, so that giving it back cannot fail. */
typedef struct held {
    ompi_communicator_t *comm;
    struct held *next;
} held;

static opal_mutex_t settle_lock = OPAL_MUTEX_STATIC_INIT;
static held *held_now;                /* references in use */
static held *held_let_go;             /* to be released outside the engine's lock */
static coll_ina_waiter *complete_first; /* non-blocking operations to be completed outside the engine's lock */
static coll_ina_waiter **complete_last = &complete_first;
static volatile int unsettled;

static ompi_communicator_t *communicator_of(void *comm) { return INA_WORLD == comm ? &ompi_mpi_comm_world.comm : (ompi_communicator_t *)comm; }

static int host_isend(void *context, void *comm, int peer, int tag, const void *buffer, size_t bytes, void **request) {
    (void)context;
    ompi_request_t *started = NULL;
    const int rc = MCA_PML_CALL(isend((void *)buffer, bytes, MPI_BYTE, peer, tag, MCA_PML_BASE_SEND_STANDARD, communicator_of(comm), &started));
    if (OMPI_SUCCESS != rc) {
        return -1;
    }
    *request = started;
    return 0;
}

static int host_irecv(void *context, void *comm, int peer, int tag, void *buffer, size_t bytes, void **request) {
    (void)context;
    ompi_request_t *started = NULL;
    const int source = INA_ANY_SOURCE == peer ? MPI_ANY_SOURCE : peer;
    const int rc = MCA_PML_CALL(irecv(buffer, bytes, MPI_BYTE, source, tag, communicator_of(comm), &started));
    if (OMPI_SUCCESS != rc) {
        return -1;
    }
    *request = started;
    return 0;
}

static int host_test(void *context, void **request, size_t *received, int *source) {
    (void)context;
    ompi_request_t *tested = (ompi_request_t *)*request;
    if (!REQUEST_COMPLETE(tested)) {
        return 0;
    }
    opal_atomic_rmb();
    const int error = tested->req_status.MPI_ERROR;
    if (NULL != received) {
        *received = tested->req_status._ucount;
    }
    if (NULL != source) {
        *source = tested->req_status.MPI_SOURCE;
    }
    ompi_request_free(&tested);
    *request = NULL;
    return MPI_SUCCESS == error ? 1 : -1;
}

static void host_cancel(void *context, void **request) {
    (void)context;
    ompi_request_t *cancelled = (ompi_request_t *)*request;
    if (!REQUEST_COMPLETE(cancelled)) {
        ompi_request_cancel(cancelled);
        while (!REQUEST_COMPLETE(cancelled)) {
            opal_progress();
        }
    }
    ompi_request_free(&cancelled);
    *request = NULL;
}

static void host_retain(void *context, void *comm, int keep) {
    (void)context;
    ompi_communicator_t *of = communicator_of(comm);
    opal_mutex_lock(&settle_lock);
    if (keep) {
        held *reference = malloc(sizeof *reference);
        OBJ_RETAIN(of);
        if (NULL != reference) { /* else the communicator stays for ever, which is harmless */
            reference->comm = of;
            reference->next = held_now;
            held_now = reference;
        }
    } else {
        for (held **at = &held_now; NULL != *at; at = &(*at)->next) {
            if ((*at)->comm == of) {
                held *reference = *at;
                *at = reference->next;
                reference->next = held_let_go;
                held_let_go = reference;
                unsettled = 1;
                break;
            }
        }
    }
    opal_mutex_unlock(&settle_lock);
}

static void host_complete(void *context, void *cookie, int status) {
    (void)context;
    coll_ina_waiter *waiter = (coll_ina_waiter *)cookie;
    waiter->status = status;
    if (NULL == waiter->request) {
        __atomic_store_n(&waiter->is_complete, 1, __ATOMIC_RELEASE);
        return;
    }
    opal_mutex_lock(&settle_lock);
    waiter->next = NULL;
    *complete_last = waiter;
    complete_last = &waiter->next;
    unsettled = 1;
    opal_mutex_unlock(&settle_lock);
}

static coll_ina_waiter *take_complete(void) {
    opal_mutex_lock(&settle_lock);
    coll_ina_waiter *waiter = complete_first;
    if (NULL != waiter) {
        complete_first = waiter->next;
        if (NULL == complete_first) {
            complete_last = &complete_first;
        }
    }
    opal_mutex_unlock(&settle_lock);
    return waiter;
}

static held *take_let_go(void) {
    opal_mutex_lock(&settle_lock);
    held *reference = held_let_go;
    if (NULL != reference) {
        held_let_go = reference->next;
    }
    opal_mutex_unlock(&settle_lock);
    return reference;
}

int coll_ina_settle(void) {
    if (!unsettled) {
        return 0;
    }
    unsettled = 0;
    int events = 0;
    for (coll_ina_waiter *waiter = take_complete(); NULL != waiter; waiter = take_complete(), ++events) {
        ompi_request_t *request = waiter->request;
        request->req_status.MPI_ERROR = 0 == waiter->status ? MPI_SUCCESS : MPI_ERR_OTHER;
        ompi_request_complete(request, true); /* the request may be gone now */
    }
    for (held *reference = take_let_go(); NULL != reference; reference = take_let_go()) {
        ompi_communicator_t *comm = reference->comm;
        free(reference);
        OBJ_RELEASE(comm);
    }
    return events;
}

static uint64_t host_now_ns(void *context) {
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void host_log(void *context, int level, const char *text) {
    (void)context;
    static const int verbosity[] = {[INA_LOG_ERROR] = 0, [INA_LOG_WARN] = 1, [INA_LOG_INFO] = 1, [INA_LOG_DEBUG] = 2};
    const int known = level >= INA_LOG_ERROR && level <= INA_LOG_DEBUG ? level : INA_LOG_DEBUG;
    opal_output_verbose(verbosity[known], coll_ina.output, "coll ina: %s", text);
}

static void host_show_help(void *context, const char *topic, const char *text) {
    (void)context;
    coll_ina_tell_user(topic, text);
}

const ina_host coll_ina_host = {
    .isend = host_isend,
    .irecv = host_irecv,
    .test = host_test,
    .cancel = host_cancel,
    .retain = host_retain,
    .complete = host_complete,
    .now_ns = host_now_ns,
    .log = host_log,
    .show_help = host_show_help,
};
