/* coll_ina_finalize.c: ends all groups while messages still work: MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else.
 * Used by coll_ina_module.c.
 * Does not free communicators: those that the user never freed find the engine gone and go on with the previous component. */
#include "ina_config.h"

#include "ompi_coll_ina/coll_ina.h"

/* MPI_COMM_SELF's duplicates do not end anything. */
static int on_duplicate(MPI_Comm comm, int keyval, void *extra, void *value, void *copied_value, int *is_copied, MPI_Comm duplicate) {
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copied_value;
    (void)duplicate;
    *is_copied = 0;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra) {
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    coll_ina_finish();
    return MPI_SUCCESS;
}

/* MPI_COMM_SELF is selected after MPI_COMM_WORLD, and its attributes can be set before: this runs with the first communicator, so that it is
 * deleted after every attribute of the user's (the last one set goes first). */
void coll_ina_hook_finalize(void) {
    if (MPI_KEYVAL_INVALID != coll_ina.self_keyval) {
        return;
    }
    ompi_attribute_fn_ptr_union_t on_copy = {.attr_communicator_copy_fn = on_duplicate};
    ompi_attribute_fn_ptr_union_t on_deletion = {.attr_communicator_delete_fn = on_delete};
    if (OMPI_SUCCESS != ompi_attr_create_keyval(COMM_ATTR, on_copy, on_deletion, &coll_ina.self_keyval, NULL, 0, NULL)) {
        coll_ina.self_keyval = MPI_KEYVAL_INVALID;
        return;
    }
    ompi_communicator_t *self = &ompi_mpi_comm_self.comm;
    ompi_attr_set_c(COMM_ATTR, self, &self->c_keyhash, coll_ina.self_keyval, &coll_ina, false);
}
