/* `convshim verify` as its parts see it. One thread. */
#ifndef CS_CLI_VERIFY_VERIFY_H
#define CS_CLI_VERIFY_VERIFY_H

#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include "cli/program/child.h"
#include <limits.h>
#include <stdio.h>

struct cJSON;
struct cs_trial;
struct cs_trial_gpu;

/* The first characters of the file of --out. */
#define CS_VERIFY_BEGINS "{\n\t\"version\":"

enum {
    CS_VERIFY_NO_GPU = 2 /* the exit status */
};

struct cs_verify_options {
    const char *summary, *csv, *type, *order, *out, *cudnn, *file; /* file: of the library */
    struct cs_layer_rules rules;                                   /* of `type` and `order` */
    enum cs_dtype dtype;
    bool once, profile;
    int seconds, iterations, repeats;
    int64_t memory; /* bytes; 0: not given */
    char library[PATH_MAX];
    struct cs_child_variables given;
};

/* Reads the command line; the caller frees `given`. -1: go on; else the status to end with. */
int cs_verify_options(int argc, char **argv, struct cs_verify_options *options);

/* Appends the convolution of a text (cs_shape_text). `dtype` replaces the type in the text, unless
 * it is NULL. False after printing the reason. */
bool cs_verify_add(const char *name, const char *text, const enum cs_dtype *dtype,
                   struct cs_layers *layers);

/* --- the process that runs the convolutions --- */

/* Opens the GPU and cuDNN: that of --cudnn, else of LD_LIBRARY_PATH, else of python3's packages,
 * which PyTorch loads, else that of the loader. Returns CS_CLI_OK, or CS_VERIFY_NO_GPU or CS_CLI_NO
 * after printing the reason. On success the caller closes the trial. */
int cs_verify_open(const struct cs_verify_options *options, struct cs_trial **trial_p,
                   struct cs_trial_gpu *gpu);

/* `convshim verify --once`. Returns the exit status. */
int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers);

/* --- the process that starts the others and compares their results --- */

/* The GPU and the cuDNN that are used. Texts are owned by `json`, which is part of the file of
 * --out: it has no path and no name of this machine. */
struct cs_verify_gpu {
    struct cJSON *json;
    const char *name, *cudnn,
        *other,          /* the version of another cuDNN that the loader finds; NULL: none */
        *profile;        /* NULL if cuDNN does not describe the GPU */
    char file[PATH_MAX]; /* of cuDNN */
    bool simulated;
};

/* Describes the GPU in a separate process, which ends before the measurements. Returns a status as
 * cs_verify_open does. */
int cs_verify_describe(const struct cs_verify_options *options, struct cs_verify_gpu *gpu);

/* The runs of a convolution, in this order. A difference between the first and the last is not an
 * effect of the library. */
enum cs_verify_side {
    CS_VERIFY_UNTILED,
    CS_VERIFY_TILED,
    CS_VERIFY_AGAIN, /* untiled */
    CS_VERIFY_SIDES
};

enum cs_verified_as {
    CS_VERDICT_EQUAL,
    CS_VERDICT_ROUNDED, /* other bits, within the rounding of sums in another order */
    CS_VERDICT_DIFFERS,
    CS_VERDICT_VARIES,  /* the untiled results differ: nothing can be compared */
    CS_VERDICT_FAILED,  /* only with the library */
    CS_VERDICT_NOT_RUN, /* too little memory or time, or the untiled run was not ok */
    CS_VERDICTS
};
extern const char *const cs_verdict_names[CS_VERDICTS];

/* Of the numbers of two results. */
struct cs_difference {
    bool known;
    int64_t elements, differing;
    double largest, value; /* the largest difference, and the largest number */
};

/* A convolution and its measurements. */
struct cs_verified {
    const struct cs_layer *layer;
    struct cs_prediction prediction;         /* zeros: none */
    struct cJSON *measured[CS_VERIFY_SIDES]; /* the line of --once; owned; NULL: not run */
    enum cs_verified_as verdict;
    struct cs_difference difference; /* where the checksums differ */
    bool tiled;
};

/* Two constants of the cost model (config/ladder.h), from one convolution in few and in many tiles,
 * and repeats of another one on two lanes. */
struct cs_verify_ladder {
    bool known;
    double kernel_us;           /* microseconds that each kernel adds */
    double lane_gain;           /* the share of it that two lanes hide, 0 to 1 */
    int64_t repeats, differing; /* results, and those of other bits than the first */
};

struct cs_verification {
    const struct cs_verify_options *options;
    struct cs_verify_gpu gpu;
    struct cs_verified *row; /* in the order of their memory */
    size_t rows;
    size_t left_out; /* of a long list: those not tiled, or with less workspace than the others */
    double seconds;  /* that all took */
    struct cs_verify_ladder ladder;
};

/* Predicts all layers, and makes the rows of those to run. The caller frees the rows. False if
 * memory is short. */
bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers);

/* One process of verify --once. */
struct cs_verify_job {
    const struct cs_verification *verification;
    enum cs_verify_side side;
    const struct cs_layer *const *layer;
    size_t count;
    const char *config; /* CONVSHIM_CONFIG of the process; NULL: that of this one */
    int repeats;        /* 0: one */
    FILE *results;      /* gets the bytes of all results, and the calls are not timed; NULL: none */
    struct cJSON **measured; /* gets the line of each layer, by its index; the caller owns them */
};

/* Seconds of the monotonic clock. */
double cs_verify_seconds(void);

/* Runs the process, and kills it at the time `end` (cs_verify_seconds). *in_time_p: it ended by
 * itself. False after printing why it could not be started. */
bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p);

/* Runs the rows untiled, tiled and untiled again within `seconds`, and sets their verdicts. False
 * after printing the reason. */
bool cs_verify_measure(struct cs_verification *verification, double seconds);

/* The verdict of a row by the statuses and checksums of its lines. `cut_short`: the run with the
 * library was ended for lack of time. */
enum cs_verified_as cs_verify_judge(const struct cs_verified *row, bool cut_short);

/* Measures the ladder until `end` at most. Unless the GPU is simulated, stores it in the user's
 * cache for the library. */
void cs_verify_ladder(struct cs_verification *verification, double end);

/* Median microseconds of a call; for CS_VERIFY_UNTILED the mean of both untiled runs. 0: not
 * measured. */
double cs_verify_time(const struct cs_verified *row, enum cs_verify_side side);

/* Time with convshim, in times of the untiled one; 0: not measured. */
double cs_verify_ratio(const struct cs_verified *row);

/* Prints the table and the last line, and writes --out. Returns the exit status. */
int cs_verify_conclude(const struct cs_verification *verification);

/* Writes --out with the last line. False after printing the reason. */
bool cs_verify_write(const struct cs_verification *verification, const char *answer);

#endif
