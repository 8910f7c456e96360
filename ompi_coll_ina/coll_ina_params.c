/* coll_ina_params.c: the component's MCA parameters.
 * Used by coll_ina_component.c.
 * Does not judge words and addresses: the engine does when it is created. A wrong value is remembered, and MPI_Init refuses. */
#include "ina_config.h"

#include <stdarg.h>
#include <stdio.h>

#include "ompi_coll_ina/coll_ina.h"
#include "ompi_coll_ina/coll_ina_numbers.h"

static int register_variable(const char *name, const char *help, mca_base_var_type_t type, mca_base_var_enum_t *values, int level, void *storage) {
    return mca_base_component_var_register(&mca_coll_ina_component.collm_version, name, help, type, values, 0, 0, level, MCA_BASE_VAR_SCOPE_READONLY,
                                           storage);
}

void coll_ina_refuse(const char *format, ...) {
    if ('\0' == coll_ina.settings.refusal[0]) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(coll_ina.settings.refusal, sizeof coll_ina.settings.refusal, format, arguments);
        va_end(arguments);
    }
}

static void register_number(const char *name, const char *help, int level, int *storage, coll_ina_range *range) {
    if (register_variable(name, help, MCA_BASE_VAR_TYPE_INT, &range->super, level, storage) < 0) {
        coll_ina_refuse("coll_ina_%s cannot be registered", name);
    }
}

static void register_string(const char *name, const char *help, int level, char **storage) {
    if (register_variable(name, help, MCA_BASE_VAR_TYPE_STRING, NULL, level, storage) < 0) {
        coll_ina_refuse("coll_ina_%s cannot be registered", name);
    }
}

static void register_switch_parameters(coll_ina_settings *s) {
    s->switch_address = "auto";
    register_string("switch",
                    "Which switch adds the vectors up: auto (environment INA_SWITCH, then \"switch =\" in PREFIX/etc/ina.conf or ~/.config/ina.conf, else "
                    "none), embedded (the job starts its own software switch), none, HOST:PORT or unix:PATH of a switch's manager. Rank 0 counts",
                    OPAL_INFO_LVL_2, &s->switch_address);
    s->select = "auto";
    register_string("select",
                    "When to use the switch: auto (for the sizes for which it is faster than software, by the time that operations take; not for communicators whose "
                    "ranks share one node), always, or never. Rank 0 counts",
                    OPAL_INFO_LVL_3, &s->select);
    s->transport = "auto";
    register_string("transport", "UCT transport that carries the packets: auto (ina), or the name of a RoCEv2 transport that ucx_info -d lists", OPAL_INFO_LVL_5,
                    &s->transport);
    s->softswitch = INA_BINDIR "/ina-softswitch";
    register_string("softswitch", "Path of the ina-softswitch program that the embedded switch runs", OPAL_INFO_LVL_5, &s->softswitch);
}

static void register_numbers(coll_ina_settings *s) {
    static coll_ina_range priority, verbose, failover_ms;
    coll_ina_range_init(&priority, "coll_ina_priority", 0, 100);
    coll_ina_range_init(&verbose, "coll_ina_verbose", 0, 100);
    coll_ina_range_init(&failover_ms, "coll_ina_failover_ms", 10, 600000);
    s->priority = 50;
    register_number("priority", "Priority of the component: above tuned's 30 and han's 35 it serves allreduce. 0 switches it off", OPAL_INFO_LVL_4,
                    &s->priority, &priority);
    s->verbose = 0;
    register_number("verbose", "What the component tells: 0 nothing, 1 one line per communicator with the path that it takes and why, 2 and more details",
                    OPAL_INFO_LVL_3, &s->verbose, &verbose);
    s->failover_ms = 1000; /* several of the transport's longest time-outs: a host whose ranks share cores must not fail over for being slow */
    register_number("failover_ms", "Milliseconds that a result may be missing after every member has contributed until the operation moves to software",
                    OPAL_INFO_LVL_6, &s->failover_ms, &failover_ms);
}

int coll_ina_register(void) {
    coll_ina_settings *s = &coll_ina.settings;
    s->refusal[0] = '\0';
    register_numbers(s);
    register_switch_parameters(s);
    s->one_node = false;
    if (register_variable("one_node", "With coll_ina_select auto: compare switch and software even for communicators whose ranks share one node. Rank 0 counts",
                          MCA_BASE_VAR_TYPE_BOOL, NULL, OPAL_INFO_LVL_6, &s->one_node) < 0) {
        coll_ina_refuse("coll_ina_one_node cannot be registered");
    }
    s->auto_select = true;
    if (register_variable("auto_select",
                          "Where the parameter coll names ina without basic and libnbc, which every communicator needs: add basic, libnbc, tuned, self and inter",
                          MCA_BASE_VAR_TYPE_BOOL, NULL, OPAL_INFO_LVL_6, &s->auto_select) < 0) {
        coll_ina_refuse("coll_ina_auto_select cannot be registered");
    }
    if (s->auto_select) {
        coll_ina_widen_selection();
    }
    return coll_ina_register_pvars();
}
