/* Convolutions by a host library: oneDNN (onednn/primitive_onednn.c), or none
 * (onednn/primitive_none.c). The build selects the file to link. */
#ifndef SIMDEV_CUDNN_PRIMITIVE_H
#define SIMDEV_CUDNN_PRIMITIVE_H

#include "cudnn_internal.h"

struct simdev_primitive;

/* A primitive for operands with these views and any data. NULL if the library does not support
 * them. */
struct simdev_primitive *simdev_primitive_create(const struct simdev_geometry *geometry,
                                                 const struct simdev_view view[SIMDEV_ROLES]);

/* NULL is allowed. */
void simdev_primitive_destroy(struct simdev_primitive *primitive);

/* Computes the result into its operand's data. Threads may run one primitive at once. False: no
 * host memory. */
bool simdev_primitive_run(const struct simdev_primitive *primitive, char *const data[SIMDEV_ROLES]);

/* Releases the resources that primitives share. All primitives must have been destroyed. */
void simdev_primitives_release(void);

#endif
