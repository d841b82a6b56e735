/* Interfaces between the files of the simulated libcudnn.
 *
 * A planner does all planning (descriptors, heuristics, workspace sizes): the real cuDNN or a rule
 * of thumb. A finalized plan's JSON is parsed into a program, and programs are executed. */
#ifndef SIMDEV_CUDNN_INTERNAL_H
#define SIMDEV_CUDNN_INTERNAL_H

#include <cudnn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simdev.h"

#define SIMDEV_EXPORT __attribute__((visibility("default")))

enum {
    SIMDEV_MAX_RANK = 8,
    SIMDEV_MAX_SPATIAL = 3
};

struct cudnnContext {
    uint64_t context; /* current context when it was created */
    int device;       /* its device */
    _Atomic(cudaStream_t) stream;
};

/* ---- views: cudnn_view.c ---- */

/* Elements in memory. Strides count elements. They may be 0, and negative for views created here.
 */
struct simdev_view {
    char *data;
    cudnnDataType_t type;
    int rank;
    int64_t dim[SIMDEV_MAX_RANK];
    int64_t stride[SIMDEV_MAX_RANK];
};

/* Bytes of one element. 0 for a type that is not supported in computations. */
size_t simdev_type_size(cudnnDataType_t type);
int64_t simdev_view_elements(const struct simdev_view *view);
/* Bytes from the first element to the end of the last one. Strides must not be negative. */
size_t simdev_view_span(const struct simdev_view *view);
/* A packed f32 view of the same extents, whose dimensions have the order of the model's strides.
 * data is NULL. */
void simdev_view_pack(const struct simdev_view *model, struct simdev_view *packed);
/* Reverses the last `count` dimensions. */
void simdev_view_flip(struct simdev_view *view, int count);
/* For the race check: records that the elements of the view are read or written now. */
void simdev_view_touch(const struct simdev_view *view, bool write);
/* True if some byte belongs to both. Exact, also for views that interleave. */
bool simdev_views_overlap(const struct simdev_view *a, const struct simdev_view *b);
/* True if both contain the same elements in the same order. */
bool simdev_views_equal(const struct simdev_view *a, const struct simdev_view *b);

/* ---- scratch: cudnn_scratch.c ---- */

/* Host memory aligned to 64 bytes, kept for reuse when it is returned. NULL if there is none.
 * Thread-safe. */
void *simdev_scratch_take(size_t bytes);
void simdev_scratch_give(void *block);
/* Frees the blocks that are kept for the next execution. */
void simdev_scratch_release_kept(void);

/* ---- pointwise work: cudnn_pointwise.c ---- */

/* y = scale * op(alpha1 * x, alpha2 * b) + beta * y, computed in float and rounded once to y's
 * type. */
struct simdev_pointwise {
    cudnnPointwiseMode_t mode;
    float alpha1, alpha2, scale, beta;
    float lower_clip, upper_clip, lower_slope;
    float swish_beta, elu_alpha, softplus_beta;
};

/* The mode with neutral parameters. */
struct simdev_pointwise simdev_pointwise_of(cudnnPointwiseMode_t mode);
bool simdev_pointwise_is_binary(cudnnPointwiseMode_t mode);
/* x and b (NULL for unary modes) are broadcast where their extent is 1. */
void simdev_pointwise_run(const struct simdev_pointwise *op, const struct simdev_view *x,
                          const struct simdev_view *b, const struct simdev_view *y);

/* ---- convolutions: cudnn_convolve.c (oneDNN), cudnn_convolve_plain.c ---- */

enum simdev_conv_kind {
    SIMDEV_CONV_FORWARD,
    SIMDEV_CONV_BACKWARD_DATA,
    SIMDEV_CONV_BACKWARD_FILTER
};

/* The three tensors of a convolution; the kind says which one is written. */
enum simdev_role {
    SIMDEV_X,
    SIMDEV_W,
    SIMDEV_Y,
    SIMDEV_ROLES
};

struct simdev_geometry {
    enum simdev_conv_kind kind;
    int spatial;
    int64_t groups;
    int64_t stride[SIMDEV_MAX_SPATIAL];
    int64_t dilation[SIMDEV_MAX_SPATIAL]; /* 1 is dense */
    int64_t pad_lower[SIMDEV_MAX_SPATIAL];
    int64_t pad_upper[SIMDEV_MAX_SPATIAL];
};

/* Prepared cross-correlation of f32 views whose extents and strides are fixed. Each run passes the
 * data. */
struct simdev_kernel;

/* Returns the operand that a convolution of this kind writes. */
enum simdev_role simdev_conv_result(enum simdev_conv_kind kind);
/* NULL only if memory is short. */
struct simdev_kernel *simdev_kernel_create(const struct simdev_geometry *geometry,
                                           const struct simdev_view view[SIMDEV_ROLES]);
void simdev_kernel_destroy(struct simdev_kernel *kernel);
/* Thread-safe. False if memory is short. */
bool simdev_kernel_run(const struct simdev_kernel *kernel, char *const data[SIMDEV_ROLES]);
/* The same in plain loops, with sums in double. */
bool simdev_convolve_plain(const struct simdev_geometry *geometry,
                           const struct simdev_view view[SIMDEV_ROLES]);

/* ---- programs: cudnn_program.c, cudnn_run.c ---- */

struct simdev_tensor {
    int64_t uid;
    struct simdev_view view; /* data is NULL */
    int64_t alignment;
    bool is_virtual, is_by_value, is_written;
};

struct simdev_node {
    bool is_pointwise;
    int operand[SIMDEV_ROLES]; /* indexes of tensors: X, W or B (-1 if absent), Y */
    struct simdev_geometry geometry;
    bool is_flipped;
    float alpha, beta;
    struct simdev_pointwise pointwise;
    struct simdev_kernel *kernel; /* made by the first run */
};

/* The computation of a finalized plan. Reference counted, because work on a stream outlives the
 * plan's descriptor. */
struct simdev_program {
    atomic_int references;
    pthread_mutex_t lock; /* guards the making of kernels */
    size_t workspace;
    char label[32];    /* the same in every process for the same plan */
    char problem[160]; /* of its first convolution, see simdev_note_plan; empty if it has none */
    char refusal[160]; /* the reason why it cannot be computed; empty if it can */
    int tensors, nodes;
    struct simdev_tensor *tensor;
    struct simdev_node *node;
};

/* Parses a plan's JSON. NULL if memory is short. Unsupported content sets the program's refusal. */
struct simdev_program *simdev_program_parse(const char *json, size_t workspace);
struct simdev_program *simdev_program_retain(struct simdev_program *program);
void simdev_program_release(struct simdev_program *program);

struct simdev_binding {
    int count;
    const int64_t *uid;
    void *const *pointer;
    void *workspace;
};

/* Makes the checks whose failure is a fault on a GPU, and queues the program. On a capturing
 * stream, only the run makes these checks, because memory need not exist before. By-value scalars
 * are read now. */
cudnnStatus_t simdev_program_launch(struct simdev_program *program, cudaStream_t stream,
                                    const struct simdev_binding *binding);
/* The same checks. Adds the program to the graph as one node. */
cudnnStatus_t simdev_program_populate(struct simdev_program *program, cudaGraph_t graph,
                                      const struct simdev_binding *binding);
/* The same checks. Sets the new binding of the only node of the graph, which was created from this
 * program. */
cudnnStatus_t simdev_program_update(struct simdev_program *program, cudaGraph_t graph,
                                    const struct simdev_binding *binding);

/* ---- planners: cudnn_planner.c, cudnn_planner_real.c, cudnn_planner_rule.c ---- */

/* A backend API of the planner's descriptors. device[i] is a finalized DEVICEPROP descriptor with
 * the profile of device i. All are NULL if the planner does not need them. */
struct simdev_planner {
    cudnnStatus_t (*create)(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out);
    cudnnStatus_t (*destroy)(cudnnBackendDescriptor_t descriptor);
    cudnnStatus_t (*set)(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *values);
    cudnnStatus_t (*get)(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t requested, int64_t *count,
                         void *values);
    cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t descriptor);
    cudnnBackendDescriptor_t device[SIMDEV_MAX_DEVICES];
    size_t version, cudart_version;
};

/* The planner of this process. The first call selects and loads it. Never NULL. */
const struct simdev_planner *simdev_planner(void);
/* True if a real cuDNN was required but not found. Then all planning fails. */
bool simdev_planner_refused(void);
/* False if no real cuDNN can be loaded. */
bool simdev_planner_real(struct simdev_planner *planner);
/* Destroys the planner's device descriptors. */
void simdev_planner_drop_devices(struct simdev_planner *planner);
void simdev_planner_rule(struct simdev_planner *planner);
/* Turns a real planner into one whose plans are described by the attributes that were set, not by
 * cuDNN. False if memory is short. */
bool simdev_planner_described(struct simdev_planner *planner);

/* The text of a finalized plan of the planner, which the caller frees. */
cudnnStatus_t simdev_plan_text(cudnnBackendDescriptor_t plan, char **out);
/* The program of a finalized plan of the planner. */
cudnnStatus_t simdev_plan_program(cudnnBackendDescriptor_t plan, struct simdev_program **out);

/* ---- plans that are not compiled: cudnn_deferred.c ---- */

/* Sets `*filled` to the planner's descriptor that `of` refers to. The caller destroys it. */
cudnnStatus_t simdev_planner_child(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                   cudnnBackendDescriptorType_t type,
                                   cudnnBackendDescriptor_t *filled);
/* Whether the engine of a configuration has this note. */
cudnnStatus_t simdev_config_has_note(cudnnBackendDescriptor_t config,
                                     cudnnBackendBehaviorNote_t wanted, bool *has);
/* The program of a plan of this configuration for a device of the planner, without building the
 * plan. NULL if its engine is not compiled at run time, or if the plan has to be built. */
struct simdev_program *simdev_deferred_program(cudnnBackendDescriptor_t config,
                                               cudnnBackendDescriptor_t device);

/* ---- legacy descriptors: cudnn_legacy_desc.c ---- */

struct cudnnTensorStruct {
    cudnnDataType_t type;
    int rank; /* 0 until it is set */
    int dim[SIMDEV_MAX_RANK], stride[SIMDEV_MAX_RANK];
};

struct cudnnFilterStruct {
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int rank;
    int dim[SIMDEV_MAX_RANK];
};

struct cudnnConvolutionStruct {
    int spatial;
    int pad[SIMDEV_MAX_SPATIAL], stride[SIMDEV_MAX_SPATIAL], dilation[SIMDEV_MAX_SPATIAL];
    int groups;
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
    cudnnReorderType_t reorder;
};

struct cudnnActivationStruct {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coefficient, swish_beta;
};

struct cudnnOpTensorStruct {
    cudnnOpTensorOp_t op;
};

/* Views of a legacy operand. data may be NULL. */
struct simdev_view simdev_tensor_view(cudnnTensorDescriptor_t tensor, const void *data);
struct simdev_view simdev_filter_view(cudnnFilterDescriptor_t filter, const void *data);
/* The pointwise operation of an activation. False if there is none. */
bool simdev_activation_op(cudnnActivationDescriptor_t activation, struct simdev_pointwise *op);

/* ---- plans of legacy convolutions: cudnn_legacy_plan.c ---- */

/* Algorithms with the same meaning for every kind. In addition, one algorithm of each kind, GEMM or
 * WINOGRAD_NONFUSED, selects the other engine of the heuristics' list with the largest workspace.
 */
enum {
    SIMDEV_ALGO_SLOW = -1,        /* engine 0, which needs no workspace; internal */
    SIMDEV_ALGO_NO_WORKSPACE = 0, /* forward: engine 0; backward: a non-deterministic engine */
    SIMDEV_ALGO_HEURISTIC = 1     /* the first deterministic engine of the heuristics' list */
};

/* A complete legacy convolution. Views carry no data. Absent operands have rank 0. */
struct simdev_legacy_problem {
    enum simdev_conv_kind kind;
    struct simdev_view view[SIMDEV_ROLES];
    struct simdev_view side, bias; /* y = act(alpha * conv + side_scale * side + bias) */
    struct cudnnConvolutionStruct conv;
    struct cudnnActivationStruct activation;
    float alpha, beta, side_scale;
    bool is_fused;
    int algo;
    int device;
};

/* The unique ids of the operands in a legacy plan's program. */
enum simdev_legacy_uid {
    SIMDEV_UID_X = 1, /* further roles follow, one each */
    SIMDEV_UID_SIDE = 4,
    SIMDEV_UID_BIAS
};

struct simdev_legacy_plan {
    cudnnStatus_t status; /* of the planning; the other fields are valid on success */
    struct simdev_program *program;
    bool uses_tensor_cores, is_deterministic;
};

/* The plan of the problem, created once and kept until the library is unloaded. Thread-safe. NULL
 * if memory is short. */
const struct simdev_legacy_plan *simdev_legacy_plan(const struct simdev_legacy_problem *problem);
/* Releases the cached plans. None of them may be used after that. */
void simdev_legacy_plans_release(void);

/* ---- functions other than convolutions ---- */

struct cudnnPoolingStruct {
    int spatial;
    int window[SIMDEV_MAX_SPATIAL], pad[SIMDEV_MAX_SPATIAL], stride[SIMDEV_MAX_SPATIAL];
};

struct cudnnLRNStruct {
    char unused; /* no call queries its content */
};

struct cudnnDropoutStruct {
    char unused; /* no call queries its content */
};

struct cudnnRNNStruct {
    cudnnRNNMode_t cell;
    cudnnRNNBiasMode_t bias;
    cudnnDataType_t type;
    int directions;
    bool skips_input;
    int input, hidden, projected, layers;
};

struct cudnnRNNDataStruct {
    cudnnDataType_t type;
    int length, batch, vector;
};

struct cudnnCTCLossStruct {
    int longest_label;
};

struct cudnnSpatialTransformerStruct {
    char unused; /* no call queries its content */
};

struct cudnnTensorTransformStruct {
    char unused; /* no call queries its content */
};

/* In account mode, queues a call that is counted under its name. In compute mode, refuses it as not
 * simulated. */
cudnnStatus_t simdev_account(cudnnHandle_t handle, const char *function);

/* Records the text for cudnnGetLastErrorString of this thread and returns the status. */
cudnnStatus_t simdev_fail(cudnnStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
