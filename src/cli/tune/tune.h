/* `convshim tune`: its options, the search, and the resulting ini file. One thread.
 */
#ifndef CS_CLI_TUNE_TUNE_H
#define CS_CLI_TUNE_TUNE_H

#include "cli/simulate/simulated_pair.h"
#include "cli/tune/exposure.h"

struct cs_tune_options {
    const char *device, *cudnn, *library, *keep;
    int64_t fits;  /* bytes; 0: the lowest peak is looked for */
    double within; /* percent by which a peak may be above the lowest */
    bool lowest;   /* at any cost of time */
    int cuda, jobs, runs;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_tune_options(int argc, char **argv, struct cs_tune_options *options, int *operand_p);

/* The result of a run. */
struct cs_tune_point {
    bool ran,
        fits;     /* it ended well; and, on the capacity that was asked for, without falling back */
    int64_t peak; /* allocated, if a framework reports it, else of the device */
    int64_t reserved, calls, tiled, extra_launches, predicted_ns, missing_bytes;
};

struct cs_tune {
    const struct cs_tune_options *options;
    struct cs_simulation *simulation;
    const struct cs_device_file *device;
    struct cs_exposures exposures;
    int runs; /* made */
    int64_t target;
    bool allocated;                   /* peaks are a framework's */
    char framework[64], planning[64]; /* as in cs_simulated_result */
    /* With memory to spare; and on the capacity that was asked for, if one was. */
    struct cs_tune_point untiled, defaults, tuned;
    struct cs_tune_point untiled_there, defaults_there;
};

/* The outcome of a search. A file is written only if there are rules. A file without effect, or one
 * that disables the library without a gain, is worse than none. */
enum cs_tune_outcome {
    CS_TUNE_RULES,
    CS_TUNE_UNTILED,  /* it fits without any tiling */
    CS_TUNE_DEFAULTS, /* the library's defaults are as good, or reach a peak that no rules reach */
    CS_TUNE_NO_GAIN,  /* no workspace makes the peak, or none that tiles for its price lower */
    CS_TUNE_MISSED    /* nothing makes it fit */
};
enum cs_tune_outcome cs_tune_outcome(const struct cs_tune *tune);

/* The search, see docs/tune.md: fills the exposures' limits and the points. False: it could not be
 * made, and a line has said why. */
bool cs_tune_search(struct cs_tune *tune);

/* The options of the ini file before its rules. If a peak has to be reached, time is not limited.
 * Otherwise no convolution may become much slower. */
const char *cs_tune_options_before(const struct cs_tune *tune);

/* Writes rules for all limits, with their gains in comments; `head`: also the comments before them.
 */
void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out);

/* Prints the outcome, as lines for people. */
void cs_tune_conclude(const struct cs_tune *tune, FILE *out);

#endif
