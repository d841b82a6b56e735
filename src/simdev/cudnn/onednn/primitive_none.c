/* No primitives: every convolution is computed in plain loops. The installed device uses this file,
 * because it only runs in account mode. Tests compute with oneDNN. */
#include "cudnn_primitive.h"

struct simdev_primitive *simdev_primitive_create(const struct simdev_geometry *geometry,
                                                 const struct simdev_view view[SIMDEV_ROLES])
{
    (void)geometry, (void)view;
    return NULL;
}

/* Never called with a primitive, because none can be created. */
void simdev_primitive_destroy(struct simdev_primitive *primitive)
{
    (void)primitive;
}

bool simdev_primitive_run(const struct simdev_primitive *primitive, char *const data[SIMDEV_ROLES])
{
    (void)primitive, (void)data;
    return false;
}

void simdev_primitives_release(void) {}
