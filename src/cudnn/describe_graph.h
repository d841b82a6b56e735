/* From backend attributes to a problem. Reads what clients set, by the header's documented forms;
 * anything it does not know becomes a reason, never a guess. */
#ifndef CS_CUDNN_DESCRIBE_GRAPH_H
#define CS_CUDNN_DESCRIBE_GRAPH_H

#include "cudnn/shadow.h"

/* Notes a successful cudnnBackendSetAttribute. */
void cs_describe_set(struct cs_shadow *shadow, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, int64_t count, const void *elements);

/* Notes a successful cudnnBackendGetAttribute that filled descriptors of the client. */
void cs_describe_got(struct cs_shadow *shadow, cudnnBackendAttributeName_t name, int64_t count,
                     const void *elements);

/* The facts of an operation graph that was just finalized, with one reference; NULL out of host
 * memory. */
struct cs_graph *cs_describe_graph(const struct cs_shadow *shadow);

/* The addresses that a variant pack gives to a problem's operands; false if it does not give them
 * all. */
bool cs_describe_pack(const struct cs_shadow *pack, const struct cs_graph *graph,
                      struct cs_addresses *addresses);

/* Fills in the groups and checks a problem whose tensors and window are set. */
enum cs_reason cs_describe_finish(struct cs_problem *problem);

/* cuDNN's types as ours; false for a type we do not plan. */
bool cs_describe_dtype(cudnnDataType_t type, enum cs_dtype *dtype_p);

#endif
