/* Device profiles: the JSON in which cuDNN reports the properties of a GPU, and from which it plans
 * for that GPU if none is installed. */
#ifndef PROFILE_H
#define PROFILE_H

#include "../support/apps/client.h"

/* The profile of a device, by its number or, where cuDNN does not take that, by a handle on it.
 * Text is ended by a zero; the caller frees it. False with a line on stderr. */
bool profile_capture(cudnnHandle_t handle, int device, char **text);

/* A profile's file, likewise. */
bool profile_read(const char *path, char **text);
bool profile_write(const char *path, const char *text);

/* A finalized descriptor of the profile's device, which the caller destroys. False with a line on
 * stderr if cuDNN does not take the text. */
bool profile_describe(const char *text, cudnnBackendDescriptor_t *desc);

#endif
