#include "cudnn/plan/descriptor_builder.h"

#include <stddef.h>

cudnnBackendDescriptor_t cs_bench_make(struct cs_bench *bench, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t descriptor = NULL;
    if (bench->status == CUDNN_STATUS_SUCCESS && bench->made == CS_BENCH_MADE)
        bench->status = CUDNN_STATUS_ALLOC_FAILED;
    if (bench->status == CUDNN_STATUS_SUCCESS)
        bench->status = CS_REAL(cudnnBackendCreateDescriptor, type, &descriptor);
    if (bench->status != CUDNN_STATUS_SUCCESS)
        return NULL;
    bench->descriptor[bench->made++] = descriptor;
    return descriptor;
}

void cs_bench_set(struct cs_bench *bench, cudnnBackendDescriptor_t descriptor,
                  cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  const void *elements)
{
    if (bench->status == CUDNN_STATUS_SUCCESS)
        bench->status = CS_REAL(cudnnBackendSetAttribute, descriptor, name, type, count, elements);
}

int64_t cs_bench_get(struct cs_bench *bench, cudnnBackendDescriptor_t descriptor,
                     cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, void *elements)
{
    int64_t found = 0;
    if (bench->status == CUDNN_STATUS_SUCCESS)
        bench->status =
            CS_REAL(cudnnBackendGetAttribute, descriptor, name, type, count, &found, elements);
    return bench->status == CUDNN_STATUS_SUCCESS ? found : 0;
}

void cs_bench_finalize(struct cs_bench *bench, cudnnBackendDescriptor_t descriptor)
{
    if (bench->status == CUDNN_STATUS_SUCCESS)
        bench->status = CS_REAL(cudnnBackendFinalize, descriptor);
}

cudnnBackendDescriptor_t cs_bench_take(struct cs_bench *bench, cudnnBackendDescriptor_t descriptor)
{
    for (int i = 0; i < bench->made; i++)
        if (bench->descriptor[i] == descriptor)
            bench->descriptor[i] = NULL;
    return descriptor;
}

void cs_bench_clear(struct cs_bench *bench)
{
    for (int i = bench->made - 1; i >= 0; i--)
        if (bench->descriptor[i])
            (void)CS_REAL(cudnnBackendDestroyDescriptor, bench->descriptor[i]);
    bench->made = 0;
}
