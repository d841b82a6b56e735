/* A program without and with the library on one device, and the smallest devices on which it runs.
 * One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATED_PAIR_H
#define CS_CLI_SIMULATE_SIMULATED_PAIR_H

#include "cli/simulate/simulated_result.h"

enum cs_side {
    CS_WITHOUT,
    CS_WITH,
    CS_SIDES
};

extern const char *const cs_side_names[CS_SIDES]; /* "without", "with" */

struct cs_simulated_pair {
    const struct cs_device_file *device;
    int64_t capacity; /* 0: the device's */
    int64_t context;  /* of it, bytes that a process takes before it allocates */
    int gpus;         /* that the program sees; 0: one */
    bool history;     /* record the held memory over time */
    bool explains;    /* run once more to find out why nothing is gained */
    bool chosen[CS_SIDES];

    /* The following members are results. */
    struct cs_simulated_run run[CS_SIDES];
    struct cs_simulated_result result[CS_SIDES];
    /* A run with memory to spare, if the run above was short of it: the reference for its plans. */
    bool has_base[CS_SIDES];
    struct cs_simulated_run base_run[CS_SIDES];
    struct cs_simulated_result base[CS_SIDES];
    /* The run with the library, repeated with a history if it gains nothing and had no history: it
     * shows the reason. */
    bool has_recorded;
    struct cs_simulated_run recorded_run;
    struct cs_simulated_result recorded;
    /* The smallest capacities, of cs_simulated_pairs_smallest; 0: not looked for, or it runs with
     * none. */
    struct cs_smallest {
        int64_t runs; /* on which the program runs, with its context */
        int64_t
            engines; /* and every convolution runs on the engine that it has with memory to spare */
    } smallest[CS_SIDES];
};

/* Runs all of them as cs_simulation_run does and reads their results into result[i], whose old
 * contents are overwritten. False: a line with the reason was printed. */
bool cs_simulated_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs);

/* Runs all pairs, and again with memory to spare those that were short of it. False: a line has
 * said why. */
bool cs_simulated_pairs_run(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                            size_t pairs);

/* Finds the smallest capacities of pairs that were run, by bisection: to 1 %, or to 4 MiB where
 * that is more. */
bool cs_simulated_pairs_smallest(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                                 size_t pairs);

void cs_simulated_pair_free(struct cs_simulated_pair *pair);

/* Both sides ran convolutions with memory to spare; and the peak is lower with the library. */
bool cs_simulated_pair_compares(const struct cs_simulated_pair *pair);
bool cs_simulated_pair_gains(const struct cs_simulated_pair *pair);

/* The convolutions of a side that differ from those with memory to spare; zeros if it had that. */
struct cs_other_plans cs_simulated_pair_others(const struct cs_simulated_pair *pair,
                                               enum cs_side side);

/* The reference for a run's plans: `base`, or the run itself if it had memory to spare. */
const struct cs_simulated_result *cs_simulated_pair_base(const struct cs_simulated_pair *pair,
                                                         enum cs_side side);

#endif
