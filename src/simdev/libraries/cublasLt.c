/* cuBLASLt functions that calls.def cannot describe: the heuristics with one result, and a matrix
 * product. */
#include "standin.h"

#include <string.h>

#include "simdev.h"

enum {
    NOT_INITIALIZED = 1,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13
};

/* The layout of cublasLtMatmulHeuristicResult_t. */
struct algorithm {
    uint64_t algo[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

STANDIN_EXPORT int STANDIN(cublasLtMatmulAlgoGetHeuristic)(void *handle, const void *operation,
                                                           const void *a, const void *b,
                                                           const void *c, const void *d,
                                                           const void *preference, int wanted,
                                                           struct algorithm *found, int *count)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    if (!found || !count || wanted < 1)
        return INVALID_VALUE;
    memset(found, 0, sizeof *found);
    found->waves = 1;
    *count = 1;
    return 0;
}

STANDIN_EXPORT int STANDIN(cublasLtMatmul)(void *handle, const void *operation, const void *alpha,
                                           const void *a, const void *a_layout, const void *b,
                                           const void *b_layout, const void *beta, const void *c,
                                           const void *c_layout, void *d, const void *d_layout,
                                           const void *algo, void *workspace,
                                           size_t workspace_bytes, cudaStream_t stream)
{
    (void)handle, (void)operation, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
    (void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algo, (void)workspace;
    (void)workspace_bytes;
    return standin_work("cublasLtMatmul", stream) ? 0 : EXECUTION_FAILED;
}
