/* Convolutions on the host, all directions and data types, on strided views. Uses the primitives of
 * cudnn_primitive.h if they support the case, otherwise plain loops. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"
#include "cudnn_primitive.h"

struct simdev_kernel {
    struct simdev_geometry geometry;
    struct simdev_view view[SIMDEV_ROLES];
    struct simdev_primitive *primitive; /* NULL: computed in plain loops */
};

enum simdev_role simdev_conv_result(enum simdev_conv_kind kind)
{
    return kind == SIMDEV_CONV_FORWARD         ? SIMDEV_Y
           : kind == SIMDEV_CONV_BACKWARD_DATA ? SIMDEV_X
                                               : SIMDEV_W;
}

/* SIMDEV_CONVOLVE=plain disables primitives, so that tests can compare primitives with loops. */
static bool wants_plain(void)
{
    const char *wish = getenv("SIMDEV_CONVOLVE");
    return wish && strcmp(wish, "plain") == 0;
}

struct simdev_kernel *simdev_kernel_create(const struct simdev_geometry *geometry,
                                           const struct simdev_view view[SIMDEV_ROLES])
{
    struct simdev_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return NULL;
    kernel->geometry = *geometry;
    memcpy(kernel->view, view, sizeof kernel->view);
    if (simdev_primitive_create && !wants_plain())
        kernel->primitive = simdev_primitive_create(geometry, view);
    return kernel;
}

void simdev_kernel_destroy(struct simdev_kernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->primitive)
        simdev_primitive_destroy(kernel->primitive);
    free(kernel);
}

static bool run_plain(const struct simdev_kernel *kernel, char *const data[SIMDEV_ROLES])
{
    struct simdev_view view[SIMDEV_ROLES];
    memcpy(view, kernel->view, sizeof view);
    for (int role = 0; role < SIMDEV_ROLES; role++)
        view[role].data = data[role];
    return simdev_convolve_plain(&kernel->geometry, view);
}

bool simdev_kernel_run(const struct simdev_kernel *kernel, char *const data[SIMDEV_ROLES])
{
    return kernel->primitive ? simdev_primitive_run(kernel->primitive, data)
                             : run_plain(kernel, data);
}
