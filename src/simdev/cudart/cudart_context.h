/* Contexts, which own streams, events and memory: the current context of a thread, and whether the
 * thread calls as the driver.
 *
 * Every device has a primary context. A thread's first use of the runtime makes it current. The
 * driver creates other contexts. The id of a context is never reused. Its handle is reused after
 * destruction. Errors are the runtime's, which have the driver's numbers. Thread-safe. The internal
 * lock may be taken while any other lock is held. */
#ifndef CUDART_CONTEXT_H
#define CUDART_CONTEXT_H

#include "cudart_internal.h"

typedef struct CUctx_st *simdev_context; /* the driver's CUcontext */

/* The context that is current in the calling thread, or that of the work it runs. */
struct simdev_owner simdev_owner_current(void);
/* Work that the calling thread runs from now on belongs to this context. */
void simdev_owner_run(struct simdev_owner owner);

/* Ensures that a call has a context. The runtime makes the primary one current if there is none.
 * For the driver, returns cudaErrorDeviceUninitialized if there is none. Returns
 * cudaErrorContextIsDestroyed if the current one was destroyed. */
cudaError_t simdev_context_enter(void);
/* The device that the thread's next use of the runtime is for. */
int simdev_context_device(void);
/* Makes the primary context of a device current. */
cudaError_t simdev_context_set_device(int device);
/* Destroys a device's primary context with all its contents. The next use creates a new one with
 * another id. */
void simdev_context_reset(int device);

/* --- functions for libcuda --- */

/* Until simdev_driver_end, the thread's runtime calls are part of one driver call. SIMDEV_FAIL
 * applies to this name, the call requires a context, and the runtime's last error does not change.
 */
void simdev_driver_begin(const char *function);
void simdev_driver_end(void);
/* The name, or NULL while the thread does not call as the driver. */
const char *simdev_driver_call(void);

cudaError_t simdev_context_create(simdev_context *out, int device); /* makes it current */
cudaError_t simdev_context_destroy(simdev_context context);
cudaError_t simdev_context_get(simdev_context *out); /* NULL: none */
cudaError_t simdev_context_set(simdev_context context);
cudaError_t simdev_context_push(simdev_context context);
cudaError_t simdev_context_pop(simdev_context *out);
cudaError_t simdev_context_id(simdev_context context, unsigned long long *id); /* NULL: current */
cudaError_t simdev_context_retain_primary(simdev_context *out, int device);
cudaError_t simdev_context_release_primary(int device);

/* How many devices there are, and whether the primary context of one is in use. */
int simdev_context_devices(void);
bool simdev_context_primary_active(int device);

/* cudaMemsetAsync of elements of 1, 2 or 4 bytes. */
cudaError_t simdev_memset(const char *function, void *to, unsigned value, unsigned element,
                          size_t bytes, cudaStream_t stream);

/* A driver function for a program compiled for a version of CUDA. NULL if there is none. */
void *simdev_driver_entry(const char *symbol, unsigned version);

/* Loads libcuda.so.1 from the folder of this library, as the real runtime loads the driver. */
void simdev_driver_load(void);

#endif
