/* `convshim verify` as its parts see it. */
#ifndef CS_CLI_VERIFY_VERIFY_H
#define CS_CLI_VERIFY_VERIFY_H

#include "cli/common/library_options.h"
#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include <limits.h>
#include <stdio.h>

struct cJSON;

/* The first characters of the file of --out. */
#define CS_VERIFY_BEGINS "{\n\t\"version\":"

enum {
    CS_VERIFY_NO_GPU = 2 /* the exit status */
};

struct cs_verify_options {
    const char *summary, *csv, *layers, *out, *cudnn, *dump;
    char **command; /* NULL-ended, or NULL: none */
    enum cs_dtype dtype;
    enum cs_order layout;
    bool dtype_given, once, benchmark, legacy;
    int seconds, iterations, warmup, samples;
    int64_t memory; /* bytes; 0: not given */
    char library[PATH_MAX];
    struct cs_library_options given;
};

/* Reads the command line; the caller frees `given`. -1: go on; else the status to end with. */
int cs_verify_options(int argc, char **argv, struct cs_verify_options *options);

/* Reads the list that the options name, or the default one. False: a line has said why. */
bool cs_verify_list(const struct cs_verify_options *options, struct cs_layers *layers);

/* Runs the command with the library and a JSON summary, and reads its convolutions. False: a line
 * has said why. */
bool cs_verify_program(const struct cs_verify_options *options, struct cs_layers *layers);

/* `convshim verify --once`; the status. */
int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers);

/* The GPU and the cuDNN that are used. Texts are owned by `json`. */
struct cs_verify_gpu {
    struct cJSON *json;
    const char *name, *cudnn,
        *profile; /* the profile is NULL where cuDNN does not describe the GPU */
    int64_t memory, free;
};

/* Describes the GPU in a separate process, which ends before the measurements. The status:
 * CS_CLI_OK; CS_VERIFY_NO_GPU or CS_CLI_NO after a line. */
int cs_verify_describe(const struct cs_verify_options *options, struct cs_verify_gpu *gpu);

enum cs_verify_side {
    CS_VERIFY_UNTILED,
    CS_VERIFY_TILED,
    CS_VERIFY_SIDES
};

enum cs_verdict {
    CS_VERDICT_EQUAL,
    CS_VERDICT_ROUNDED, /* other bits, numbers that sums of another order may have */
    CS_VERDICT_DIFFERS,
    CS_VERDICT_VARIES,  /* from call to call, also untiled: nothing can be compared */
    CS_VERDICT_FAILED,  /* with the library alone */
    CS_VERDICT_NOT_RUN, /* untiled, too */
    CS_VERDICTS
};

/* Of the numbers of two results. */
struct cs_difference {
    bool known;
    int64_t elements, differing;
    double largest, value; /* the largest difference, and the largest number */
};

/* A convolution and its measurements. */
struct cs_verified {
    const struct cs_layer *layer;
    struct cs_prediction prediction; /* zeros: none */
    struct cJSON
        *measured[CS_VERIFY_SIDES]; /* the line of --once; owned; NULL: it did not come to it */
    enum cs_verdict verdict;
    struct cs_difference difference; /* where the checksums differ */
    bool tiled;
};

struct cs_verification {
    const struct cs_verify_options *options;
    struct cs_verify_gpu gpu;
    struct cs_verified *row; /* in the order in which they run */
    size_t rows,
        left_out;   /* convolutions that require less workspace than the others, of long lists */
    double seconds; /* that all took */
};

/* Predicts all layers and chooses those to run. False if memory is out. */
bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers);

/* Seconds of the monotonic clock. */
double cs_verify_seconds(void);

/* One process of verify --once. */
struct cs_verify_job {
    const struct cs_verify_options *options;
    enum cs_verify_side side;
    const struct cs_layer *const *layer;
    size_t count;
    int64_t memory; /* bytes for one convolution */
    FILE *dump;     /* takes the bytes of all results, which then are not timed; NULL: none */
    struct cJSON **measured; /* gets the line of each layer, by its index; the caller owns them */
};

/* Runs it until `end` (cs_verify_seconds) at most; *in_time_p: it ended by itself. False: a line
 * has said why there is no process. */
bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p);

/* Runs them without and with the library within the time, and judges. False: a line has said why.
 */
bool cs_verify_measure(struct cs_verification *verification, double seconds);

/* A number of a line of --once; 0 if there is none. */
double cs_verify_number(const struct cJSON *measured, const char *name);
const char *cs_verify_text(const struct cJSON *measured, const char *name);

/* Prints the table and the last line, writes --out; the status. */
int cs_verify_conclude(const struct cs_verification *verification);

/* Makes the library's options those of the environment. False if memory is out. */
bool cs_verify_environment(const struct cs_verify_options *options);

#endif
