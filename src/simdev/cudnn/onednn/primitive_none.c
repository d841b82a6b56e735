/* No primitives: every convolution is computed in plain loops, and other layers are not supported.
 * The installed device uses this file, because it only runs in account mode. Tests compute with
 * oneDNN. */
#include "cudnn_layer.h"
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

bool simdev_layer_takes(const struct simdev_host_call *call)
{
    (void)call;
    return false;
}

/* None is taken. */
bool simdev_layer_run(const struct simdev_host_call *call, float *const value[])
{
    (void)call, (void)value;
    return false;
}
