/* Convolutions that a library of the host's computes: by oneDNN (onednn/primitive_onednn.c), or not
 * at all (onednn/primitive_none.c). Which of the two is linked in is the build's choice. */
#ifndef SIMDEV_CUDNN_PRIMITIVE_H
#define SIMDEV_CUDNN_PRIMITIVE_H

#include "cudnn_internal.h"

struct simdev_primitive;

/* Of operands at these views, whatever their data is. NULL: there is none for it. */
struct simdev_primitive *simdev_primitive_create(const struct simdev_geometry *geometry,
                                                 const struct simdev_view view[SIMDEV_ROLES]);

/* NULL is allowed. */
void simdev_primitive_destroy(struct simdev_primitive *primitive);

/* Computes the result into its operand's data. Threads may run one at once. False: no host memory.
 */
bool simdev_primitive_run(const struct simdev_primitive *primitive, char *const data[SIMDEV_ROLES]);

/* Gives back what primitives share: there may be none any more. */
void simdev_primitives_release(void);

#endif
