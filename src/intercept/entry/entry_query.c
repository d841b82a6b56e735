/* The exported queries of the legacy API: workspace sizes, Get... and Find... algorithms. */
#include "intercept/entry/entry.h"
#include "intercept/legacy/dispatch.h"

/* cuDNN's structs for the results of the three directions differ only in the type of the
 * algorithm's enum, so one struct serves all of them. */

#define RESULTS(result) ((cs_legacy_result *)(void *)(result))

struct size {
    struct cs_entry_call call;
    struct cs_legacy_call what;
    size_t *bytes;
};

static int size_replay(struct cs_entry_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    return (int)cs_legacy_call_size(&a->what, a->bytes);
}

/* Replaces the size that cuDNN returns by the reported one. */
static int size_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct size *a = CS_ARGS(struct size, call);
    if (!a->bytes)
        return size_replay(call); /* cuDNN's status for this error */
    int status = size_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        *a->bytes = cs_legacy_report(cs, &a->what, *a->bytes);
    return status;
}

struct query {
    struct cs_entry_call call;
    struct cs_legacy_call what;
    struct cs_legacy_results results;
};

static int get_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_get(&a->what, &a->results);
}

static int get_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    int status = get_replay(call);
    if (status == CUDNN_STATUS_SUCCESS)
        cs_legacy_report_results(cs, &a->what, &a->results);
    return status;
}

static int find_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_find(&a->what, &a->results);
}

static int find_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return cs_find_algorithm(cs, &a->what, &a->results);
}

static int find_ex_replay(struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return (int)cs_legacy_call_find_ex(&a->what, &a->results);
}

static int find_ex_handle(struct cs *cs, struct cs_entry_call *call)
{
    struct query *a = CS_ARGS(struct query, call);
    return cs_find_algorithm_ex(cs, &a->what, &a->results);
}

/* Defines a query whose results are written to an array of the direction's type. */
#define QUERY(function, replay, handle_, way, kind, t1, o1, t2, o2, t3, o3)                        \
    CS_EXPORT cudnnStatus_t function(                                                              \
        cudnnHandle_t handle, const cudnn##t1##Descriptor_t o1, const cudnn##t2##Descriptor_t o2,  \
        const cudnnConvolutionDescriptor_t conv, const cudnn##t3##Descriptor_t o3,                 \
        const int requested, int *returned, cudnnConvolution##kind##AlgoPerf_t *result)            \
    {                                                                                              \
        struct query a = {                                                                         \
            {replay, handle_}, {CS_CALL_OF(way)}, {requested, returned, RESULTS(result)}};         \
        return (cudnnStatus_t)cs_intercept(&a.call);                                               \
    }

/* The four queries of a direction. */
#define CS_DIRECTION(name, way, kind, t1, o1, t2, o2, t3, o3)                                      \
    CS_EXPORT cudnnStatus_t cudnnGetConvolution##name##WorkspaceSize(                              \
        cudnnHandle_t handle, const cudnn##t1##Descriptor_t o1, const cudnn##t2##Descriptor_t o2,  \
        const cudnnConvolutionDescriptor_t conv, const cudnn##t3##Descriptor_t o3,                 \
        cudnnConvolution##kind##Algo_t algorithm, size_t *bytes)                                   \
    {                                                                                              \
        struct size a = {                                                                          \
            {size_replay, size_handle}, {CS_CALL_OF(way), .algorithm = (int)algorithm}, bytes};    \
        return (cudnnStatus_t)cs_intercept(&a.call);                                               \
    }                                                                                              \
                                                                                                   \
    QUERY(cudnnGetConvolution##name##Algorithm_v7, get_replay, get_handle, way, kind, t1, o1, t2,  \
          o2, t3, o3)                                                                              \
    QUERY(cudnnFindConvolution##name##Algorithm, find_replay, find_handle, way, kind, t1, o1, t2,  \
          o2, t3, o3)                                                                              \
                                                                                                   \
    CS_EXPORT cudnnStatus_t cudnnFindConvolution##name##AlgorithmEx(                               \
        cudnnHandle_t handle, const cudnn##t1##Descriptor_t o1, const void *o1##_data,             \
        const cudnn##t2##Descriptor_t o2, const void *o2##_data,                                   \
        const cudnnConvolutionDescriptor_t conv, const cudnn##t3##Descriptor_t o3,                 \
        void *o3##_data, const int requested, int *returned,                                       \
        cudnnConvolution##kind##AlgoPerf_t *result, void *workspace, size_t provided)              \
    {                                                                                              \
        struct query a = {                                                                         \
            {find_ex_replay, find_ex_handle},                                                      \
            {CS_CALL_OF(way),                                                                      \
             .execution = {.data = CS_CALL_DATA, .workspace = workspace, .provided = provided}},   \
            {requested, returned, RESULTS(result)}};                                               \
        return (cudnnStatus_t)cs_intercept(&a.call);                                               \
    }

#include "cudnn/plan/directions.def"
#undef CS_DIRECTION
