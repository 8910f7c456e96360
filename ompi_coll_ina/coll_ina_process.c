/* coll_ina_process.c: the engine's life in this process: created with the first communicator, driven from opal_progress, ended with MPI_Finalize.
 * Used by the other coll_ina_*.c.
 * Does not decide anything about operations. */
#include "ina_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ompi_coll_ina/coll_ina.h"

static opal_mutex_t start_lock = OPAL_MUTEX_STATIC_INIT;

static const char kHelpFile[] = "help-coll-ina.txt";

/* False: the component was moved away from its help file. */
static bool find_help(void) {
    static bool is_added;
    if (0 != access(INA_PKGDATADIR "/help-coll-ina.txt", R_OK)) {
        return false;
    }
    if (!is_added) {
        opal_show_help_add_dir(INA_PKGDATADIR);
        is_added = true;
    }
    return true;
}

void coll_ina_tell_user(const char *topic, const char *text) {
    if (find_help()) {
        opal_show_help(kHelpFile, topic, true, text);
    } else {
        opal_output(0, "coll ina: %s: %s", topic, text);
    }
}

/* Written directly, and by one process a node: what goes through Open MPI's help messages may be lost when the job is aborted at once. */
static void refuse_to_run(const char *why) {
    if (0 == opal_process_info.my_local_rank) {
        char *page = find_help() ? opal_show_help_string(kHelpFile, "bad-parameter", true, why) : NULL;
        if (NULL != page) {
            fputs(page, stderr);
            free(page);
        } else {
            fprintf(stderr, "coll ina refuses to start: %s\n", why);
        }
        fflush(stderr);
    }
    ompi_mpi_abort(&ompi_mpi_comm_world.comm, 1);
}

static int progress(void) {
    ina_core *core = coll_ina.core;
    if (NULL == core) {
        return 0;
    }
    return ina_core_progress(core) + coll_ina_settle();
}

void coll_ina_ensure_progress(void) {
    if (!coll_ina.progress_registered) {
        opal_mutex_lock(&start_lock);
        if (!coll_ina.progress_registered && NULL != coll_ina.core) {
            opal_progress_register(progress);
            coll_ina.progress_registered = true;
        }
        opal_mutex_unlock(&start_lock);
    }
}

static void stop_progress(void) {
    if (coll_ina.progress_registered) {
        opal_progress_unregister(progress);
        coll_ina.progress_registered = false;
    }
}

void coll_ina_count_decline(enum ina_decline reason) {
    if (NULL != coll_ina.core) {
        ina_core_count_decline(coll_ina.core, reason);
    } else {
        __atomic_add_fetch(&coll_ina.after.declined_by_reason[reason], 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&coll_ina.after.operations_declined, 1, __ATOMIC_RELAXED);
    }
}

static ina_settings engine_settings(void) {
    const coll_ina_settings *s = &coll_ina.settings;
    return (ina_settings){
        .verbose = s->verbose,
        .switch_address = s->switch_address,
        .select = s->select,
        .transport = s->transport,
        .softswitch = s->softswitch,
        .prefix = INA_PREFIX,
        .env_switch = getenv("INA_SWITCH"),
        .home = getenv("HOME"),
        .all_on_one_node = coll_ina_is_on_one_node(&ompi_mpi_comm_world.comm),
        .one_node = s->one_node,
        .failover_ms = s->failover_ms,
        .world_rank = ompi_comm_rank(&ompi_mpi_comm_world.comm),
        .world_size = ompi_comm_size(&ompi_mpi_comm_world.comm),
        .world_tag = COLL_INA_TAG_WORLD,
    };
}

bool coll_ina_start_core(void) {
    const char *error = coll_ina.settings.refusal;
    if ('\0' == error[0]) {
        opal_mutex_lock(&start_lock);
        if (NULL == coll_ina.core) {
            const ina_settings settings = engine_settings();
            error = NULL;
            coll_ina.core = ina_core_create(&coll_ina_host, &settings, &error);
        }
        opal_mutex_unlock(&start_lock);
    }
    if (NULL == coll_ina.core) {
        refuse_to_run(NULL == error ? "out of memory" : error);
        return false;
    }
    return true;
}

static void keep_counters_of(ina_core *core) {
    coll_ina.after = *ina_core_counters(core);
    coll_ina.after.slots_held = 0;
}

static void destroy_core(void) {
    ina_core *core = coll_ina.core;
    stop_progress();
    if (NULL != core) {
        keep_counters_of(core);
        coll_ina.core = NULL;
        ina_core_destroy(core);
        coll_ina_settle();
    }
}

void coll_ina_finish(void) {
    ina_core *core = coll_ina.core;
    coll_ina.shut_down = true;
    if (NULL == core) {
        return;
    }
    ina_core_begin_shutdown(core);
    while (!ina_core_is_quiet(core)) {
        ina_core_progress(core);
        coll_ina_settle();
        opal_progress();
    }
    destroy_core();
}

void coll_ina_stop(void) {
    coll_ina.shut_down = true;
    destroy_core();
}
