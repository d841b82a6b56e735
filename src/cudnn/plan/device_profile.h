/* What device plans are made for, as the cost model requires it: from the driver for a handle, from
 * its JSON for a device that is only described. */
#ifndef CS_CUDNN_PLAN_DEVICE_PROFILE_H
#define CS_CUDNN_PLAN_DEVICE_PROFILE_H

#include "convshim/profile.h"
#include "cudnn/plan/descriptors.h"

enum {
    CS_DEVICE_JSON = 4096 /* bytes of a description, its end included */
};

/* The JSON of a device descriptor, cut off where it is longer; "" if cuDNN does not report it.
 * Returns its length. */
size_t cs_device_profile_json(cudnnBackendDescriptor_t device, char text[CS_DEVICE_JSON]);

/* The profile of a target's device; a handle's is the one whose context is current. False, and an
 * empty profile, if nothing reports it. Thread-safe. The driver is asked once for each device: a
 * clock may take it long to tell. */
bool cs_device_profile_of(const struct cs_target *target, struct cs_profile *profile);

#endif
