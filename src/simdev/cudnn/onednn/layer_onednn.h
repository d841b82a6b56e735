/* Interfaces between the layers computed by oneDNN. */
#ifndef SIMDEV_LAYER_ONEDNN_H
#define SIMDEV_LAYER_ONEDNN_H

#include "cudnn_layer.h"
#include "operations.h"

/* The primitives of one call. A gradient includes the forward computation, because oneDNN requires
 * it as a hint and some gradients need its results. A sum has two steps. */
struct simdev_layer_plan {
    dnnl_primitive_desc_t forward, backward; /* NULL: not needed */
};

/* An operand of a primitive: oneDNN's name for it, and packed elements. */
struct simdev_layer_argument {
    int name;
    float *data;
};

/* A tensor of packed elements, valid until the end of the call that is visited. */
const struct simdev_layout *simdev_layer_tensor(int rank, const int64_t *dim);
/* Memory for data that one primitive passes to another, to be freed. NULL if there is none. */
float *simdev_layer_memory(const_dnnl_primitive_desc_t desc, int name);
bool simdev_layer_execute(const_dnnl_primitive_desc_t desc, int count,
                          const struct simdev_layer_argument *argument);

/* Each layer has two functions: the description for oneDNN, and the run. */
bool simdev_norm_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan);
bool simdev_norm_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                     float *const value[]);
bool simdev_pooling_describe(const struct simdev_host_call *call, struct simdev_layer_plan *plan);
bool simdev_pooling_run(const struct simdev_host_call *call, const struct simdev_layer_plan *plan,
                        float *const value[]);

#endif
