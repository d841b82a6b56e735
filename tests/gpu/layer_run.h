/* One convolution on the GPU, as an ordinary client runs it: a plan, its workspace, some calls to
 * warm up, then calls that are timed. */
#ifndef LAYER_RUN_H
#define LAYER_RUN_H

#include "layer_data.h"

struct layer_settings {
    enum conv_api api;
    bool benchmark; /* times all answers of cuDNN and takes the fastest, instead of the first */
    int64_t warmup, iterations;
    int64_t samples; /* elements compared with sums in double; 0: none */
    FILE *dump;      /* takes the output's bytes; may be NULL */
};

enum layer_status {
    LAYER_OK,
    LAYER_REFUSED, /* cuDNN does not support it */
    LAYER_OUT_OF_MEMORY,
    LAYER_ERROR /* printed on stderr */
};

struct layer_result {
    enum layer_status status;
    bool planned; /* engine, choice and workspace are known */
    int64_t engine, choice, workspace;
    int64_t allocated; /* bytes, this program's own peak: operands and workspace */
    int64_t taken;     /* bytes that cudaMemGetInfo saw missing beyond those, from before the plan
                          until after the last call */
    int64_t kept;      /* of those, missing still when all was freed: kernels, memory held back */
    double median_us, p10_us, p90_us; /* of single calls, by events on the stream */
    double wall_us;                   /* of a call, by the host's clock, on average */
    uint64_t checksum;                /* of the whole output, output_read */
    struct layer_error error;
};

const char *layer_status_name(enum layer_status status);

/* Runs the problem, whose tensors are packed, on the handle's stream `stream`. The data depend on
 * the types alone. */
void layer_run(cudnnHandle_t handle, cudaStream_t stream, const struct conv_problem *problem,
               const struct layer_settings *settings, struct layer_result *result);

#endif
