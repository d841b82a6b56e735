/* cuBLASLt functions that standin_calls.def cannot describe: matrix layouts, whose attributes XLA
 * reads back, the heuristics with one result, and a matrix product. */
#include "standin.h"

#include <stdlib.h>
#include <string.h>

#include "simdev.h"

enum {
    ALLOC_FAILED = 3,
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

/* The size of cublasLtMatrixLayoutOpaque_t. The indices are those of
 * cublasLtMatrixLayoutAttribute_t: type, order, rows, columns, leading dimension, batches, stride
 * of a batch, offset of a plane. */
struct layout {
    uint64_t attribute[8];
};

STANDIN_EXPORT int STANDIN(cublasLtMatrixLayoutInit_internal)(struct layout *layout, size_t bytes,
                                                              int type, uint64_t rows,
                                                              uint64_t columns, int64_t leading)
{
    if (!layout || bytes < sizeof *layout)
        return INVALID_VALUE;
    *layout = (struct layout){{(uint64_t)type, 0, rows, columns, (uint64_t)leading, 1, 0, 0}};
    return 0;
}

STANDIN_EXPORT int STANDIN(cublasLtMatrixLayoutCreate)(struct layout **layout, int type,
                                                       uint64_t rows, uint64_t columns,
                                                       int64_t leading)
{
    if (!layout)
        return INVALID_VALUE;
    *layout = malloc(sizeof **layout);
    return *layout ? STANDIN(cublasLtMatrixLayoutInit_internal)(*layout, sizeof **layout, type,
                                                                rows, columns, leading)
                   : ALLOC_FAILED;
}

/* The width of an attribute, 0: not one of those above. */
static size_t width_of(unsigned attribute)
{
    static const size_t width[] = {4, 4, 8, 8, 8, 4, 8, 8};
    return attribute < sizeof width / sizeof *width ? width[attribute] : 0;
}

/* A newer attribute has no effect here. */
STANDIN_EXPORT int STANDIN(cublasLtMatrixLayoutSetAttribute)(struct layout *layout,
                                                             unsigned attribute, const void *value,
                                                             size_t bytes)
{
    const size_t width = width_of(attribute);
    if (!layout || !value || (width > 0 && bytes != width))
        return INVALID_VALUE;
    if (width > 0)
        memcpy(&layout->attribute[attribute], value, width);
    return 0;
}

STANDIN_EXPORT int STANDIN(cublasLtMatrixLayoutGetAttribute)(const struct layout *layout,
                                                             unsigned attribute, void *value,
                                                             size_t bytes, size_t *written)
{
    const size_t width = width_of(attribute);
    if (!layout || !value || width == 0 || bytes < width)
        return INVALID_VALUE;
    memcpy(value, &layout->attribute[attribute], width);
    if (written)
        *written = width;
    return 0;
}

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
