/* Copies staged tensors by the CUDA driver, on a stream or as nodes of a graph. Statuses are
 * cuDNN's. */
#ifndef CS_CUDNN_RUN_COPY_CUDA_H
#define CS_CUDNN_RUN_COPY_CUDA_H

#include "convshim/copy.h"
#include <cuda.h>

/* True if the driver can copy and the calling thread has a context. */
bool cs_copy_possible(void);

/* Returns box `number` of a copy (of copy->times) in the driver's form. `in`: from the view into
 * the packed tensor, else out of it. */
CUDA_MEMCPY3D cs_copy_box(const struct cs_copy *copy, void *view, void *packed, bool in,
                          int64_t number);

/* Starts a copy on a stream, which may be captured. */
int cs_copy_start(const struct cs_copy *copy, void *view, void *packed, bool in, void *stream);

/* Adds a box to a graph after *last_p, which becomes the new node. NULL: the box depends on no
 * node. */
int cs_copy_add_node(const CUDA_MEMCPY3D *box, CUgraph graph, CUgraphNode *last_p);

/* Changes the box of a node that cs_copy_add_node made. */
int cs_copy_change_node(const CUDA_MEMCPY3D *box, CUgraphNode node);

#endif
