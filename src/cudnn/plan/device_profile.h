/* Reads the properties of a device that the cost model needs: from the driver for a handle, or from
 * the device's JSON if it is only described. */
#ifndef CS_CUDNN_PLAN_DEVICE_PROFILE_H
#define CS_CUDNN_PLAN_DEVICE_PROFILE_H

#include "convshim/profile.h"
#include "cudnn/plan/descriptors.h"
#include "cudnn/plan/handle_id.h"

enum {
    CS_DEVICE_JSON = 4096 /* bytes of a description, NUL included */
};

/* Reads the JSON of a device descriptor, cut at the buffer's end, "" if cuDNN does not report it.
 * Returns its length. */
size_t cs_device_profile_json(cudnnBackendDescriptor_t device, char text[CS_DEVICE_JSON]);

/* Reads the profile of a target's device. For a handle this is the GPU of its identity (`gpu`),
 * whatever context the calling thread has. False, with an empty profile, if the GPU is
 * CS_GPU_UNKNOWN or its properties are not available. Thread-safe. Each GPU is read from the driver
 * once, because clock queries may be slow. */
bool cs_device_profile_of(const struct cs_target *target, int gpu, struct cs_profile *profile);

#endif
