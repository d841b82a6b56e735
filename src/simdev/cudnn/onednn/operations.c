/* Describes tensors and convolutions for oneDNN 2 and 3. Version 2 describes one in a struct
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

static dnnl_status_t create_convolution(simdev_described x, simdev_described w, simdev_described y,
                                        const struct simdev_window *window, bool of_data,
                                        const_dnnl_primitive_desc_t hint,
                                        const_dnnl_primitive_attr_t attr,
                                        dnnl_primitive_desc_t *out)
{
    dnnl_engine_t engine = simdev_onednn_engine();
    if (!hint)
        return dnnl_convolution_forward_primitive_desc_create(
            out, engine, dnnl_forward_training, dnnl_convolution_direct, x, w, NULL, y,
            window->stride, window->gap, window->lower, window->upper, attr);
    if (of_data)
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, engine, dnnl_convolution_direct, x, w, y, window->stride, window->gap,
            window->lower, window->upper, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, engine, dnnl_convolution_direct, x, w, NULL, y, window->stride, window->gap,
        window->lower, window->upper, hint, attr);
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

static dnnl_status_t create_convolution(simdev_described x, simdev_described w, simdev_described y,
                                        const struct simdev_window *window, bool of_data,
                                        const_dnnl_primitive_desc_t hint,
                                        const_dnnl_primitive_attr_t attr,
                                        dnnl_primitive_desc_t *out)
{
    dnnl_convolution_desc_t op = {.primitive_kind = dnnl_undefined_primitive};
    const dnnl_status_t status =
        !hint ? dnnl_dilated_convolution_forward_desc_init(
                    &op, dnnl_forward_training, dnnl_convolution_direct, x, w, NULL, y,
                    window->stride, window->gap, window->lower, window->upper)
        : of_data
            ? dnnl_dilated_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, x, w,
                                                               y, window->stride, window->gap,
                                                               window->lower, window->upper)
            : dnnl_dilated_convolution_backward_weights_desc_init(
                  &op, dnnl_convolution_direct, x, w, NULL, y, window->stride, window->gap,
                  window->lower, window->upper);
    return status == dnnl_success
               ? dnnl_primitive_desc_create(out, &op, attr, simdev_onednn_engine(), hint)
               : status;
}

#endif

bool simdev_create_convolution(const struct simdev_layout *x, const struct simdev_layout *w,
                               const struct simdev_layout *y, const struct simdev_window *window,
                               bool of_data, const_dnnl_primitive_desc_t hint,
                               dnnl_primitive_desc_t *out)
{
    dnnl_primitive_attr_t attr = with_scratchpad();
    const bool created =
        attr && create_convolution(simdev_layout_of(x), simdev_layout_of(w), simdev_layout_of(y),
                                   window, of_data, hint, attr, out) == dnnl_success;
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    return created;
}
