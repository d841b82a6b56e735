/* Memory nodes of graphs. The address of an allocation is fixed when its node is made. The memory
 * is there from the allocation node of a launch to its free node, cudaFreeAsync or cudaFree. It
 * belongs to a pool of the device for graphs, which keeps it until cudaDeviceGraphMemTrim.
 * Thread-safe. */
#ifndef CUDART_GRAPH_MEMORY_H
#define CUDART_GRAPH_MEMORY_H

#include "cudart_internal.h"

enum {
    SIMDEV_GRAPH_POOL = -1 /* the id of memory of graphs, which has no pool */
};

/* The work of an allocation node, and its address. */
cudaError_t simdev_graph_memory_allocate(int device, size_t bytes, struct simdev_work *work,
                                         void **ptr);
/* The work of a free node. cudaErrorInvalidValue: the address is not that of an allocation node. */
cudaError_t simdev_graph_memory_free(void *ptr, struct simdev_work *work);
/* The allocation of work that one of the functions above made. */
struct simdev_graph_memory {
    void *ptr;
    size_t bytes;
    int device;
};
struct simdev_graph_memory simdev_graph_memory_of(const struct simdev_work *work);

/* A graph is launched, whose memory nodes do this work in this order: counts the memory.
 * cudaErrorInvalidValue: an allocation was not freed since its last launch, unless `frees`, which
 * frees it before. cudaErrorMemoryAllocation: the device is full. Other work is ignored. */
cudaError_t simdev_graph_memory_launch(const struct simdev_work *const *work, size_t count,
                                       bool frees);
/* The program frees memory of a graph outside of graphs. */
void simdev_graph_memory_freed(const void *ptr);
/* The memory of a device's graphs was destroyed with its primary context. */
void simdev_graph_memory_reset(int device);

#endif
