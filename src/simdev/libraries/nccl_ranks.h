/* Values that ranks on one host exchange through shared memory. All ranks of a communicator must
 * call these functions in the same order. Not thread-safe for one communicator. */
#ifndef NCCL_RANKS_H
#define NCCL_RANKS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NCCL_MOST_BYTES = 1 << 18, /* of one rank's values */
    NCCL_MOST_RANKS = 64
};

struct nccl_ranks;

/* The ranks that give the same name, of which this process is one. Waits for all of them. NULL if
 * there are too many, if memory is short, or if one of them has ended. */
struct nccl_ranks *nccl_ranks_join(const char *name, int ranks, int rank);
void nccl_ranks_leave(struct nccl_ranks *ranks);

/* Returns the name that all ranks gave. Valid until nccl_ranks_leave. */
const char *nccl_ranks_name(const struct nccl_ranks *ranks);

/* Gives the other ranks at most NCCL_MOST_BYTES and waits for theirs. False if a rank has ended. */
bool nccl_ranks_give(struct nccl_ranks *ranks, const void *values, size_t bytes);
/* The bytes that a rank gave. Valid until nccl_ranks_take_no_more, which each rank calls once for
 * each give.
 */
const void *nccl_ranks_given(const struct nccl_ranks *ranks, int rank);
void nccl_ranks_take_no_more(struct nccl_ranks *ranks);

#endif
