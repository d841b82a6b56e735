/* What the layers computed by oneDNN share. */
#ifndef SIMDEV_LAYER_ONEDNN_H
#define SIMDEV_LAYER_ONEDNN_H

#include <dnnl.h>

#include "cudnn_layer.h"

/* oneDNN's engine; NULL if it could not be made. */
dnnl_engine_t simdev_onednn_engine(void);

/* What oneDNN does for one call. A gradient has the forward computation too: oneDNN wants it as a
 * hint, and some gradients need what it leaves behind. A sum has its two steps here. */
struct simdev_layer_plan {
    dnnl_primitive_desc_t forward, backward; /* NULL: not needed */
};

/* An operand of a primitive: oneDNN's name of it, and packed elements. */
struct simdev_layer_argument {
    int name;
    float *data;
};

/* A tensor of packed f32. */
dnnl_memory_desc_t simdev_layer_tensor(int rank, const int64_t *dim);
/* Makes *out of an operation's description; `hint` may be NULL. False: oneDNN refuses it. */
bool simdev_layer_describe(const_dnnl_op_desc_t operation, const_dnnl_primitive_desc_t hint,
                           dnnl_primitive_desc_t *out);
/* Memory for what a primitive passes to another one, to be freed; NULL if there is none. */
float *simdev_layer_memory(const_dnnl_primitive_desc_t desc, int name);
bool simdev_layer_execute(const_dnnl_primitive_desc_t desc, int count,
                          const struct simdev_layer_argument *argument);

/* The layers, each as a pair: what oneDNN is asked for, and the run. */
bool simdev_norm_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan);
bool simdev_norm_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                     float *const value[]);
bool simdev_pooling_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan);
bool simdev_pooling_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *const value[]);

#endif
