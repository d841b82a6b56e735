/* Tensor operations of the legacy API on the host: add, operate, scale, set, transform, activate
 * (cuDNN Backend API, Ops library).
 */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* ---- pointwise work on a stream ---- */

struct pointwise_run {
    const char *function;
    struct simdev_pointwise op;
    struct simdev_view x, b, y;
    bool has_b;
    bool is_unchecked; /* not checked before: the run checks everything */
};

static bool check_view(const char *function, const char *when, const struct simdev_view *view)
{
    const size_t span = simdev_view_span(view);
    if (!simdev_range_alive(view->data, span)) {
        simdev_violation("%s, %s: an operand at %p, %zu bytes, is not inside one live allocation",
                         function, when, (void *)view->data, span);
        return false;
    }
    if ((uintptr_t)view->data % simdev_type_size(view->type) != 0) {
        simdev_violation("%s, %s: an operand at %p is not aligned to its type", function, when,
                         (void *)view->data);
        return false;
    }
    return true;
}

static bool check_input(const struct pointwise_run *run, const char *when,
                        const struct simdev_view *x)
{
    if (simdev_views_equal(x, &run->y) || !simdev_views_overlap(x, &run->y))
        return true;
    simdev_violation("%s, %s: the output at %p overlaps an input", run->function, when,
                     (void *)run->y.data);
    return false;
}

static bool check_inputs(const struct pointwise_run *run, const char *when)
{
    return check_input(run, when, &run->x) && (!run->has_b || check_input(run, when, &run->b));
}

static bool check_live(const struct pointwise_run *run, const char *when)
{
    return check_view(run->function, when, &run->x) && check_view(run->function, when, &run->y) &&
           (!run->has_b || check_view(run->function, when, &run->b));
}

static void run_pointwise(void *arg)
{
    const struct pointwise_run *run = arg;
    const char *when = "at run time";
    const bool live = check_live(run, when) && (!run->is_unchecked || check_inputs(run, when));
    if (live) {
        simdev_view_touch(&run->x, false);
        if (run->has_b)
            simdev_view_touch(&run->b, false);
        simdev_view_touch(&run->y, true);
    }
    if (live && !simdev_account_mode())
        simdev_pointwise_run(&run->op, &run->x, run->has_b ? &run->b : NULL, &run->y);
    simdev_count(SIMDEV_OTHER_LAUNCHES);
}

static bool is_broadcast(const struct simdev_view *from, const struct simdev_view *to)
{
    bool fits = from->rank == to->rank && simdev_type_size(from->type) > 0;
    for (int i = 0; fits && i < to->rank; i++)
        fits = from->dim[i] == to->dim[i] || from->dim[i] == 1;
    return fits;
}

/* b may be NULL. */
static cudnnStatus_t launch_pointwise(const char *function, cudaStream_t stream,
                                      const struct simdev_pointwise *op,
                                      const struct simdev_view *x, const struct simdev_view *b,
                                      const struct simdev_view *y)
{
    if (!is_broadcast(y, y) || !is_broadcast(x, y) || (b && !is_broadcast(b, y)))
        return simdev_fail(CUDNN_STATUS_BAD_PARAM, "%s: the operands are inconsistent", function);
    struct pointwise_run *run = calloc(1, sizeof *run);
    if (!run)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *run = (struct pointwise_run){.function = function, .op = *op, .x = *x, .y = *y};
    run->has_b = b != NULL;
    if (b)
        run->b = *b;
    run->is_unchecked = simdev_is_capturing(stream);
    const struct simdev_work made = {.run = run_pointwise, .release = free, .arg = run};
    if ((!run->is_unchecked &&
         (!check_live(run, "at launch") || !check_inputs(run, "at launch"))) ||
        simdev_enqueue(stream, &made) != cudaSuccess) {
        free(run);
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "%s: operands or stream refused",
                           function);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Scaling factors are float for every supported type. */
static float factor_at(const void *pointer)
{
    float value;
    memcpy(&value, pointer, sizeof value);
    return value;
}

SIMDEV_EXPORT cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void *alpha,
                                                 const cudnnTensorDescriptor_t x_desc,
                                                 const void *x, const void *beta,
                                                 const cudnnTensorDescriptor_t y_desc, void *y)
{
    if (!handle || !alpha || !x_desc || !x || !beta || !y_desc || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view from = simdev_tensor_view(x_desc, x);
    const struct simdev_view to = simdev_tensor_view(y_desc, y);
    struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    op.scale = factor_at(alpha);
    op.beta = factor_at(beta);
    return launch_pointwise("cudnnTransformTensor", atomic_load(&handle->stream), &op, &from, NULL,
                            &to);
}

SIMDEV_EXPORT cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                                           const cudnnTensorDescriptor_t a_desc, const void *a,
                                           const void *beta, const cudnnTensorDescriptor_t c_desc,
                                           void *c)
{
    if (!handle || !alpha || !a_desc || !a || !beta || !c_desc || !c)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view from = simdev_tensor_view(a_desc, a);
    const struct simdev_view to = simdev_tensor_view(c_desc, c);
    struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    op.scale = factor_at(alpha);
    op.beta = factor_at(beta);
    return launch_pointwise("cudnnAddTensor", atomic_load(&handle->stream), &op, &from, NULL, &to);
}

static bool mode_of_op(cudnnOpTensorOp_t op, cudnnPointwiseMode_t *mode)
{
    static const cudnnPointwiseMode_t modes[] = {[CUDNN_OP_TENSOR_ADD] = CUDNN_POINTWISE_ADD,
                                                 [CUDNN_OP_TENSOR_MUL] = CUDNN_POINTWISE_MUL,
                                                 [CUDNN_OP_TENSOR_MIN] = CUDNN_POINTWISE_MIN,
                                                 [CUDNN_OP_TENSOR_MAX] = CUDNN_POINTWISE_MAX,
                                                 [CUDNN_OP_TENSOR_SQRT] = CUDNN_POINTWISE_SQRT};
    const bool known = (size_t)op < sizeof modes / sizeof *modes;
    if (known)
        *mode = modes[op];
    return known;
}

SIMDEV_EXPORT cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle,
                                          const cudnnOpTensorDescriptor_t op_desc,
                                          const void *alpha1, const cudnnTensorDescriptor_t a_desc,
                                          const void *a, const void *alpha2,
                                          const cudnnTensorDescriptor_t b_desc, const void *b,
                                          const void *beta, const cudnnTensorDescriptor_t c_desc,
                                          void *c)
{
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    if (!handle || !op_desc || !alpha1 || !a_desc || !a || !beta || !c_desc || !c)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!mode_of_op(op_desc->op, &mode))
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "cudnnOpTensor: operation %d",
                           (int)op_desc->op);
    const bool binary = simdev_pointwise_is_binary(mode);
    if (binary && (!alpha2 || !b_desc || !b))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct simdev_pointwise op = simdev_pointwise_of(mode);
    const struct simdev_view first = simdev_tensor_view(a_desc, a);
    const struct simdev_view to = simdev_tensor_view(c_desc, c);
    struct simdev_view second = to;
    op.alpha1 = factor_at(alpha1);
    op.beta = factor_at(beta);
    if (binary) {
        op.alpha2 = factor_at(alpha2);
        second = simdev_tensor_view(b_desc, b);
    }
    return launch_pointwise("cudnnOpTensor", atomic_load(&handle->stream), &op, &first,
                            binary ? &second : NULL, &to);
}

/* Uses the pointwise operations of graphs and fused convolutions, so that the result is bit-equal
 * to the fused one. */
SIMDEV_EXPORT cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle,
                                                   cudnnActivationDescriptor_t activation,
                                                   const void *alpha,
                                                   const cudnnTensorDescriptor_t x_desc,
                                                   const void *x, const void *beta,
                                                   const cudnnTensorDescriptor_t y_desc, void *y)
{
    struct simdev_pointwise op;
    if (!handle || !activation || !alpha || !x_desc || !x || !beta || !y_desc || !y)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!simdev_activation_op(activation, &op))
        return simdev_fail(CUDNN_STATUS_NOT_SUPPORTED, "cudnnActivationForward: mode %d",
                           (int)activation->mode);
    const struct simdev_view from = simdev_tensor_view(x_desc, x);
    const struct simdev_view to = simdev_tensor_view(y_desc, y);
    op.scale = factor_at(alpha);
    op.beta = factor_at(beta);
    return launch_pointwise("cudnnActivationForward", atomic_load(&handle->stream), &op, &from,
                            NULL, &to);
}

SIMDEV_EXPORT cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle,
                                             const cudnnTensorDescriptor_t y_desc, void *y,
                                             const void *alpha)
{
    if (!handle || !y_desc || !y || !alpha)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct simdev_view view = simdev_tensor_view(y_desc, y);
    struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    op.scale = factor_at(alpha);
    return launch_pointwise("cudnnScaleTensor", atomic_load(&handle->stream), &op, &view, NULL,
                            &view);
}

/* ---- a constant ---- */

struct fill_run {
    struct simdev_view y;
    uint32_t element; /* in y's type */
};

static void fill_tensor(void *arg)
{
    const struct fill_run *run = arg;
    uint32_t element = run->element;
    struct simdev_view value = run->y;
    value.data = (char *)&element;
    for (int i = 0; i < value.rank; i++)
        value.dim[i] = 1;
    const struct simdev_pointwise op = simdev_pointwise_of(CUDNN_POINTWISE_IDENTITY);
    if (check_view("cudnnSetTensor", "at run time", &run->y)) {
        simdev_view_touch(&run->y, true);
        if (!simdev_account_mode())
            simdev_pointwise_run(&op, &value, NULL, &run->y);
    }
    simdev_count(SIMDEV_OTHER_LAUNCHES);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle,
                                           const cudnnTensorDescriptor_t y_desc, void *y,
                                           const void *value)
{
    if (!handle || !y_desc || !y || !value)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct fill_run *run = calloc(1, sizeof *run);
    if (!run)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    run->y = simdev_tensor_view(y_desc, y);
    memcpy(&run->element, value, simdev_type_size(run->y.type));
    const cudaStream_t stream = atomic_load(&handle->stream);
    const struct simdev_work made = {.run = fill_tensor, .release = free, .arg = run};
    if (!simdev_type_size(run->y.type) ||
        (!simdev_is_capturing(stream) && !check_view("cudnnSetTensor", "at launch", &run->y)) ||
        simdev_enqueue(stream, &made) != cudaSuccess) {
        free(run);
        return simdev_fail(CUDNN_STATUS_EXECUTION_FAILED, "cudnnSetTensor: refused");
    }
    return CUDNN_STATUS_SUCCESS;
}
