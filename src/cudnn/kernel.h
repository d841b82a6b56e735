/* Execution plans of our own: the client's engine on another problem, and the lifeboat. Implements
 * struct cs_vendor over the backend API. */
#ifndef CS_CUDNN_KERNEL_H
#define CS_CUDNN_KERNEL_H

#include "convshim/vendor.h"
#include "cudnn/graph.h"

/* For whom plans are built. Owns what cs_maker_read took from the client's plan or configuration.
 */
struct cs_maker {
    struct cs_problem problem;       /* the whole */
    int64_t uid[CS_OPERANDS];        /* names in the client's variant packs */
    cudnnHandle_t handle;            /* or, if NULL, */
    cudnnBackendDescriptor_t device; /* the device properties planned for; owned */
    struct cs_engine engine;         /* the client's */
    int32_t sm_count;                /* settings of the engine beside its knobs; 0: none */
    bool no_clusters;
};

/* Begins with a described graph; plans are for its handle or, without one, for the device of
 * whatever is read next. */
void cs_maker_init(struct cs_maker *maker, const struct cs_graph *graph);
void cs_maker_fini(struct cs_maker *maker);

/* Reads the engine and its settings from an engine configuration, a finalized plan's or one of
 * heuristics. False if cuDNN does not tell them all. */
bool cs_maker_read(struct cs_maker *maker, cudnnBackendDescriptor_t configuration);

/* The same from a finalized execution plan. */
bool cs_maker_read_plan(struct cs_maker *maker, cudnnBackendDescriptor_t plan);

/* A number that separates the devices that plans are made for. */
int64_t cs_maker_scope(const struct cs_maker *maker);

/* The vendor's side of planning; `maker` must outlive its use. */
struct cs_vendor cs_maker_vendor(struct cs_maker *maker);

/* Picks the maker's engine itself, by heuristics for its problem: the first whose numerical notes
 * have none of the `forbidden` (a bit per cudnnBackendNumericalNote_t) and whose plan is built. For
 * the legacy API, which names none. */
bool cs_maker_pick(struct cs_maker *maker, unsigned forbidden);

/* A kernel is a finalized plan descriptor of the real library. */
static inline cudnnBackendDescriptor_t cs_kernel_plan(void *kernel)
{
    return kernel;
}

#endif
