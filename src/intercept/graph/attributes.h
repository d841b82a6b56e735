/* The attributes of backend descriptors on which a convolution depends. They are read in the forms
 * that cuDNN's header documents. An unknown attribute sets a reason not to tile. */
#ifndef CS_INTERCEPT_GRAPH_ATTRIBUTES_H
#define CS_INTERCEPT_GRAPH_ATTRIBUTES_H

#include "cudnn/bind/real.h"
#include "cudnn/plan/fusion.h"

/* Limits of the records. A pack with more tensors is not understood. A pack may name tensors that
 * its graph does not have. CS_PACK_TENSORS is small enough that glibc serves a pack's record from
 * the thread's cache, because one is made at every call. */
enum {
    CS_PACK_TENSORS = 60,
    CS_GRAPH_OPS = CS_MAX_STEPS + 1
};

enum {
    CS_NO_UID = -1 /* cuDNN's value for an id that was not set */
};

struct cs_tensor_attributes {
    int dims;                                 /* the application's count: 3 to 5; 0: absent */
    int64_t extent[CS_DIMS], stride[CS_DIMS]; /* as set, not yet N C D H W */
    int64_t uid;                              /* CS_NO_UID: not set */
    int64_t alignment;
    enum cs_dtype dtype;
    bool is_virtual, by_value;
    enum cs_reason reason; /* why planning is impossible; or CS_REASON_NONE */
};

/* A convolution descriptor. Each array has `spatial` elements, in the application's order. `pre`
 * and `post` are paddings. */
struct cs_conv_attributes {
    int spatial;
    int64_t pre[CS_SPATIAL], post[CS_SPATIAL], stride[CS_SPATIAL], dilation[CS_SPATIAL];
    bool flipped;
    enum cs_dtype compute;
    enum cs_reason reason;
};

struct cs_pointwise_attributes {
    int64_t mode, precision; /* cuDNN's enums */
    int settings;
    struct cs_setting setting[CS_MAX_SETTINGS];
    enum cs_reason reason;
};

/* Tensors are indexed by enum cs_operand in a convolution, and by enum cs_pointwise_operand in a
 * pointwise operation. */
struct cs_operation_attributes {
    cudnnBackendDescriptorType_t type;
    struct cs_tensor_attributes tensor[CS_PW_OPERANDS];
    struct cs_conv_attributes conv;
    double alpha, beta;
    struct cs_pointwise_attributes pointwise;
    enum cs_reason reason;
};

struct cs_graph_attributes {
    int operations;   /* as many as the application gave, CS_GRAPH_OPS at most */
    bool convolution; /* at least one operation is a convolution */
    enum cs_reason reason;
    cudnnHandle_t handle;
    struct cs_operation_attributes operation[CS_GRAPH_OPS];
};

struct cs_pack_attributes {
    int pointers, uids; /* -1: more than can be recorded */
    bool overridden;    /* an attribute other than pointers, names and workspace */
    bool finalized;
    void *workspace;
    void *pointer[CS_PACK_TENSORS];
    int64_t uid[CS_PACK_TENSORS];
};

struct cs_shadow;

/* Records a successful cudnnBackendSetAttribute. */
void cs_attribute_set(struct cs_shadow *shadow, cudnnBackendAttributeName_t name,
                      cudnnBackendAttributeType_t type, int64_t count, const void *elements);

/* Records a successful cudnnBackendGetAttribute that filled descriptors of the application: they
 * inherit the graph of `shadow`. */
void cs_attribute_got(struct cs_shadow *shadow, cudnnBackendAttributeName_t name, int64_t count,
                      const void *elements);

/* Converts cuDNN's type. False for a type that is not supported. */
bool cs_attribute_dtype(cudnnDataType_t type, enum cs_dtype *dtype_p);

#endif
