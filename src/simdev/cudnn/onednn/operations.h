/* oneDNN's descriptions of tensors and convolutions, by one interface for its versions 2 and 3. */
#ifndef SIMDEV_OPERATIONS_H
#define SIMDEV_OPERATIONS_H

#include <dnnl.h>
#include <stdbool.h>
#include <stdint.h>

/* A tensor of f32. Version 2 has a value, version 3 an object that is to be dropped. Zeros: none.
 */
struct simdev_layout {
    dnnl_memory_desc_t desc;
};

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t simdev_described;
#else
typedef const dnnl_memory_desc_t *simdev_described;
#endif

/* `stride` NULL: oneDNN chooses the layout. */
bool simdev_layout_make(int rank, const int64_t *dim, const int64_t *stride,
                        struct simdev_layout *out);
bool simdev_layout_copy(simdev_described from, struct simdev_layout *out);
void simdev_layout_drop(struct simdev_layout *tensor);

/* The argument for oneDNN. */
simdev_described simdev_layout_of(const struct simdev_layout *tensor);

/* oneDNN's engine. NULL if it could not be created. */
dnnl_engine_t simdev_onednn_engine(void);

/* Strides, dilations less one, and paddings of a convolution. */
struct simdev_window {
    dnnl_dims_t stride, gap, lower, upper;
};

/* Creates *out, and returns false if oneDNN refuses the convolution. With `hint`, the forward
 * operation, it is a gradient: of the data or of the filter. */
bool simdev_create_convolution(const struct simdev_layout *x, const struct simdev_layout *w,
                               const struct simdev_layout *y, const struct simdev_window *window,
                               bool of_data, const_dnnl_primitive_desc_t hint,
                               dnnl_primitive_desc_t *out);
#endif
