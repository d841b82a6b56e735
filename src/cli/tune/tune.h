/* `convshim tune`: what was asked for, the search, and the ini file that comes of it. One thread.
 */
#ifndef CS_CLI_TUNE_TUNE_H
#define CS_CLI_TUNE_TUNE_H

#include "cli/simulate/simulated_pair.h"
#include "cli/tune/exposure.h"

struct cs_tune_options {
    const char *device, *cudnn, *library, *keep, *summary;
    int64_t fits;  /* bytes; 0: the lowest peak is looked for */
    double within; /* percent by which a peak may be above the lowest */
    bool lowest;   /* whatever it costs */
    int cuda, jobs, runs;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_tune_options(int argc, char **argv, struct cs_tune_options *options, int *operand_p);

/* What a run came to. */
struct cs_tune_point {
    bool ran,
        fits;     /* it ended well; and, on the capacity that was asked for, without falling back */
    int64_t peak; /* allocated, where a framework tells, else of the device */
    int64_t reserved, calls, tiled, extra_launches, nanoseconds, missing_bytes;
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

/* What comes of a search. Only with rules is there a file: one that does nothing, or that switches
 * the library off for nothing, is worse than none. */
enum cs_tune_outcome {
    CS_TUNE_RULES,
    CS_TUNE_UNTILED,  /* it fits without any tiling */
    CS_TUNE_DEFAULTS, /* the library's defaults are as good, or reach what no rules do */
    CS_TUNE_NO_GAIN,  /* no workspace makes the peak, or none that tiles for its price lower */
    CS_TUNE_MISSED    /* nothing makes it fit */
};
enum cs_tune_outcome cs_tune_outcome(const struct cs_tune *tune);

/* The search, see docs/tune.md: fills the exposures' limits and the points. False: it could not be
 * made, and a line has said why. */
bool cs_tune_search(struct cs_tune *tune);

/* The same from a summary alone; nothing is run. */
bool cs_tune_from_summary(struct cs_tune *tune);

/* The options of the ini file before its rules. A peak that has to be reached may cost what it
 * costs; else no convolution is to become much slower. */
const char *cs_tune_options_before(const struct cs_tune *tune);

/* Writes rules for all limits, with what they buy in comments; `head`: and the comments before
 * them. */
void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out);

/* Lines for people of what came of it. */
void cs_tune_conclude(const struct cs_tune *tune, FILE *out);

#endif
