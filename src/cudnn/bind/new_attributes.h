/* Attributes of backend descriptors that are newer than the oldest supported headers
 * (scripts/bootstrap: min_cudnn), by their numbers in cudnn_graph.h, which never change. A cuDNN
 * without such an attribute refuses it, so it is never set there. */
#ifndef CS_CUDNN_BIND_NEW_ATTRIBUTES_H
#define CS_CUDNN_BIND_NEW_ATTRIBUTES_H

#include <cudnn_backend.h>

/* CUDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED (since 9.21), CUDNN_TYPE_BOOLEAN: a variant
 * pack may contain other shapes. */
#define CS_ATTR_GRAPH_OVERRIDE_SHAPE ((cudnnBackendAttributeName_t)805)

/* CUDNN_ATTR_OPERATIONGRAPH_MODE (9.23), CUDNN_TYPE_OPERATIONGRAPH_MODE: the pattern of the graph,
 * with which cuDNN needs no search for it. The operations contain the same information. */
#define CS_ATTR_GRAPH_MODE ((cudnnBackendAttributeName_t)806)

/* CUDNN_ATTR_ENGINE_DISABLE_CLUSTER_COOPERATIVE (9.17), CUDNN_TYPE_BOOLEAN. */
#define CS_ATTR_ENGINE_NO_CLUSTERS ((cudnnBackendAttributeName_t)1308)

/* CUDNN_ATTR_ENGINE_SHARED_MEMORY_LIMIT (9.28), CUDNN_TYPE_INT32: bytes of shared memory that a
 * kernel may use. 0: the device's limit. */
#define CS_ATTR_ENGINE_SHARED_MEMORY ((cudnnBackendAttributeName_t)1309)

#endif
