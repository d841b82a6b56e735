/* A program without and with the library on one device. */
#ifndef SIMDEV_SIMULATE_PAIR_H
#define SIMDEV_SIMULATE_PAIR_H

#include "simdev/simulate/runs.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_side {
    CS_WITHOUT,
    CS_WITH,
    CS_SIDES
};

extern const char *const cs_side_names[CS_SIDES]; /* "without", "with" */

struct cs_sim_pair {
    const struct cs_device_file *device;
    int64_t memory;  /* of the GPU, with the context */
    int64_t context; /* of it, bytes that a process takes before it allocates */
    int gpus;        /* that the program sees; 0: one */
    bool history;    /* record the held memory over time */
    bool chosen[CS_SIDES];

    /* The following members are results. */
    struct cs_sim_run run[CS_SIDES];
    /* The same runs, repeated with memory to spare, of those that were short of it. They are the
     * reference for their plans. */
    struct cs_sim_run base[CS_SIDES];
    struct cs_sim_run recorded; /* of cs_sim_pair_record */
};

enum {
    CS_MOST_DEVICES = 32 /* pairs at once */
};

/* Makes the runs of all pairs. A run that fails next to the other one of its pair is made again,
 * alone, because of fixed ports. Repeats those that were short of memory with memory to spare.
 * False after printing the reason. */
bool cs_sim_pairs_run(struct cs_simulation *simulation, struct cs_sim_pair *pair, size_t pairs);

/* After a signal: reads the runs that have ended, and drops the others. False if none used the
 * device. */
bool cs_sim_pairs_take_ended(struct cs_sim_pair *pair, size_t pairs);

/* Finds out why a pair gains nothing: repeats its run with the library, with `history` set. Does
 * nothing if the pair gains or has a history. False after printing the reason. */
bool cs_sim_pair_record(struct cs_simulation *simulation, struct cs_sim_pair *pair);

/* Finds the smallest capacities of pairs that were run, by bisection: to 1 %, or to 4 MiB if
 * that is more. */
bool cs_sim_pairs_smallest(struct cs_simulation *simulation, struct cs_sim_pair *pair,
                           size_t pairs);

void cs_sim_pair_free(struct cs_sim_pair *pair);

/* Returns the side whose run is the answer of the pair: that with the library, if it was chosen. */
static inline enum cs_side cs_sim_pair_judged(const struct cs_sim_pair *pair)
{
    return pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
}

/* True if both sides ran with memory to spare and did the same work, the run with the library had
 * convolutions, and its peak is less than 1 % lower. */
bool cs_sim_pair_gains_nothing(const struct cs_sim_pair *pair);

/* Compares the work of the run without the library with that of the run with it. All zeros if one
 * of them failed or was not made. */
struct cs_sim_work cs_sim_pair_work(const struct cs_sim_pair *pair);

/* Returns the reference for a run's plans: `base`, or the run itself if it had memory to spare. */
const struct cs_sim_outcome *cs_sim_pair_base(const struct cs_sim_pair *pair, enum cs_side side);

#endif
