/* Describes tensors and operations for oneDNN 2 and 3. Version 2 describes an operation in a struct
 * before it creates the primitive's descriptor, version 3 creates the descriptor at once. */
#include "operations.h"

#include <string.h>

static dnnl_primitive_attr_t with_scratchpad(void)
{
    dnnl_primitive_attr_t attr = NULL;
    if (dnnl_primitive_attr_create(&attr) == dnnl_success &&
        dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) != dnnl_success) {
        dnnl_primitive_attr_destroy(attr);
        attr = NULL;
    }
    return attr;
}

#define OF(tensor) simdev_layout_of(tensor)

#if DNNL_VERSION_MAJOR >= 3

bool simdev_layout_make(int rank, const int64_t *dim, const int64_t *stride,
                        struct simdev_layout *out)
{
    out->desc = NULL;
    return (stride ? dnnl_memory_desc_create_with_strides(&out->desc, rank, dim, dnnl_f32, stride)
                   : dnnl_memory_desc_create_with_tag(&out->desc, rank, dim, dnnl_f32,
                                                      dnnl_format_tag_any)) == dnnl_success;
}

bool simdev_layout_copy(simdev_described from, struct simdev_layout *out)
{
    return dnnl_memory_desc_clone(&out->desc, from) == dnnl_success;
}

void simdev_layout_drop(struct simdev_layout *tensor)
{
    if (tensor->desc)
        dnnl_memory_desc_destroy(tensor->desc);
    tensor->desc = NULL;
}

simdev_described simdev_layout_of(const struct simdev_layout *tensor)
{
    return tensor->desc;
}

/* The statement creates the descriptor with `attr`. */
#define RETURN_CREATED(hint, type, forward, backward)                                              \
    dnnl_engine_t engine = simdev_onednn_engine();                                                 \
    dnnl_primitive_attr_t attr = with_scratchpad();                                                \
    const bool ok = attr && ((hint) ? (backward) : (forward)) == dnnl_success;                     \
    if (attr)                                                                                      \
        dnnl_primitive_attr_destroy(attr);                                                         \
    return ok

bool simdev_create_convolution(const struct simdev_layout *x, const struct simdev_layout *w,
                               const struct simdev_layout *y, const struct simdev_window *window,
                               bool of_data, const_dnnl_primitive_desc_t hint,
                               dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(
        hint, convolution,
        dnnl_convolution_forward_primitive_desc_create(
            out, engine, dnnl_forward_training, dnnl_convolution_direct, OF(x), OF(w), NULL, OF(y),
            window->stride, window->gap, window->lower, window->upper, attr),
        of_data ? dnnl_convolution_backward_data_primitive_desc_create(
                      out, engine, dnnl_convolution_direct, OF(x), OF(w), OF(y), window->stride,
                      window->gap, window->lower, window->upper, hint, attr)
                : dnnl_convolution_backward_weights_primitive_desc_create(
                      out, engine, dnnl_convolution_direct, OF(x), OF(w), NULL, OF(y),
                      window->stride, window->gap, window->lower, window->upper, hint, attr));
}

bool simdev_create_softmax(const struct simdev_layout *t, bool is_log,
                           const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const dnnl_alg_kind_t algorithm = is_log ? dnnl_softmax_log : dnnl_softmax_accurate;
    RETURN_CREATED(hint, softmax,
                   dnnl_softmax_forward_primitive_desc_create(out, engine, dnnl_forward_training,
                                                              algorithm, OF(t), OF(t), 1, attr),
                   dnnl_softmax_backward_primitive_desc_create(out, engine, algorithm, OF(t), OF(t),
                                                               OF(t), 1, hint, attr));
}

bool simdev_create_sum(const struct simdev_layout *from, const struct simdev_layout *to,
                       dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(false, reduction,
                   dnnl_reduction_primitive_desc_create(out, engine, dnnl_reduction_sum, OF(from),
                                                        OF(to), 0, 0, attr),
                   dnnl_unimplemented);
}

bool simdev_create_eltwise(const struct simdev_layout *t, dnnl_alg_kind_t algorithm, float alpha,
                           float beta, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, eltwise,
                   dnnl_eltwise_forward_primitive_desc_create(out, engine, dnnl_forward_training,
                                                              algorithm, OF(t), OF(t), alpha, beta,
                                                              attr),
                   dnnl_eltwise_backward_primitive_desc_create(out, engine, algorithm, OF(t), OF(t),
                                                               OF(t), alpha, beta, hint, attr));
}

bool simdev_create_lrn(const struct simdev_layout *t, int64_t size, float alpha, float beta,
                       float k, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, lrn,
                   dnnl_lrn_forward_primitive_desc_create(out, engine, dnnl_forward_training,
                                                          dnnl_lrn_across_channels, OF(t), OF(t),
                                                          size, alpha, beta, k, attr),
                   dnnl_lrn_backward_primitive_desc_create(out, engine, dnnl_lrn_across_channels,
                                                           OF(t), OF(t), OF(t), size, alpha, beta,
                                                           k, hint, attr));
}

bool simdev_create_norm(const struct simdev_layout *t, bool is_inference, float epsilon,
                        const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const unsigned flags =
        dnnl_use_scale | dnnl_use_shift | (is_inference ? dnnl_use_global_stats : 0U);
    RETURN_CREATED(
        hint, batch_normalization,
        dnnl_batch_normalization_forward_primitive_desc_create(
            out, engine, is_inference ? dnnl_forward_inference : dnnl_forward_training, OF(t),
            OF(t), epsilon, flags, attr),
        dnnl_batch_normalization_backward_primitive_desc_create(
            out, engine, dnnl_backward, OF(t), OF(t), OF(t), epsilon, flags, hint, attr));
}

bool simdev_create_pooling(const struct simdev_layout *x, const struct simdev_layout *y,
                           dnnl_alg_kind_t algorithm, const struct simdev_window *window,
                           const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, pooling,
                   dnnl_pooling_forward_primitive_desc_create(
                       out, engine, dnnl_forward_training, algorithm, OF(x), OF(y), window->stride,
                       window->extent, window->gap, window->lower, window->upper, attr),
                   dnnl_pooling_backward_primitive_desc_create(
                       out, engine, algorithm, OF(x), OF(y), window->stride, window->extent,
                       window->gap, window->lower, window->upper, hint, attr));
}

#else

bool simdev_layout_make(int rank, const int64_t *dim, const int64_t *stride,
                        struct simdev_layout *out)
{
    return (stride ? dnnl_memory_desc_init_by_strides(&out->desc, rank, dim, dnnl_f32, stride)
                   : dnnl_memory_desc_init_by_tag(&out->desc, rank, dim, dnnl_f32,
                                                  dnnl_format_tag_any)) == dnnl_success;
}

bool simdev_layout_copy(simdev_described from, struct simdev_layout *out)
{
    out->desc = *from;
    return true;
}

void simdev_layout_drop(struct simdev_layout *tensor)
{
    memset(tensor, 0, sizeof *tensor);
}

simdev_described simdev_layout_of(const struct simdev_layout *tensor)
{
    return &tensor->desc;
}

static bool create_primitive(const_dnnl_op_desc_t operation, const_dnnl_primitive_desc_t hint,
                             dnnl_primitive_desc_t *out)
{
    dnnl_primitive_attr_t attr = with_scratchpad();
    const bool ok = attr && dnnl_primitive_desc_create(out, operation, attr, simdev_onednn_engine(),
                                                       hint) == dnnl_success;
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return ok;
}

/* The statement describes the operation in `op`. */
#define RETURN_CREATED(hint, type, forward, backward)                                              \
    dnnl_##type##_desc_t op;                                                                       \
    memset(&op, 0, sizeof op);                                                                     \
    return ((hint) ? (backward) : (forward)) == dnnl_success && create_primitive(&op, hint, out)

bool simdev_create_convolution(const struct simdev_layout *x, const struct simdev_layout *w,
                               const struct simdev_layout *y, const struct simdev_window *window,
                               bool of_data, const_dnnl_primitive_desc_t hint,
                               dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, convolution,
                   dnnl_dilated_convolution_forward_desc_init(
                       &op, dnnl_forward_training, dnnl_convolution_direct, OF(x), OF(w), NULL,
                       OF(y), window->stride, window->gap, window->lower, window->upper),
                   of_data ? dnnl_dilated_convolution_backward_data_desc_init(
                                 &op, dnnl_convolution_direct, OF(x), OF(w), OF(y), window->stride,
                                 window->gap, window->lower, window->upper)
                           : dnnl_dilated_convolution_backward_weights_desc_init(
                                 &op, dnnl_convolution_direct, OF(x), OF(w), NULL, OF(y),
                                 window->stride, window->gap, window->lower, window->upper));
}

/* Log-softmax has the same descriptor. */
bool simdev_create_softmax(const struct simdev_layout *t, bool is_log,
                           const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, softmax,
                   (is_log ? dnnl_logsoftmax_forward_desc_init
                           : dnnl_softmax_forward_desc_init)(&op, dnnl_forward_training, OF(t), 1),
                   (is_log ? dnnl_logsoftmax_backward_desc_init
                           : dnnl_softmax_backward_desc_init)(&op, OF(t), OF(t), 1));
}

bool simdev_create_sum(const struct simdev_layout *from, const struct simdev_layout *to,
                       dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(NULL, reduction,
                   dnnl_reduction_desc_init(&op, dnnl_reduction_sum, OF(from), OF(to), 0, 0),
                   dnnl_unimplemented);
}

bool simdev_create_eltwise(const struct simdev_layout *t, dnnl_alg_kind_t algorithm, float alpha,
                           float beta, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(
        hint, eltwise,
        dnnl_eltwise_forward_desc_init(&op, dnnl_forward_training, algorithm, OF(t), alpha, beta),
        dnnl_eltwise_backward_desc_init(&op, algorithm, OF(t), OF(t), alpha, beta));
}

bool simdev_create_lrn(const struct simdev_layout *t, int64_t size, float alpha, float beta,
                       float k, const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, lrn,
                   dnnl_lrn_forward_desc_init(&op, dnnl_forward_training, dnnl_lrn_across_channels,
                                              OF(t), size, alpha, beta, k),
                   dnnl_lrn_backward_desc_init(&op, dnnl_lrn_across_channels, OF(t), OF(t), size,
                                               alpha, beta, k));
}

bool simdev_create_norm(const struct simdev_layout *t, bool is_inference, float epsilon,
                        const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const unsigned flags =
        dnnl_use_scale | dnnl_use_shift | (is_inference ? dnnl_use_global_stats : 0U);
    RETURN_CREATED(hint, batch_normalization,
                   dnnl_batch_normalization_forward_desc_init(
                       &op, is_inference ? dnnl_forward_inference : dnnl_forward_training, OF(t),
                       epsilon, flags),
                   dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, OF(t), OF(t),
                                                               epsilon, flags));
}

bool simdev_create_pooling(const struct simdev_layout *x, const struct simdev_layout *y,
                           dnnl_alg_kind_t algorithm, const struct simdev_window *window,
                           const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    RETURN_CREATED(hint, pooling,
                   dnnl_pooling_forward_desc_init(&op, dnnl_forward_training, algorithm, OF(x),
                                                  OF(y), window->stride, window->extent,
                                                  window->lower, window->upper),
                   dnnl_pooling_backward_desc_init(&op, algorithm, OF(x), OF(y), window->stride,
                                                   window->extent, window->lower, window->upper));
}

#endif
