/* coll_ina_peers.c: which processes have the component, in which version and with which priority, published before MPI_Init's exchange.
 * Used by coll_ina_component.c (publish) and coll_ina_module.c (agree).
 * Does not send messages: whatever it finds, every member of a communicator finds the same. */
#include "ina_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi_coll_ina/coll_ina.h"

/* What a process publishes: 4 bytes, and 4 that name its node. A process without the component, or with priority 0, publishes nothing. */
enum { kMark = 0x49, kPublishedBytes = 8 };

/* One byte a process of MPI_COMM_WORLD: 0 not asked yet, 1 not there, 2 + priority. */
static uint8_t *known;
/* Of those that are known to have it: which node it is on. */
static uint32_t *known_nodes;
static opal_mutex_t known_lock = OPAL_MUTEX_STATIC_INIT;

/* Equal on all processes of a node; that two nodes have the same number costs an offload at worst (FNV-1a of the node's name). */
static uint32_t own_node(void) {
    char name[256] = {0};
    (void)gethostname(name, sizeof name - 1);
    uint32_t hash = 0x811c9dc5;
    for (const char *each = name; '\0' != *each; ++each) {
        hash = (hash ^ (unsigned char)*each) * 0x01000193;
    }
    return hash;
}

int coll_ina_publish(void) {
    if (!COLL_INA_CAN_PUBLISH() || 0 == coll_ina.settings.priority) {
        return OMPI_SUCCESS;
    }
    unsigned char mine[kPublishedBytes] = {kMark, COLL_INA_PEER_VERSION, (unsigned char)coll_ina.settings.priority, 0};
    const uint32_t node = own_node();
    for (int i = 0; i < 4; ++i) {
        mine[4 + i] = (unsigned char)(node >> (8 * i));
    }
    int rc;
    OPAL_MODEX_SEND(rc, COLL_INA_MODEX_SCOPE, &mca_coll_ina_component.collm_version, mine, sizeof mine);
    return rc;
}

void coll_ina_forget_peers(void) {
    free(known);
    free(known_nodes);
    known = NULL;
    known_nodes = NULL;
}

static uint8_t ask(ompi_proc_t *proc, uint32_t *node) {
    coll_ina_modex_data data = NULL;
    size_t size = 0;
    uint8_t answer = 1;
    int rc;
    OPAL_MODEX_RECV(rc, &mca_coll_ina_component.collm_version, &proc->super.proc_name, &data, &size);
    if (OPAL_SUCCESS == rc && NULL != data && kPublishedBytes == size) {
        const unsigned char *theirs = (const unsigned char *)data;
        if (kMark == theirs[0] && COLL_INA_PEER_VERSION == theirs[1]) {
            answer = (uint8_t)(2 + theirs[2]);
            *node = theirs[4] | (uint32_t)theirs[5] << 8 | (uint32_t)theirs[6] << 16 | (uint32_t)theirs[7] << 24;
        }
    }
    free(data);
    return answer;
}

static bool is_of_this_world(const ompi_proc_t *proc) {
    const int size = ompi_comm_size(&ompi_mpi_comm_world.comm);
    return proc->super.proc_name.jobid == OPAL_PROC_MY_NAME.jobid && proc->super.proc_name.vpid < (uint32_t)size;
}

int coll_ina_world_rank(ompi_communicator_t *comm, int rank) { return (int)ompi_comm_peer_lookup(comm, rank)->super.proc_name.vpid; }

/* 1 if the process lacks the component, else 2 + priority. */
static uint8_t look_up(ompi_proc_t *proc) {
    const uint32_t rank = proc->super.proc_name.vpid;
    if (NULL == known) {
        const size_t size = (size_t)ompi_comm_size(&ompi_mpi_comm_world.comm);
        known = calloc(size, 1);
        known_nodes = calloc(size, sizeof *known_nodes);
        if (NULL == known || NULL == known_nodes) {
            coll_ina_forget_peers();
            uint32_t node = 0;
            return ask(proc, &node);
        }
    }
    if (0 == known[rank]) {
        known[rank] = ask(proc, &known_nodes[rank]);
    }
    return known[rank];
}

bool coll_ina_agree(ompi_communicator_t *comm, enum ina_decline *reason, int *priority) {
    bool is_complete = true;
    *priority = 0;
    opal_mutex_lock(&known_lock);
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
        if (!is_of_this_world(proc)) {
            *reason = INA_DECLINE_COMM;
            is_complete = false;
            break;
        }
        const uint8_t answer = look_up(proc);
        if (answer < 2) {
            *reason = INA_DECLINE_MISSING;
            is_complete = false;
        } else if (0 == *priority) {
            *priority = answer - 2; /* the lowest rank that has one: the same for all */
        }
    }
    opal_mutex_unlock(&known_lock);
    return is_complete;
}

uint32_t coll_ina_node(ompi_communicator_t *comm, int rank) {
    opal_mutex_lock(&known_lock);
    const uint32_t node = NULL == known_nodes ? 0 : known_nodes[ompi_comm_peer_lookup(comm, rank)->super.proc_name.vpid];
    opal_mutex_unlock(&known_lock);
    return node;
}

bool coll_ina_is_on_one_node(ompi_communicator_t *comm) {
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        if (!OPAL_PROC_ON_LOCAL_NODE(ompi_comm_peer_lookup(comm, rank)->super.proc_flags)) {
            return false;
        }
    }
    return true;
}
