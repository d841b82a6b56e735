/* The identity of cuDNN handles: a number, and the GPU that they run on. A new handle may have the
 * address of a destroyed one, and the thread that uses a handle may have no CUDA context, or that
 * of another GPU. Thread-safe. */
#ifndef CS_CUDNN_PLAN_HANDLE_ID_H
#define CS_CUDNN_PLAN_HANDLE_ID_H

#include "cudnn/bind/real.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    CS_GPU_UNKNOWN = -1
};

struct cs_handle_id {
    int64_t number; /* never reused; 0: no handle */
    int gpu;        /* the driver's ordinal, or CS_GPU_UNKNOWN: the library did not see the handle
                       being created */
};

/* Notes a handle that was just created, and its GPU (an ordinal, or CS_GPU_UNKNOWN). If host memory
 * is short, the handle stays unknown. */
void cs_handle_created(cudnnHandle_t handle, int gpu);

/* The identity of a living handle, the same until it is destroyed. Zeros for NULL. If the handle is
 * unknown and host memory is short, each call returns a number that belongs to no handle. */
struct cs_handle_id cs_handle_id(cudnnHandle_t handle);

/* Called before a handle is destroyed. Identities of other handles are unchanged. */
void cs_handle_retire(cudnnHandle_t handle);

/* Locks the table before a fork, and unlocks it after it. */
void cs_handle_fork(bool before);

#endif
