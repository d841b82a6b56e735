/* Reads the attributes that applications set on backend descriptors. An unknown attribute becomes a
 * reason not to tile. */
#include "intercept/graph/attributes.h"

#include "cudnn/bind/new_attributes.h"
#include "cudnn/plan/descriptors.h"
#include "intercept/graph/json_note.h"
#include "intercept/graph/shadow.h"
#include <string.h>

/* One attribute that an application set. If it cannot be read, the as_... functions set a reason
 * and return a default value. A descriptor with a reason is not tiled. */
struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    const void *elements;
};

static int64_t as_int64(const struct attribute *a, enum cs_reason *reason_p)
{
    int64_t value = 0;
    if (a->type == CUDNN_TYPE_INT64 && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return value;
}

/* Reads up to `capacity` integers. Returns their number, 0 if they cannot be read. */
static int as_int64s(const struct attribute *a, int64_t *values, int capacity,
                     enum cs_reason *reason_p)
{
    if (a->type != CUDNN_TYPE_INT64 || a->count < 1 || a->count > capacity) {
        *reason_p = CS_REASON_ATTRIBUTE;
        return 0;
    }
    memcpy(values, a->elements, (size_t)a->count * sizeof *values);
    return (int)a->count;
}

/* Reads a boolean. An attribute that cannot be read counts as true: a graph whose shapes count as
 * dynamic is not tiled. */
static bool as_bool(const struct attribute *a)
{
    unsigned char value = 1;
    if (a->type == CUDNN_TYPE_BOOLEAN && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    return value != 0;
}

/* Reads a scale, which cuDNN accepts as float or double for every compute type. */
static double as_double(const struct attribute *a, enum cs_reason *reason_p)
{
    double wide = 0;
    float narrow = 0;
    if (a->type == CUDNN_TYPE_DOUBLE && a->count == 1) {
        memcpy(&wide, a->elements, sizeof wide);
        return wide;
    }
    if (a->type == CUDNN_TYPE_FLOAT && a->count == 1)
        memcpy(&narrow, a->elements, sizeof narrow);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return (double)narrow;
}

/* Reads an enum of cuDNN. All of them have the size of an int. */
static int as_enum(const struct attribute *a, cudnnBackendAttributeType_t type,
                   enum cs_reason *reason_p)
{
    int value = -1;
    if (a->type == type && a->count == 1)
        memcpy(&value, a->elements, sizeof value);
    else
        *reason_p = CS_REASON_ATTRIBUTE;
    return value;
}

static struct cs_shadow *as_shadow(const struct attribute *a)
{
    cudnnBackendDescriptor_t descriptor;
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || a->count != 1)
        return NULL;
    memcpy(&descriptor, a->elements, sizeof descriptor);
    return cs_shadow_find(descriptor);
}

bool cs_attribute_dtype(cudnnDataType_t type, enum cs_dtype *dtype_p)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
        *dtype_p = CS_F32;
        return true;
    case CUDNN_DATA_HALF:
        *dtype_p = CS_F16;
        return true;
    case CUDNN_DATA_BFLOAT16:
        *dtype_p = CS_BF16;
        return true;
    default:
        return false;
    }
}

static enum cs_dtype as_dtype(const struct attribute *a, enum cs_reason *reason_p)
{
    enum cs_dtype dtype = CS_F32;
    int type = as_enum(a, CUDNN_TYPE_DATA_TYPE, reason_p);
    if (*reason_p == CS_REASON_NONE && !cs_attribute_dtype((cudnnDataType_t)type, &dtype))
        *reason_p = CS_REASON_DTYPE;
    return dtype;
}

static void set_tensor(struct cs_tensor_attributes *attributes, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
        attributes->dtype = as_dtype(a, &attributes->reason);
        break;
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
        attributes->dims = as_int64s(a, attributes->extent, CS_DIMS, &attributes->reason);
        break;
    case CUDNN_ATTR_TENSOR_STRIDES:
        as_int64s(a, attributes->stride, CS_DIMS, &attributes->reason);
        break;
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
        attributes->uid = as_int64(a, &attributes->reason);
        break;
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
        attributes->alignment = as_int64(a, &attributes->reason);
        break;
    case CUDNN_ATTR_TENSOR_VECTOR_COUNT:
        if (as_int64(a, &attributes->reason) != 1)
            attributes->reason = CS_REASON_TENSOR;
        break;
    case CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION:
        break; /* not used while the vector count is 1 */
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
        attributes->is_virtual = as_bool(a);
        break;
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
        attributes->by_value = as_bool(a);
        break;
    case CUDNN_ATTR_TENSOR_REORDERING_MODE:
        if (as_enum(a, CUDNN_TYPE_TENSOR_REORDERING_MODE, &attributes->reason) !=
            CUDNN_TENSOR_REORDERING_NONE)
            attributes->reason = CS_REASON_TENSOR;
        break;
    case CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC:
        attributes->reason = CS_REASON_TENSOR;
        break;
    default:
        attributes->reason = CS_REASON_ATTRIBUTE;
    }
}

static void set_conv(struct cs_conv_attributes *attributes, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS:
        attributes->spatial = (int)as_int64(a, &attributes->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
        attributes->compute = as_dtype(a, &attributes->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
        attributes->flipped =
            as_enum(a, CUDNN_TYPE_CONVOLUTION_MODE, &attributes->reason) == CUDNN_CONVOLUTION;
        break;
    case CUDNN_ATTR_CONVOLUTION_DILATIONS:
        as_int64s(a, attributes->dilation, CS_SPATIAL, &attributes->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
        as_int64s(a, attributes->stride, CS_SPATIAL, &attributes->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
        as_int64s(a, attributes->pre, CS_SPATIAL, &attributes->reason);
        break;
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS:
        as_int64s(a, attributes->post, CS_SPATIAL, &attributes->reason);
        break;
    default:
        attributes->reason = CS_REASON_ATTRIBUTE;
    }
}

/* Bytes of an element of a setting. 0 for types that settings do not have. */
static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
        return sizeof(int64_t);
    case CUDNN_TYPE_FLOAT:
    case CUDNN_TYPE_NAN_PROPOGATION:
        return sizeof(int32_t);
    default:
        return 0;
    }
}

/* Stores a number of a pointwise operation unchanged, to be set again on the operations of tiles.
 */
static void set_setting(struct cs_pointwise_attributes *attributes, const struct attribute *a)
{
    struct cs_setting setting = {a->name, a->type, 0};
    size_t size = a->count == 1 ? size_of(a->type) : 0;
    int at = 0;
    while (at < attributes->settings && attributes->setting[at].name != setting.name)
        at++;
    if (size == 0 || at == CS_MAX_SETTINGS) {
        attributes->reason = CS_REASON_ATTRIBUTE;
        return;
    }
    memcpy(&setting.bits, a->elements, size);
    attributes->setting[at] = setting;
    if (at == attributes->settings)
        attributes->settings++;
}

static void set_pointwise(struct cs_pointwise_attributes *attributes, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_POINTWISE_MODE:
        attributes->mode = as_enum(a, CUDNN_TYPE_POINTWISE_MODE, &attributes->reason);
        break;
    case CUDNN_ATTR_POINTWISE_MATH_PREC:
        attributes->precision = as_enum(a, CUDNN_TYPE_DATA_TYPE, &attributes->reason);
        break;
    case CUDNN_ATTR_POINTWISE_NAN_PROPAGATION:
    case CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP:
    case CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP:
    case CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE:
    case CUDNN_ATTR_POINTWISE_ELU_ALPHA:
    case CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA:
    case CUDNN_ATTR_POINTWISE_SWISH_BETA:
        set_setting(attributes, a);
        break;
    default:
        attributes->reason = CS_REASON_ATTRIBUTE;
    }
}

/* Copies the attributes of a tensor to its operation, because a program may destroy the tensor's
 * descriptor as soon as the operation is finalized. */
static void set_tensor_of(struct cs_tensor_attributes *attributes, const struct attribute *a)
{
    const struct cs_shadow *tensor = as_shadow(a);
    if (tensor && tensor->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        *attributes = tensor->tensor;
    else
        attributes->reason = CS_REASON_UNSEEN;
}

static void set_conv_of(struct cs_operation_attributes *attributes, const struct attribute *a)
{
    const struct cs_shadow *conv = as_shadow(a);
    if (conv && conv->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
        attributes->conv = conv->conv;
    else
        attributes->conv.reason = CS_REASON_UNSEEN;
}

/* Sets an attribute of a convolution operation. `names` are those of its direction. */
static void set_convolution(struct cs_operation_attributes *attributes,
                            const struct cs_operation_names *names, const struct attribute *a)
{
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (a->name == names->operand[i]) {
            set_tensor_of(&attributes->tensor[i], a);
            return;
        }
    }
    if (a->name == names->conv)
        set_conv_of(attributes, a);
    else if (a->name == names->alpha)
        attributes->alpha = as_double(a, &attributes->reason);
    else if (a->name == names->beta)
        attributes->beta = as_double(a, &attributes->reason);
    else
        attributes->reason = CS_REASON_ATTRIBUTE;
}

/* Copies the attributes of a pointwise descriptor to its operation. The descriptor's settings come
 * before those of the operation, independent of the order in which they were set. */
static void set_pointwise_of(struct cs_operation_attributes *attributes, const struct attribute *a)
{
    const struct cs_shadow *from = as_shadow(a);
    const struct cs_pointwise_attributes own = attributes->pointwise;
    if (!from || from->type != CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
        attributes->pointwise.reason = CS_REASON_UNSEEN;
        return;
    }
    attributes->pointwise = from->pointwise;
    for (int i = 0; i < own.settings; i++) {
        struct attribute again = {(cudnnBackendAttributeName_t)own.setting[i].name,
                                  (cudnnBackendAttributeType_t)own.setting[i].type, 1,
                                  &own.setting[i].bits};
        set_setting(&attributes->pointwise, &again);
    }
}

/* Sets an attribute of a pointwise operation. DYDESC and DXDESC, the operands of derivatives, end
 * in the default: no framework fuses those modes to a convolution. */
static void set_pointwise_operation(struct cs_operation_attributes *attributes,
                                    const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
        set_pointwise_of(attributes, a);
        break;
    case CUDNN_ATTR_OPERATION_POINTWISE_XDESC:
        set_tensor_of(&attributes->tensor[CS_PW_X], a);
        break;
    case CUDNN_ATTR_OPERATION_POINTWISE_BDESC:
        set_tensor_of(&attributes->tensor[CS_PW_B], a);
        break;
    case CUDNN_ATTR_OPERATION_POINTWISE_TDESC:
        set_tensor_of(&attributes->tensor[CS_PW_T], a);
        break;
    case CUDNN_ATTR_OPERATION_POINTWISE_YDESC:
        set_tensor_of(&attributes->tensor[CS_PW_Y], a);
        break;
    case CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1:
    case CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2:
        set_setting(&attributes->pointwise, a);
        break;
    default:
        attributes->reason = CS_REASON_FUSED;
    }
}

/* Copies the operations of a graph. A graph with an operation of another type (a reduction, a
 * matrix product) gets a reason and is not tiled. */
static void set_operations(struct cs_graph_attributes *attributes, const struct attribute *a)
{
    const char *elements = a->elements;
    enum cs_direction direction;
    attributes->convolution = false;
    attributes->operations = 0;
    if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        attributes->reason = CS_REASON_ATTRIBUTE;
        return;
    }
    for (int64_t i = 0; i < a->count; i++) {
        cudnnBackendDescriptor_t descriptor;
        memcpy(&descriptor, elements + (size_t)i * sizeof descriptor, sizeof descriptor);
        const struct cs_shadow *operation = cs_shadow_find(descriptor);
        bool convolution = operation && cs_operation_direction(operation->type, &direction);
        attributes->convolution = attributes->convolution || convolution;
        if (!operation)
            attributes->reason = CS_REASON_UNSEEN;
        else if (attributes->operations == CS_GRAPH_OPS ||
                 (!convolution && operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR))
            attributes->reason = CS_REASON_FUSED;
        else
            attributes->operation[attributes->operations++] = operation->operation;
    }
}

static void set_graph(struct cs_graph_attributes *attributes, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
        set_operations(attributes, a);
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
        if (a->type == CUDNN_TYPE_HANDLE && a->count == 1)
            memcpy(&attributes->handle, a->elements, sizeof attributes->handle);
        else
            attributes->reason = CS_REASON_ATTRIBUTE;
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED:
    case CS_ATTR_GRAPH_OVERRIDE_SHAPE:
        if (as_bool(a))
            attributes->reason = CS_REASON_DYNAMIC;
        break;
    case CUDNN_ATTR_OPERATIONGRAPH_IS_SAME_TOPOLOGY:
    case CS_ATTR_GRAPH_MODE:
        break;
    default:
        attributes->reason = CS_REASON_ATTRIBUTE;
    }
}

/* Copies the elements of an array of a pack. Returns their number, -1 if they have another type or
 * are too many. */
static int as_row(const struct attribute *a, cudnnBackendAttributeType_t type, void *out)
{
    if (a->type != type || a->count < 0 || a->count > CS_PACK_TENSORS)
        return -1;
    if (a->count > 0)
        memcpy(out, a->elements, (size_t)a->count * sizeof(int64_t));
    return (int)a->count;
}

/* Sets an attribute of a variant pack. One that is unknown or cannot be read marks the pack as
 * overridden. */
static void set_pack(struct cs_pack_attributes *attributes, const struct attribute *a)
{
    switch ((int)a->name) {
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
        attributes->pointers = as_row(a, CUDNN_TYPE_VOID_PTR, attributes->pointer);
        break;
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
        attributes->uids = as_row(a, CUDNN_TYPE_INT64, attributes->uid);
        break;
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
        if (a->type == CUDNN_TYPE_VOID_PTR && a->count == 1)
            memcpy(&attributes->workspace, a->elements, sizeof attributes->workspace);
        else
            attributes->overridden = true;
        break;
    default:
        attributes->overridden = true;
    }
}

/* Passes the facts of the graph on to a heuristics, engine, configuration or plan descriptor that
 * is made from it. */
static void set_origin(struct cs_shadow *shadow, const struct attribute *a)
{
    const struct cs_shadow *from = as_shadow(a);
    cs_shadow_origin(shadow, from ? from->graph : NULL);
}

/* Sets the graph of a loaded plan from the note in its JSON, because cuDNN does not report its
 * operations. */
static void set_json(struct cs_shadow *shadow, const struct attribute *a)
{
    int64_t length = a->count, held = 0;
    struct cs_graph *graph =
        a->type == CUDNN_TYPE_CHAR ? cs_json_note_read(a->elements, &length, &held) : NULL;
    cs_shadow_origin(shadow, graph);
    cs_graph_drop(graph);
    shadow->plan.held = held;
    shadow->plan.reason = graph ? CS_REASON_NONE : CS_REASON_FROM_JSON;
}

static void set_plan(struct cs_shadow *shadow, const struct attribute *a)
{
    if (a->name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
        const struct cs_shadow *configuration = as_shadow(a);
        set_origin(shadow, a);
        shadow->listed = configuration && configuration->listed;
    } else if (a->name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE && a->type == CUDNN_TYPE_HANDLE &&
               a->count == 1)
        memcpy(&shadow->plan.handle, a->elements, sizeof shadow->plan.handle);
    else if (a->name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
        set_json(shadow, a);
}

/* Records an attribute of a descriptor other than a variant pack. Not inlined, because such
 * descriptors are made once, and variant packs for every call. */
__attribute__((noinline)) static void set_part(struct cs_shadow *shadow, const struct attribute *a)
{
    enum cs_direction direction;
    if (cs_operation_direction(shadow->type, &direction)) {
        set_convolution(&shadow->operation, &cs_operation_names[direction], a);
        return;
    }
    switch (shadow->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        set_tensor(&shadow->tensor, a);
        break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        set_conv(&shadow->conv, a);
        break;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        set_pointwise(&shadow->pointwise, a);
        break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        set_pointwise_operation(&shadow->operation, a);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        set_graph(&shadow->graph_note, a);
        break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        if (a->name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
            set_origin(shadow, a);
        break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        if (a->name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
            set_origin(shadow, a);
        break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        if (a->name == CUDNN_ATTR_ENGINECFG_ENGINE)
            set_origin(shadow, a);
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        set_plan(shadow, a);
        break;
    default:
        break;
    }
}

/* Tests for a pack first, because packs are made for every call. */
void cs_attribute_set(struct cs_shadow *shadow, cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    struct attribute a = {name, type, count, elements};
    if (shadow->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        set_pack(&shadow->pack, &a);
    else
        set_part(shadow, &a);
}

void cs_attribute_got(struct cs_shadow *shadow, cudnnBackendAttributeName_t name, int64_t count,
                      const void *elements)
{
    bool derived = name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE ||
                   name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH ||
                   name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
    for (int64_t i = 0; derived && i < count; i++) {
        cudnnBackendDescriptor_t descriptor;
        memcpy(&descriptor, (const char *)elements + (size_t)i * sizeof descriptor,
               sizeof descriptor);
        struct cs_shadow *filled = cs_shadow_find(descriptor);
        if (!filled)
            continue;
        cs_shadow_origin(filled, shadow->graph);
        filled->listed = name == CUDNN_ATTR_ENGINEHEUR_RESULTS && count > 1;
    }
}
