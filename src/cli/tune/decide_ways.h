/* The library's decisions for the convolutions of a run, under any value of a rule's `free`. Plans
 * with cuDNN on the described device. One thread. */
#ifndef CS_CLI_TUNE_DECIDE_WAYS_H
#define CS_CLI_TUNE_DECIDE_WAYS_H

#include "cli/tune/called.h"
#include "cli/tune/frontier.h"

/* The options of the ini file in addition to its rules. The price is so high that a decision keeps
 * its scratch within `free` if any tiling can. */
#define CS_TUNED_OPTIONS "price = 100000\n"

/* Fills a frontier with the shapes of the list in their order, and sweeps it. `profile`: the
 * device's JSON. `targets`: peaks for which each shape gets a separate way, in addition to
 * `TARGETS` peaks from the level to the untiled peak. False: a line with the reason was printed. */
bool cs_decide_ways(const struct cs_called_list *list, const char *profile, bool cublas,
                    const int64_t *targets, size_t count, struct cs_frontier *frontier);

#endif
