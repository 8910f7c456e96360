/* coll_ina_types.c: MPI's predefined types and operations in the aggregator's terms.
 * Used by coll_ina_allreduce.c and coll_ina_iallreduce.c.
 * Looks at type and operation only, so that all ranks come to the same answer. */
#include "ina_config.h"

#include "ompi_coll_ina/coll_ina.h"

enum kind { kNone = 0, kInteger, kUnsigned, kLogical, kByte, kReal };

typedef struct lane {
    unsigned char kind;
    unsigned char lane_type;
} lane;

/* By the id of a predefined type. Types with two names (MPI_INT is MPI_INT32_T) share one id. */
static lane lanes[OMPI_DATATYPE_MPI_MAX_PREDEFINED];
static bool lanes_are_filled;

static void add(ompi_datatype_t *type, enum kind kind) {
    size_t bytes = 0;
    ompi_datatype_type_size(type, &bytes);
    int step = 0;
    while (step < 4 && bytes != (size_t)1 << step) {
        ++step;
    }
    if (4 == step || type->id < 0 || type->id >= OMPI_DATATYPE_MPI_MAX_PREDEFINED || OMPI_DATATYPE_MPI_UNAVAILABLE == type->id) {
        return; /* not there in this Open MPI, or wider than any lane */
    }
    static const unsigned char signed_lanes[] = {INA_LANE_INT8, INA_LANE_INT16, INA_LANE_INT32, INA_LANE_INT64};
    static const unsigned char unsigned_lanes[] = {INA_LANE_UINT8, INA_LANE_UINT16, INA_LANE_UINT32, INA_LANE_UINT64};
    lane *entry = &lanes[type->id];
    switch (kind) {
    case kInteger: entry->lane_type = signed_lanes[step]; break;
    case kUnsigned:
    case kLogical:
    case kByte: entry->lane_type = unsigned_lanes[step]; break;
    case kReal:
        if (bytes < 4) {
            return;
        }
        entry->lane_type = 4 == bytes ? INA_LANE_FLOAT32 : INA_LANE_FLOAT64;
        break;
    case kNone: return;
    }
    entry->kind = (unsigned char)kind;
}

static void fill(void) {
    ompi_datatype_t *const integers[] = {
        MPI_SIGNED_CHAR, MPI_SHORT,   MPI_INT,      MPI_LONG,     MPI_LONG_LONG_INT, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_AINT,
        MPI_OFFSET,      MPI_COUNT,   MPI_INTEGER,  MPI_INTEGER1, MPI_INTEGER2,      MPI_INTEGER4, MPI_INTEGER8,
    };
    ompi_datatype_t *const unsigneds[] = {
        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T,
    };
    ompi_datatype_t *const logicals[] = {
        MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL, MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8,
    };
    ompi_datatype_t *const reals[] = {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8};
    for (size_t i = 0; i < sizeof logicals / sizeof logicals[0]; ++i) {
        add(logicals[i], kLogical);
    }
    add(MPI_BYTE, kByte);
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; ++i) {
        add(integers[i], kInteger);
    }
    for (size_t i = 0; i < sizeof unsigneds / sizeof unsigneds[0]; ++i) {
        add(unsigneds[i], kUnsigned);
    }
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; ++i) {
        add(reals[i], kReal);
    }
    __atomic_store_n(&lanes_are_filled, true, __ATOMIC_RELEASE);
}

typedef struct operation {
    ompi_op_t *op;
    int code;
    int logical;
    unsigned kinds; /* bit per enum kind */
} operation;

enum {
    kNumbers = 1u << kInteger | 1u << kUnsigned | 1u << kReal,
    kBits = 1u << kInteger | 1u << kUnsigned | 1u << kByte,
    kTruths = 1u << kInteger | 1u << kUnsigned | 1u << kLogical,
};

static const operation *find(ompi_op_t *op) {
    static const operation operations[] = {
        {MPI_SUM, INA_OP_SUM, 0, kNumbers}, {MPI_MIN, INA_OP_MIN, 0, kNumbers}, {MPI_MAX, INA_OP_MAX, 0, kNumbers},
        {MPI_BAND, INA_OP_AND, 0, kBits},   {MPI_BOR, INA_OP_OR, 0, kBits},     {MPI_BXOR, INA_OP_XOR, 0, kBits},
        {MPI_LAND, INA_OP_AND, 1, kTruths}, {MPI_LOR, INA_OP_OR, 1, kTruths},   {MPI_LXOR, INA_OP_XOR, 1, kTruths},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; ++i) {
        if (operations[i].op == op) {
            return &operations[i];
        }
    }
    return NULL;
}

bool coll_ina_translate(ompi_datatype_t *type, ompi_op_t *op, ina_reduction *reduction, enum ina_decline *reason) {
    if (!__atomic_load_n(&lanes_are_filled, __ATOMIC_ACQUIRE)) {
        fill(); /* twice at once does no harm: both write the same */
    }
    const operation *known = find(op);
    if (NULL == known) {
        *reason = INA_DECLINE_OP;
        return false;
    }
    if (!ompi_datatype_is_predefined(type) || type->id < 0 || type->id >= OMPI_DATATYPE_MPI_MAX_PREDEFINED || kNone == lanes[type->id].kind) {
        *reason = INA_DECLINE_TYPE;
        return false;
    }
    const lane *entry = &lanes[type->id];
    if (0 == (known->kinds & 1u << entry->kind)) {
        *reason = INA_DECLINE_OP;
        return false;
    }
    reduction->lane_type = entry->lane_type;
    reduction->op = known->code;
    reduction->logical = known->logical;
    return true;
}
