/* Numbers for cuDNN handles. A handle stands for its device, but a new handle may have the address
 * of a destroyed one. A number is never reused. Thread-safe. */
#ifndef CS_CUDNN_PLAN_HANDLE_NUMBER_H
#define CS_CUDNN_PLAN_HANDLE_NUMBER_H

#include "cudnn/bind/real.h"
#include <stdbool.h>
#include <stdint.h>

/* The number of a living handle, the same until it is destroyed. 0 for NULL. If host memory is
 * short, each call returns a number that belongs to no handle. */
int64_t cs_handle_number(cudnnHandle_t handle);

/* Called before a handle is destroyed. Numbers of other handles are unchanged. */
void cs_handle_retire(cudnnHandle_t handle);

/* Locks the numbers before a fork, and unlocks them after it. */
void cs_handle_fork(bool before);

#endif
