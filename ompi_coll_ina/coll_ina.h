/* coll_ina.h: what the files of the coll component share: its settings, its module, and who calls whom.
 * Used by coll_ina_*.c only.
 * Holds no algorithm: the engine is behind core/ina_core.h. */
#pragma once

#include "ompi_coll_ina/coll_ina_compat.h"

#include "ompi_coll_ina/core/ina_core.h"

/* Changes when two processes with different versions of the component could not work together. */
#define COLL_INA_PEER_VERSION 1

/* Tags on every communicator that nobody else uses: Open MPI's collectives begin at -7 and go down, MPI_ANY_TAG is -1. */
enum { COLL_INA_TAG_DECISION = -5, COLL_INA_TAG_WORLD = -6 };

/* Tags of the operations' own messages. Open MPI's counter of tags for non-blocking collectives is not shared: MPI_Comm_idup takes tags of it from
 * progress, on each rank at another place among our operations. It comes to these after four million operations of one communicator, and an
 * encounter would need the same tag at the same time. Not lower: PML ucx keeps 24 bits of a tag, sign included, and would mistake a very low one for a
 * user's. */
enum { COLL_INA_TAG_OPERATIONS = -(1 << 22), COLL_INA_TAG_OPERATIONS_COUNT = 1 << 20 };

typedef struct coll_ina_settings {
    int priority;
    int verbose;
    char *switch_address;
    char *select;
    char *transport;
    char *softswitch;
    bool auto_select;
    bool one_node;
    int failover_ms;
    char refusal[512]; /* a value was wrong, and how: MPI_Init will say no; empty: none */
} coll_ina_settings;

/* The process's state. */
typedef struct coll_ina_process {
    coll_ina_settings settings;
    ina_core *core; /* NULL before the first communicator is queried and after MPI_Finalize's quiet phase */
    int output;     /* opal_output stream */
    bool progress_registered;
    bool shut_down; /* no operation may be offloaded any more */
    int self_keyval; /* of the attribute whose deletion begins the end; MPI_KEYVAL_INVALID: not set */
    ina_counters after;  /* counters once the engine is gone */
} coll_ina_process;

extern coll_ina_process coll_ina;

OMPI_DECLSPEC extern mca_coll_base_component_t mca_coll_ina_component;

typedef struct coll_ina_previous {
    mca_coll_base_module_allreduce_fn_t allreduce;
    mca_coll_base_module_t *allreduce_module;
    mca_coll_base_module_iallreduce_fn_t iallreduce;
    mca_coll_base_module_t *iallreduce_module;
} coll_ina_previous;

/* One per communicator. */
typedef struct coll_ina_module {
    mca_coll_base_module_t super;
    bool is_served;           /* false: `declined` says why, for the communicator's whole life */
    enum ina_decline declined;
    ina_comm *comm;           /* created at the first eligible operation */
    coll_ina_previous previous; /* retained */
} coll_ina_module;

OBJ_CLASS_DECLARATION(coll_ina_module);

/* coll_ina_params.c */
int coll_ina_register(void);
void coll_ina_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* coll_ina_widen.c: makes `--mca coll ina` alone a complete selection. */
void coll_ina_widen_selection(void);

/* coll_ina_pvars.c */
int coll_ina_register_pvars(void);

/* coll_ina_peers.c: which processes have the component. */
int coll_ina_publish(void);
/* False: some member lacks it, has another version, or is no process of MPI_COMM_WORLD; then *reason says which. *priority is what
 * rank 0 of the communicator has set. All members find the same. */
bool coll_ina_agree(ompi_communicator_t *comm, enum ina_decline *reason, int *priority);
void coll_ina_forget_peers(void);
bool coll_ina_is_on_one_node(ompi_communicator_t *comm);
int coll_ina_world_rank(ompi_communicator_t *comm, int rank);
/* Equal numbers are one node. After coll_ina_agree() has agreed. */
uint32_t coll_ina_node(ompi_communicator_t *comm, int rank);

/* coll_ina_module.c */
mca_coll_base_module_t *coll_ina_comm_query(ompi_communicator_t *comm, int *priority);
/* The engine's communicator, created at the first call. NULL: out of memory. */
ina_comm *coll_ina_engine_of(coll_ina_module *module, ompi_communicator_t *comm);

/* coll_ina_process.c: the engine's life in this process. */
bool coll_ina_start_core(void); /* false: refused, and the user has been told why */
void coll_ina_stop(void);       /* from close: without agreement, if MPI_Finalize has not been through coll_ina_finish */
void coll_ina_finish(void);     /* from MPI_Finalize: ends all groups by agreement */
void coll_ina_ensure_progress(void);
void coll_ina_count_decline(enum ina_decline reason);
void coll_ina_tell_user(const char *topic, const char *text);

/* coll_ina_finalize.c */
void coll_ina_hook_finalize(void);

/* coll_ina_host.c */
extern const ina_host coll_ina_host;
/* Does what the engine asked for while its lock was held: completes requests, lets communicators go. After every call of the engine that may have. */
int coll_ina_settle(void);

/* coll_ina_types.c */
/* Fills lane_type, op and logical. False: *reason. Depends on type and operation alone. */
bool coll_ina_translate(ompi_datatype_t *type, ompi_op_t *op, ina_reduction *reduction, enum ina_decline *reason);

/* coll_ina_allreduce.c, coll_ina_iallreduce.c */
int coll_ina_allreduce(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module);
int coll_ina_iallreduce(const void *source, void *destination, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *module);

/* What a cookie of ina_reduction points to: the first member of everything that waits for an operation. */
typedef struct coll_ina_waiter {
    volatile int is_complete; /* blocking: set by the engine's thread; the waiter may vanish at once */
    int status;
    ompi_request_t *request;  /* NULL: blocking */
    struct coll_ina_waiter *next; /* in the list of what is to be settled */
} coll_ina_waiter;
