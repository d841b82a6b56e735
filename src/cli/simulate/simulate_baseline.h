/* Compares a simulation with the JSON of an earlier one. One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATE_BASELINE_H
#define CS_CLI_SIMULATE_SIMULATE_BASELINE_H

#include "cli/simulate/simulate.h"

struct cs_baseline {
    const char *path;
    double tolerance; /* in percent: a peak that grows more has grown */
    struct cJSON *earlier;
};

/* Reads the file before the program starts. False: a line has said why. */
bool cs_baseline_read(struct cs_baseline *baseline, const char *path, double tolerance);
void cs_baseline_free(struct cs_baseline *baseline);

/* A peak of the run on one side, or memory that one layer or line of the program holds at it. */
struct cs_growth {
    enum cs_side side;
    char what[32]; /* "allocated peak", "workspace", "tensors" */
    char of[256];  /* the layer and the line; "": of a peak */
    int64_t before, after;
    bool grown; /* of a peak: by more than the tolerance */
};

/* Compares `now`, the JSON of this simulation (cs_simulate_json), in order: for each side, its
 * peaks, and the contents of the peak that changed, largest first. The caller frees them. NULL:
 * memory is short. `*grown_p`: a peak has grown. */
struct cs_growth *cs_baseline_compare(const struct cs_baseline *baseline, const struct cJSON *now,
                                      size_t *growths_p, bool *grown_p);

/* Shows the comparison as text, or as a member "baseline" of `now`. Returns the status: 0, 1 if a
 * peak has grown, 3 if no side can be compared. */
int cs_baseline_print(const struct cs_baseline *baseline, const struct cJSON *now, FILE *out);
int cs_baseline_add(const struct cs_baseline *baseline, struct cJSON *now);

#endif
