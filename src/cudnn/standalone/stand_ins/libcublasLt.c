/* A libcublasLt for the command, because the real one does not start without a GPU
 * (standalone.h). Some engines of cuDNN call cuBLASLt. cuDNN offers them only if cuBLASLt has
 * an algorithm for their product. Here every product has one, without workspace.
 *
 * Types and names are those of cublasLt.h. Most functions ignore their arguments. */
#include <stddef.h>
#include <stdint.h>

enum {
    SUCCESS = 0 /* CUBLAS_STATUS_SUCCESS */
};

/* cublasLtMatmulHeuristicResult_t */
struct algorithm {
    uint64_t algo[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

#define ACCEPTED(name)                                                                             \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return SUCCESS;                                                                            \
    }
#define CREATED(name)                                                                              \
    int name(void **object);                                                                       \
    int name(void **object)                                                                        \
    {                                                                                              \
        static char any;                                                                           \
        *object = &any;                                                                            \
        return SUCCESS;                                                                            \
    }

CREATED(cublasLtCreate)
CREATED(cublasLtGroupedMatrixLayoutCreate)
CREATED(cublasLtMatmulDescCreate)
CREATED(cublasLtMatmulPreferenceCreate)
CREATED(cublasLtMatrixLayoutCreate)
CREATED(cublasLtMatrixTransformDescCreate)
ACCEPTED(cublasLtDestroy)
ACCEPTED(cublasLtMatmulDescDestroy)
ACCEPTED(cublasLtMatmulDescGetAttribute)
ACCEPTED(cublasLtMatmulDescInit_internal)
ACCEPTED(cublasLtMatmulDescSetAttribute)
ACCEPTED(cublasLtMatmulPreferenceDestroy)
ACCEPTED(cublasLtMatmulPreferenceInit_internal)
ACCEPTED(cublasLtMatmulPreferenceSetAttribute)
ACCEPTED(cublasLtMatrixLayoutDestroy)
ACCEPTED(cublasLtMatrixLayoutGetAttribute)
ACCEPTED(cublasLtMatrixLayoutInit_internal)
ACCEPTED(cublasLtMatrixLayoutSetAttribute)
ACCEPTED(cublasLtMatrixTransformDescDestroy)
ACCEPTED(cublasLtMatrixTransformDescGetAttribute)
ACCEPTED(cublasLtMatrixTransformDescInit_internal)
ACCEPTED(cublasLtMatrixTransformDescSetAttribute)

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
    return 130000;
}

int cublasLtGetProperty(int property, int *value);
int cublasLtGetProperty(int property, int *value)
{
    *value = property == 0 ? 13 : 0; /* MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL */
    return SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
                                   void *d, void *preference, int wanted, struct algorithm *found,
                                   int *count);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
                                   void *d, void *preference, int wanted, struct algorithm *found,
                                   int *count)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    (void)wanted;
    found->workspace = 0;
    found->status = SUCCESS;
    found->waves = 1;
    *count = 1;
    return SUCCESS;
}
