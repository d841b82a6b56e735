#include "client.h"

#include <stdio.h>
#include <time.h>

void client_report(const char *file, int line, const char *call, const char *text)
{
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, text);
}

enum outcome client_judge(const char *file, int line, const char *call, cudnnStatus_t status)
{
    /* An engine that writes its kernel for the problem may find that it does not compile. */
    if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ||
        status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED)
        return OUTCOME_REFUSED;
    client_report(file, line, call, cudnnGetErrorString(status));
    return OUTCOME_ERROR;
}

cudnnStatus_t tensor_describe(const struct tensor *tensor, cudnnTensorDescriptor_t desc)
{
    int size[CLIENT_MAX_DIMS];
    int stride[CLIENT_MAX_DIMS];
    for (int i = 0; i < tensor->dims; i++) {
        size[i] = (int)tensor->size[i];
        stride[i] = (int)tensor->stride[i];
    }
    return cudnnSetTensorNdDescriptor(desc, tensor->type, tensor->dims, size, stride);
}

void *client_upload(const void *host, size_t bytes, cudaStream_t stream)
{
    void *device = NULL;
    TRY_CUDA(cudaMalloc(&device, bytes), fail);
    TRY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), free_device);
    TRY_CUDA(cudaStreamSynchronize(stream), free_device);
    return device;
free_device:
    cudaFree(device);
fail:
    return NULL;
}

double client_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
