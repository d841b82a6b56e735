/* The convolutions that make a program's peak: for each kind, the required workspace and the other
 * memory held around its calls. Two kinds differ if a rule of the ini file can distinguish them.
 * One thread.
 */
#ifndef CS_CLI_TUNE_EXPOSURE_H
#define CS_CLI_TUNE_EXPOSURE_H

#include "cli/simulate/timeline.h"

struct cJSON;

struct cs_exposure {
    char keys[256]; /* the lines of a rule that match it */
    char text[128]; /* the convolution, for people */
    char line[128]; /* of the program that called it, or its name; "": not known */
    int64_t calls;
    int64_t required; /* the most workspace of a call */
    int64_t around;   /* the most that is held during a call, but for workspaces */

    /* The decision: the limit of its rule. 0: no rule, it is not tiled. */
    int64_t limit;
    int64_t too_small; /* a limit known to leave calls untiled */
    bool cannot;       /* be tiled with any limit */

    /* Of the last run with that limit. */
    int64_t untiled;        /* calls that were not tiled */
    int64_t reported;       /* the most workspace of a call */
    int64_t extra_launches; /* -1: not known */
    int64_t extra_ns;       /* predicted time that tiles add */
    /* The increase of the peak without its rule; -1: not measured. */
    int64_t bought;
};

struct cs_exposures {
    struct cs_exposure *item;
    size_t count;
    int64_t level; /* the most that is held but for workspaces */
    int64_t peak;  /* and with them */
};

/* Reads the exposures from an untiled run. False: the run has no usable record, or memory is short;
 * the reason was printed. */
bool cs_exposures_of_run(const struct cs_simulated_run *run,
                         const struct cs_simulated_result *result, struct cs_exposures *to);

void cs_exposures_fini(struct cs_exposures *exposures);

/* The fields of the last run, from one with limits. */
void cs_exposures_measure(struct cs_exposures *exposures, const struct cs_simulated_result *result);

/* Sets every limit so that no call and the memory around it hold more than `target` together. Sizes
 * that are known to be too small are skipped. */
void cs_exposures_limit(struct cs_exposures *exposures, int64_t target);

/* The least target that the known too small limits allow, at least `target`. */
int64_t cs_exposures_reach(const struct cs_exposures *exposures, int64_t target);

/* How many have a rule. */
size_t cs_exposures_rules(const struct cs_exposures *exposures);

#endif
