/* What cuDNN and the driver tell of the GPU that is present. */
#ifndef CS_CUDNN_STANDALONE_CAPTURE_PROFILE_H
#define CS_CUDNN_STANDALONE_CAPTURE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* After cs_standalone_open: the properties of device 0 (CUDA_VISIBLE_DEVICES chooses) by which
 * cuDNN can plan for it elsewhere, as JSON; to be freed. *bus_width_p gets the bits of its memory
 * bus, 0 if the driver does not say. False, with a line in `error`, if there is no GPU or cuDNN
 * does not say. */
bool cs_standalone_capture(char **json_p, int *bus_width_p, char *error, size_t size);

#endif
