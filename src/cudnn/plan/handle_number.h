/* Numbers for cuDNN handles. A handle stands for its device, but its address may mean another one
 * as soon as it is destroyed: a number is given once. Thread-safe. */
#ifndef CS_CUDNN_PLAN_HANDLE_NUMBER_H
#define CS_CUDNN_PLAN_HANDLE_NUMBER_H

#include "cudnn/bind/real.h"
#include <stdbool.h>
#include <stdint.h>

/* The number of a handle that is alive, the same until it is destroyed; 0 for NULL. Out of host
 * memory each answer is a number that no handle has. */
int64_t cs_handle_number(cudnnHandle_t handle);

/* A handle is about to be destroyed. Numbers of others stay as they are. */
void cs_handle_retire(cudnnHandle_t handle);

/* Holds (before) or frees (after) the numbers across a fork. */
void cs_handle_fork(bool before);

#endif
