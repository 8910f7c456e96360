/* coll_ina_component.c: the component as Open MPI's coll framework looks it up.
 * Used by the framework through the one exported symbol.
 * Does not start anything: that waits for the first communicator, since ompi_info opens components too. */
#include "ina_config.h"

#include "ompi_coll_ina/coll_ina.h"

static int component_open(void) {
    coll_ina.output = opal_output_open(NULL);
    opal_output_set_verbosity(coll_ina.output, coll_ina.settings.verbose);
    coll_ina.self_keyval = MPI_KEYVAL_INVALID;
    return coll_ina_publish();
}

static int component_close(void) {
    coll_ina_stop();
    coll_ina_forget_peers();
    if (coll_ina.output >= 0) {
        opal_output_close(coll_ina.output);
        coll_ina.output = -1;
    }
    return OMPI_SUCCESS;
}

static int component_init_query(bool enable_progress_threads, bool enable_mpi_threads) {
    (void)enable_progress_threads;
    (void)enable_mpi_threads;
    return OMPI_SUCCESS;
}

coll_ina_process coll_ina = {.output = -1};

mca_coll_base_component_t mca_coll_ina_component = {
    .collm_version =
        {
            COLL_INA_BASE_VERSION,
            .mca_component_name = "ina",
            MCA_BASE_MAKE_VERSION(component, INA_VERSION_MAJOR, INA_VERSION_MINOR, INA_VERSION_MICRO),
            .mca_open_component = component_open,
            .mca_close_component = component_close,
            .mca_register_component_params = coll_ina_register,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = component_init_query,
    .collm_comm_query = coll_ina_comm_query,
};
