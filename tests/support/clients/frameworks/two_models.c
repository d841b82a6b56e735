/* Plans convolutions for handles of all devices, which may be of different models:
 *
 *     two_models DEVICE...
 *
 * For each device, in the given order, one handle is made by the main thread and one by another
 * thread. Each handle then plans in the main thread, while each device is current, and in a thread
 * that has never called the runtime. A line is printed for each size:
 *
 *     NAME OF THE GPU, 256 channels, entry 0: engine 67, configuration 1000 bytes, plan 1000 bytes
 *
 * Status 1: a call failed. */
#include "graph.h"
#include "legacy.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES = 4,
    MAKERS = 2
};

static const struct wish forward = {FORWARD, 1.0F, 0.0F, false, false, NULL};
static const struct layer layers[] = {
    {CUDNN_DATA_FLOAT, 8, 256, 256, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {CUDNN_DATA_HALF, 16, 128, 128, {112, 112}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
};
enum {
    LAYERS = sizeof layers / sizeof *layers
};

struct handle {
    cudnnHandle_t handle;
    int device;
    char name[256];
    bool done;
};

static bool plan_entries(const struct handle *of, const struct layer *layer)
{
    struct operands operands = {0};
    struct graph graph = {0};
    struct configs configs = {0};
    int planned = 0;
    operands_shape(layer, &operands);
    TRY_CUDNN(graph_open(of->handle, &operands, &forward, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs), close);
    for (int i = 0; i < configs.count && planned < ENTRIES; i++) {
        cudnnBackendDescriptor_t made = NULL;
        struct backend_engine engine;
        int64_t config_bytes = 0, plan_bytes = 0;
        if (plan_open(configs.config[i], of->handle, &made) != CUDNN_STATUS_SUCCESS)
            continue;
        TRY_CUDNN(config_size(configs.config[i], &config_bytes), close);
        TRY_CUDNN(plan_size(made, &plan_bytes), close);
        TRY_CUDNN(backend_engine_read(configs.config[i], &engine), close);
        plan_close(made);
        printf(
            "%s, %lld channels, entry %d: engine %lld, configuration %lld bytes, plan %lld bytes\n",
            of->name, (long long)layer->in, i, (long long)engine.index, (long long)config_bytes,
            (long long)plan_bytes);
        planned++;
    }
close:
    configs_close(&configs);
    graph_close(&graph);
    return planned > 0;
}

static bool query_legacy(const struct handle *of, const struct layer *layer)
{
    const struct session session = {.handle = of->handle};
    struct operands operands = {0};
    struct legacy legacy = {0};
    size_t bytes = 0;
    bool done = false;
    operands_shape(layer, &operands);
    TRY_CUDNN(legacy_open(&operands, CUDNN_DEFAULT_MATH, &legacy), close);
    TRY_CUDNN(legacy_size(&session, &legacy, FORWARD,
                          CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &bytes),
              close);
    printf("%s, %lld channels, legacy call: %zu bytes\n", of->name, (long long)layer->in, bytes);
    done = true;
close:
    legacy_close(&legacy);
    return done;
}

static bool plan_all(const struct handle *of)
{
    bool done = true;
    for (int i = 0; i < LAYERS && done; i++)
        done = plan_entries(of, &layers[i]) && query_legacy(of, &layers[i]);
    return done;
}

static void *plan_apart(void *of)
{
    struct handle *handle = of;
    handle->done = plan_all(handle);
    return NULL;
}

static void *make(void *of)
{
    struct handle *handle = of;
    handle->done = cudaSetDevice(handle->device) == cudaSuccess &&
                   cudnnCreate(&handle->handle) == CUDNN_STATUS_SUCCESS;
    return NULL;
}

static bool in_thread(void *(*run)(void *), struct handle *handle)
{
    pthread_t thread;
    handle->done = false;
    return pthread_create(&thread, NULL, run, handle) == 0 && pthread_join(thread, NULL) == 0 &&
           handle->done;
}

static bool plan_everywhere(struct handle *handle, int devices)
{
    bool done = true;
    for (int current = 0; current < devices && done; current++)
        done = cudaSetDevice(current) == cudaSuccess && plan_all(handle);
    return done && in_thread(plan_apart, handle);
}

static bool plan_for(int device, int devices)
{
    struct cudaDeviceProp properties;
    TRY_CUDA(cudaGetDeviceProperties(&properties, device), fail);
    for (int maker = 0; maker < MAKERS; maker++) {
        struct handle handle = {.device = device};
        snprintf(handle.name, sizeof handle.name, "%s", properties.name);
        if (maker == 0)
            make(&handle);
        else
            in_thread(make, &handle);
        if (!handle.done || !plan_everywhere(&handle, devices))
            return false;
        cudnnDestroy(handle.handle);
    }
    return true;
fail:
    return false;
}

int main(int argc, char **argv)
{
    int devices = 0;
    if (argc < 2 || cudaGetDeviceCount(&devices) != cudaSuccess)
        return 1;
    for (int i = 1; i < argc; i++)
        if (!plan_for(atoi(argv[i]), devices))
            return 1;
    return 0;
}
