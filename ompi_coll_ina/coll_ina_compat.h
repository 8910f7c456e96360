/* coll_ina_compat.h: the differences between the versions of Open MPI that the component is built for (4.1, 5.0).
 * Used by the other coll_ina_*.c files in place of Open MPI's own headers.
 * Does not hide anything else: the component calls Open MPI directly. */
#pragma once

#include <ompi_config.h>

#include <mpi.h>

#include <ompi/constants.h>
#include <ompi/attribute/attribute.h>
#include <ompi/communicator/communicator.h>
#include <ompi/datatype/ompi_datatype.h>
#include <ompi/datatype/ompi_datatype_internal.h>
#include <ompi/mca/coll/base/base.h>
#include <ompi/mca/coll/base/coll_base_functions.h>
#include <ompi/mca/coll/base/coll_tags.h>
#include <ompi/mca/coll/coll.h>
#include <ompi/mca/pml/pml.h>
#include <ompi/proc/proc.h>
#include <ompi/request/request.h>
#include <ompi/runtime/mpiruntime.h>
#include <ompi/runtime/params.h>
#include <opal/class/opal_list.h>
#include <opal/mca/base/base.h>
#include <opal/mca/base/mca_base_component_repository.h>
#include <opal/mca/base/mca_base_pvar.h>
#include <opal/mca/base/mca_base_var.h>
#include <opal/runtime/opal_progress.h>
#include <opal/util/output.h>
#include <opal/util/proc.h>
#include <opal/util/show_help.h>

/* ompi/op/op.h needs a header that Debian does not ship; the public functions say all that is needed. */
typedef struct ompi_op_t ompi_op_t;

#if OMPI_MAJOR_VERSION >= 5
#include <opal/mca/pmix/pmix-internal.h>
#include <opal/mca/threads/mutex.h>
#define COLL_INA_MODEX_SCOPE PMIX_GLOBAL
#define COLL_INA_CAN_PUBLISH() (PMIx_Initialized())
#define COLL_INA_BASE_VERSION MCA_COLL_BASE_VERSION_2_4_0
typedef uint8_t *coll_ina_modex_data;
#else
#include <opal/mca/pmix/pmix.h>
#include <opal/threads/mutex.h>
#define COLL_INA_MODEX_SCOPE OPAL_PMIX_GLOBAL
/* ompi_info opens components too, without any run-time environment. */
#define COLL_INA_CAN_PUBLISH() (NULL != opal_pmix.put)
#define COLL_INA_BASE_VERSION MCA_COLL_BASE_VERSION_2_0_0
typedef void *coll_ina_modex_data;
#endif
