/* Shared parts of the programs of this folder. Each issues the cuDNN calls of one framework, in
 * that framework's order. Here are their convolutions, the memory, and the check of the results.
 *
 * All data are whole numbers, so small that every sum is exact in every type, so all engines give
 * the same bits. Functions that return false have printed the reason on stderr. A program uses them
 * from one thread. */
#ifndef SESSION_H
#define SESSION_H

#include "../../apps/client.h"
#include <stdio.h>

enum direction {
    FORWARD,
    BACKWARD_DATA,
    BACKWARD_FILTER,
    DIRECTIONS
};

enum role {
    ROLE_X,
    ROLE_W,
    ROLE_Y,
    ROLES
};

/* The operand that a direction writes. */
enum role result_of(enum direction direction);

struct session {
    const char *mode; /* the chosen one of the program's own modes */
    size_t limit; /* bytes, for the sizes that the program limits; SIZE_MAX if no limit is given */
    cudnnHandle_t handle;
    cudaStream_t stream; /* the handle's */
    FILE *dump;          /* NULL: none */
    size_t largest;      /* bytes of the largest workspace */
    uint64_t checksum;   /* over all results */
};

struct operands;

/* A framework: runs all layers in its way. */
typedef bool session_run(struct session *session, struct operands *operands, int layers);

/* The whole program: reads [--mode MODE] [--limit BYTES] [--dump FILE], where `modes` ends with
 * NULL and begins with the default; runs; prints the largest workspace and the checksum. Returns
 * the exit status. */
int session_main(int argc, char **argv, const char *const *modes, session_run *run);
bool session_mode_is(const struct session *session, const char *mode);

/* Device memory, to be freed with cudaFree; NULL for 0 bytes. The first function records its size
 * as that of a workspace. */
bool session_workspace(struct session *session, size_t bytes, void **pointer_p);
bool session_memory(size_t bytes, void **pointer_p);

/* A 2-D convolution; a 1-D one has height 1. */
struct layer {
    cudnnDataType_t type;
    int64_t batch, in, out;     /* images, channels of x, channels of y */
    int64_t size[2], window[2]; /* of x; height, width */
    int64_t pre[2], post[2], stride[2];
};

/* A layer's operands and a bias; the host's and the device's are equal before every call. */
struct operands {
    struct layer layer;
    struct tensor tensor[ROLES], bias_tensor;
    void *host[ROLES], *device[ROLES];
    void *host_bias, *bias;
};

/* The tensors alone, without memory. */
void operands_shape(const struct layer *layer, struct operands *operands);

/* Operands of the same seed are equal. operands_close is due also after false. */
bool operands_open(const struct layer *layer, uint64_t seed, struct operands *operands);
void operands_close(struct operands *operands);
/* Copies the host's tensor to the device again, after a search has overwritten the direction's
 * result. */
bool operands_restore(struct session *session, struct operands *operands, enum direction direction);

/* The expected result of a call: alpha * convolution + beta * earlier result; if `biased`, forward
 * only, + bias; if `relu`, never below 0. */
struct formula {
    enum direction direction;
    float alpha, beta;
    bool biased, relu;
};

/* Waits for the stream, compares elements all over the result with sums in double, adds the whole
 * result to dump and checksum, and restores the operands. */
bool operands_verify(struct session *session, struct operands *operands,
                     const struct formula *formula);

/* Milliseconds on the device between begin and end of the work queued in between. */
struct stopwatch {
    cudaEvent_t begin, end;
};

bool stopwatch_start(struct session *session, struct stopwatch *watch);
bool stopwatch_stop(struct session *session, struct stopwatch *watch, float *time_p);

#endif
