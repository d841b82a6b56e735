/* Runs a call of the legacy API on the host: operands in, computation, results out. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_layer.h"

struct simdev_host_call simdev_host_call(const char *function, enum simdev_layer layer)
{
    return (struct simdev_host_call){.function = function, .layer = layer};
}

static int add_operand(struct simdev_host_call *call, cudnnTensorDescriptor_t tensor,
                       const void *data)
{
    const int index = call->operands++;
    if (tensor && data)
        call->operand[index].view = simdev_tensor_view(tensor, data);
    return index;
}

int simdev_host_read(struct simdev_host_call *call, cudnnTensorDescriptor_t tensor,
                     const void *data)
{
    return add_operand(call, tensor, data);
}

static float factor_at(const void *pointer, float otherwise)
{
    float value = otherwise;
    if (pointer)
        memcpy(&value, pointer, sizeof value);
    return value;
}

int simdev_host_write(struct simdev_host_call *call, cudnnTensorDescriptor_t tensor, void *data,
                      const void *alpha, const void *beta)
{
    const int index = add_operand(call, tensor, data);
    call->operand[index].is_result = true;
    call->operand[index].alpha = factor_at(alpha, 1);
    call->operand[index].beta = factor_at(beta, 0);
    return index;
}

struct simdev_planes simdev_planes_of(const struct simdev_view *view)
{
    struct simdev_planes planes = {view->dim[0], view->dim[1], 1};
    for (int i = 2; i < view->rank; i++)
        planes.elements *= view->dim[i];
    return planes;
}

static struct simdev_view packed_view(const struct simdev_view *view, float *value)
{
    struct simdev_view made = *view;
    int64_t stride = 1;
    made.type = CUDNN_DATA_FLOAT;
    made.data = (char *)value;
    for (int i = view->rank - 1; i >= 0; i--) {
        made.stride[i] = stride;
        stride *= view->dim[i];
    }
    return made;
}

static bool check_operands(const struct simdev_host_call *call, const char *when)
{
    for (int i = 0; i < call->operands; i++) {
        const struct simdev_view *view = &call->operand[i].view;
        if (view->data && !simdev_range_alive(view->data, simdev_view_span(view))) {
            simdev_violation("%s, %s: operand %d at %p is not inside one live allocation",
                             call->function, when, i, (void *)view->data);
            return false;
        }
    }
    return true;
}

static void store_operand(const struct simdev_host_call *call, int index, float *value)
{
    struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    const struct simdev_view from = packed_view(&call->operand[index].view, value);
    op.scale = call->operand[index].alpha;
    op.beta = call->operand[index].beta;
    simdev_pointwise_run(&op, &from, NULL, &call->operand[index].view);
}

static bool load_operand(const struct simdev_host_call *call, int index, float **value)
{
    const struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    const struct simdev_view *view = &call->operand[index].view;
    if (!view->data)
        return true;
    *value = calloc((size_t)simdev_view_elements(view), sizeof **value);
    if (!*value)
        return false;
    const struct simdev_view to = packed_view(view, *value);
    simdev_view_touch(view, call->operand[index].is_result);
    if (!call->operand[index].is_result)
        simdev_pointwise_run(&op, view, NULL, &to);
    return true;
}

static void run_host_call(void *arg)
{
    const struct simdev_host_call *call = arg;
    float *value[SIMDEV_HOST_OPERANDS] = {NULL};
    bool good = check_operands(call, "at run time");
    for (int i = 0; good && i < call->operands; i++) {
        good = load_operand(call, i, &value[i]);
        if (!good)
            simdev_violation("%s could not be computed: no host memory", call->function);
    }
    if (good && !simdev_layer_run(call, value)) {
        simdev_violation("%s could not be computed: oneDNN failed", call->function);
        good = false;
    }
    for (int i = 0; i < call->operands; i++) {
        if (good && call->operand[i].is_result && value[i])
            store_operand(call, i, value[i]);
        free(value[i]);
    }
    simdev_count(SIMDEV_OTHER_LAUNCHES);
}

static bool are_computed(const struct simdev_host_call *call)
{
    for (int i = 0; i < call->operands; i++)
        if (call->operand[i].view.data && simdev_type_size(call->operand[i].view.type) == 0)
            return false;
    return true;
}

cudnnStatus_t simdev_host_launch(cudnnHandle_t handle, const struct simdev_host_call *call)
{
    if (simdev_account_mode() || !handle)
        return simdev_account(handle, call->function);
    if (!are_computed(call))
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "%s: unsupported data type", call->function);
    if (!simdev_layer_takes(call))
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED,
                           "%s: oneDNN does not support it or is not part of this build",
                           call->function);
    const cudaStream_t stream = atomic_load(&handle->stream);
    struct simdev_host_call *copy = malloc(sizeof *copy);
    if (!copy)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *copy = *call;
    const struct simdev_work made = {.run = run_host_call, .release = free, .arg = copy};
    if (simdev_should_fail(call->function) ||
        (!simdev_is_capturing(stream) && !check_operands(copy, "at launch")) ||
        simdev_enqueue(stream, &made) != cudaSuccess) {
        free(copy);
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "%s: operands or stream refused",
                           call->function);
    }
    return CUDNN_STATUS_SUCCESS;
}
