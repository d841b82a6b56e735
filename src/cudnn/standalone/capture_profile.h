/* Properties that cuDNN and the driver report of the present GPU. */
#ifndef CS_CUDNN_STANDALONE_CAPTURE_PROFILE_H
#define CS_CUDNN_STANDALONE_CAPTURE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Called after cs_standalone_open. Returns the properties of device 0 (CUDA_VISIBLE_DEVICES
 * chooses) as JSON, by which cuDNN can plan for it on another machine. The caller frees them.
 * *bus_width_p becomes the bits of its memory bus, 0 if the driver does not report them. False,
 * with a line in `error`, without a GPU or without properties. */
bool cs_standalone_capture(char **json_p, int *bus_width_p, char *error, size_t size);

#endif
