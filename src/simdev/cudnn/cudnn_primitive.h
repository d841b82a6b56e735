/* Convolutions by oneDNN (onednn/). The installed device is linked without it, because it only runs
 * in account mode. The functions are then NULL, and no primitive exists. */
#ifndef SIMDEV_CUDNN_PRIMITIVE_H
#define SIMDEV_CUDNN_PRIMITIVE_H

#include "cudnn_internal.h"

struct simdev_primitive;

/* A primitive for operands with these views and any data. NULL if the library does not support
 * them. */
struct simdev_primitive *simdev_primitive_create(const struct simdev_geometry *geometry,
                                                 const struct simdev_view view[SIMDEV_ROLES])
    __attribute__((weak));

void simdev_primitive_destroy(struct simdev_primitive *primitive) __attribute__((weak));

/* Computes the result into its operand's data. Threads may run one primitive at once. False: no
 * host memory. */
bool simdev_primitive_run(const struct simdev_primitive *primitive, char *const data[SIMDEV_ROLES])
    __attribute__((weak));

/* Releases the resources that primitives share. All primitives must have been destroyed. */
void simdev_primitives_release(void) __attribute__((weak));

#endif
