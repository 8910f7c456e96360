/* ina_core.h: the border between Open MPI's glue (C) and the engine (C++).
 * Used by ompi_coll_ina/coll_ina_*.c and by the core's tests, which play the host over an in-memory network.
 * Does not name any type of Open MPI: handles of the host are void pointers.
 *
 * Threads: every function may be called by any thread; the core has one lock, which it holds while it calls the host. The host's functions
 * must not call back into the core, except that ina_core_progress() called while the lock is held returns 0 at once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define INA_NOEXCEPT noexcept
#else
#define INA_NOEXCEPT
#endif

typedef struct ina_core ina_core;           /* one a process */
typedef struct ina_comm ina_comm;           /* one a communicator of two ranks or more that ina serves */
typedef struct ina_operation ina_operation; /* one a posted allreduce */

enum ina_log_level { INA_LOG_ERROR = 0, INA_LOG_WARN, INA_LOG_INFO, INA_LOG_DEBUG };

/* Codes of wire/ina_header.hpp. */
enum { INA_OP_SUM = 1, INA_OP_MIN, INA_OP_MAX, INA_OP_AND, INA_OP_OR, INA_OP_XOR };
enum {
    INA_LANE_INT8 = 1, INA_LANE_INT16, INA_LANE_INT32, INA_LANE_INT64,
    INA_LANE_UINT8, INA_LANE_UINT16, INA_LANE_UINT32, INA_LANE_UINT64,
    INA_LANE_FLOAT32, INA_LANE_FLOAT64
};

#define INA_ANY_SOURCE (-1)
/* Messages of the process-wide channel; peers are ranks of MPI_COMM_WORLD. */
#define INA_WORLD ((void *)0)

/* What the core asks of its host. All functions are non-blocking. */
typedef struct ina_host {
    void *context;
    /* Bytes to or from `peer` (rank in the communicator `comm`, the handle given to ina_comm_create, or INA_WORLD) with one of the tags below. The buffer is the
     * host's until test says done. Messages of one sender, communicator and tag do not overtake. Return 0, or a negative number: the message cannot be sent. */
    int (*isend)(void *context, void *comm, int peer, int tag, const void *buffer, size_t bytes, void **request);
    int (*irecv)(void *context, void *comm, int peer, int tag, void *buffer, size_t bytes, void **request);
    /* 1: done, *request is freed and set to NULL, *received and *source are set (receives); 0: not yet; negative: failed, freed. */
    int (*test)(void *context, void **request, size_t *received, int *source);
    /* Cancels a receive that has not matched and frees it. Waits for one that has. */
    void (*cancel)(void *context, void **request);
    /* Keeps the communicator alive for messages (1) or no longer (0): while operations of it are outstanding. */
    void (*retain)(void *context, void *comm, int keep);
    /* The operation posted with this cookie is complete (status 0) or lost (negative: messages failed). Called with the core's lock held. */
    void (*complete)(void *context, void *cookie, int status);
    uint64_t (*now_ns)(void *context); /* monotonic */
    void (*log)(void *context, int level, const char *text);
    /* A user error, shown once by the host's help system. topic: "bad-switch", "unreachable", ...; text: what was wrong, where, what to do. */
    void (*show_help)(void *context, const char *topic, const char *text);
} ina_host;

typedef struct ina_settings {
    int verbose;
    const char *switch_address; /* auto | embedded | none | HOST:PORT | unix:PATH, as the user gave it; rank 0 of a communicator counts */
    const char *select;         /* auto | always | never */
    const char *transport;      /* UCT transport name, or auto */
    const char *softswitch;     /* path of the ina-softswitch program for the embedded switch */
    const char *prefix;         /* installation prefix: PREFIX/etc/ina.conf */
    const char *env_switch;     /* value of INA_SWITCH, or NULL: the core reads no environment */
    const char *home;           /* value of HOME, or NULL: HOME/.config/ina.conf */
    int all_on_one_node;        /* of MPI_COMM_WORLD: the embedded switch may listen on loopback */
    int one_node;               /* 1: select auto compares the paths even where all ranks share a node */
    int failover_ms;
    int world_rank, world_size;
    int world_tag;              /* the tag of the process-wide channel, alike on all ranks */
} ina_settings;

/* Why a call went to software. One counter each. */
enum ina_decline {
    INA_DECLINE_TYPE = 0,     /* data type that the switch does not add */
    INA_DECLINE_OP,           /* operation that the switch does not do, or user-defined, or not for this type */
    INA_DECLINE_NO_SWITCH,    /* none is configured, or coll_ina_select never */
    INA_DECLINE_UNREACHABLE,  /* manager, relay or switch in the wire is out of reach */
    INA_DECLINE_NO_SLOTS,     /* the manager refused */
    INA_DECLINE_SETUP,        /* not decided yet, or set-up is under way */
    INA_DECLINE_ONE_NODE,     /* select auto and all ranks share a node */
    INA_DECLINE_COMM,         /* inter-communicator, or ranks beyond MPI_COMM_WORLD */
    INA_DECLINE_MISSING,      /* a rank has no ina, or another version */
    INA_DECLINE_FAILOVER,     /* the group's life has ended by a fault */
    INA_DECLINE_COST,         /* software is faster for this size, or is being compared with the switch */
    INA_DECLINE_REASONS
};
const char *ina_decline_name(enum ina_decline) INA_NOEXCEPT; /* "type", "no-switch", ... */

typedef struct ina_counters {
    uint64_t operations_offloaded, bytes_offloaded, operations_declined, declined_by_reason[INA_DECLINE_REASONS];
    uint64_t failovers, slots_held;
} ina_counters;

/* NULL and *error (static or to be copied at once) where settings are wrong. */
ina_core *ina_core_create(const ina_host *, const ina_settings *, const char **error) INA_NOEXCEPT;
/* Ends every group by agreement with all members; call progress until ina_core_is_quiet(). Then destroy. */
void ina_core_begin_shutdown(ina_core *) INA_NOEXCEPT;
int ina_core_is_quiet(ina_core *) INA_NOEXCEPT;
void ina_core_destroy(ina_core *) INA_NOEXCEPT;
/* Drives everything. Returns the number of events. Never blocks, never re-enters. */
int ina_core_progress(ina_core *) INA_NOEXCEPT;
/* 1: other processes ask this one where the switch is, so it has to be progressed from the start. */
int ina_core_serves_others(ina_core *) INA_NOEXCEPT;
/* Nothing happens for a while: waits at most `microseconds` for a packet. For blocking calls of ranks that share cores. */
void ina_core_idle(ina_core *, unsigned microseconds) INA_NOEXCEPT;
/* The counters live as long as the core and only grow (slots_held but for). */
const ina_counters *ina_core_counters(ina_core *) INA_NOEXCEPT;
void ina_core_count_decline(ina_core *, enum ina_decline) INA_NOEXCEPT;

typedef struct ina_comm_spec {
    void *handle;             /* the host's communicator */
    const char *name;         /* for the path line: "MPI_COMM_WORLD", "communicator 3" */
    int rank, size;
    const int *world_ranks;   /* [size]: rank in MPI_COMM_WORLD of each member; copied */
    int decision_tag;         /* reserved for the leader's decisions on this communicator */
    int first_tag;            /* reserved for its operations: first_tag, first_tag - 1, ..., */
    unsigned tag_count;       /* so many, > 0; used again after as many operations */
    int all_on_one_node;
    const uint32_t *nodes;    /* [size]: of each member, equal numbers are one node; copied. NULL: all are on different ones */
} ina_comm_spec;

ina_comm *ina_comm_create(ina_core *, const ina_comm_spec *) INA_NOEXCEPT; /* NULL: out of memory */
/* The communicator goes: its group's life ends in the background, through the process-wide channel. No operation is outstanding. */
void ina_comm_destroy(ina_comm *) INA_NOEXCEPT;

typedef struct ina_reduction {
    const void *source;       /* equals destination for MPI_IN_PLACE */
    void *destination;
    size_t count;             /* > 0 */
    int lane_type, op;
    int logical;              /* 1: elements are truth values */
    int blocking;             /* 1: the caller runs ina_route's software path itself */
    void *cookie;             /* for complete() */
} ina_reduction;

enum ina_route {
    INA_ROUTE_WAIT = 0,       /* blocking only: the decision of a checkpoint is not known yet; progress and ask again */
    INA_ROUTE_WAIT_SWITCH,    /* blocking only: the switch is being timed; wait as for an operation that it does, and ask again */
    INA_ROUTE_SOFTWARE,       /* blocking only: run the software path now; nothing was posted */
    INA_ROUTE_SOFTWARE_TIMED, /* likewise; then call ina_comm_software_done() */
    INA_ROUTE_POSTED,         /* *operation is outstanding; complete() will be called (perhaps already was) */
    INA_ROUTE_NO_MEMORY
};
/* Every eligible allreduce of a communicator in the caller's order. A blocking call that got one of the WAITs is repeated until it gets something else and
 * counts once: *operation carries it between the calls (NULL at first). Non-blocking ones always get POSTED: by stream or by the core's own schedule. */
enum ina_route ina_comm_allreduce(ina_comm *, const ina_reduction *, ina_operation **operation) INA_NOEXCEPT;
/* The software path that INA_ROUTE_SOFTWARE_TIMED asked for has ended well. */
void ina_comm_software_done(ina_comm *) INA_NOEXCEPT;
/* After complete(): frees it. */
void ina_operation_free(ina_operation *) INA_NOEXCEPT;

#ifdef __cplusplus
}
#endif
