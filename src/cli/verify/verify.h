/* `convshim verify` as its parts see it. One thread. */
#ifndef CS_CLI_VERIFY_VERIFY_H
#define CS_CLI_VERIFY_VERIFY_H

#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include "cli/program/child.h"
#include <limits.h>
#include <stdio.h>

struct cJSON;

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

/* Appends the convolution of a text (cs_shape_text). `dtype` replaces the type in the text, unless
 * it is NULL. False after printing the reason. */
bool cs_verify_add(const char *name, const char *text, const enum cs_dtype *dtype,
                   struct cs_layers *layers);

/* Seconds of the monotonic clock. */
double cs_verify_seconds(void);

/* --- the processes that use the GPU ---
 *
 * They open cuDNN: that of --cudnn, else of LD_LIBRARY_PATH, else of python3's packages, which
 * PyTorch loads, else that of the loader. Both functions return the exit status. */

/* Prints a line of JSON that describes the GPU and cuDNN. */
int cs_verify_print_gpu(const struct cs_verify_options *options);

/* `convshim verify --once`: prints a line of JSON for each layer. */
int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers);

/* --- the process that starts the others and compares their results --- */

/* The GPU and the cuDNN that are used. Texts are owned by `json`, which is part of the file of
 * --out: it has no path and no name of this machine. */
struct cs_verify_gpu {
    struct cJSON *json;
    const char *name, *cudnn, *profile; /* profile: NULL if cuDNN does not describe the GPU */
    char file[PATH_MAX];                /* of cuDNN */
    bool simulated;
};

/* Describes the GPU in a separate process, which ends before the measurements. Returns CS_CLI_OK,
 * or after a line CS_VERIFY_NO_GPU or CS_CLI_NO. */
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

/* A convolution and its measurements. */
struct cs_verified {
    const struct cs_layer *layer;
    struct cs_prediction prediction;         /* zeros: none */
    struct cJSON *measured[CS_VERIFY_SIDES]; /* the line of --once; owned; NULL: not run */
    enum cs_verified_as verdict;
    struct cJSON *difference; /* of the numbers, if the checksums differ; owned; NULL: not known */
    bool tiled;
};

/* Two constants of the cost model (config/ladder.h), from one convolution in few and in many tiles,
 * and repeats of another one on two lanes. */
struct cs_verify_ladder {
    struct cs_ladder measured;
    int64_t repeats, differing; /* results, and those of other bits than the first */
};

struct cs_verification {
    const struct cs_verify_options *options;
    struct cs_verify_gpu gpu;
    struct cs_verified *row;     /* in the order of their memory; owned */
    struct cs_verified **chosen; /* room for all rows, for the jobs; owned */
    size_t rows;
    double seconds; /* that all took */
    struct cs_verify_ladder ladder;
};

/* One process of verify --once. */
struct cs_verify_job {
    const struct cs_verification *verification;
    enum cs_verify_side side;
    struct cs_verified *const *row; /* gets the lines in measured[side], unless they are there */
    size_t count;
    const char *config; /* CONVSHIM_CONFIG of the process; NULL: that of this one */
    int repeats;        /* 0: one */
    FILE *results;      /* gets the bytes of all results, and the calls are not timed; NULL: none */
};

/* Runs the process, which is killed at the time `end` (cs_verify_seconds). *in_time_p: it ended by
 * itself. False after printing why it could not be started. */
bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p);

/* Makes a row with a prediction for each different layer. False if memory is short. */
bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers);

/* Runs the rows untiled, tiled and untiled again within `seconds`, and sets their verdicts. False
 * after printing the reason. */
bool cs_verify_measure(struct cs_verification *verification, double seconds);

/* The verdict of a row by the statuses and checksums of its lines. `cut_short`: the run with the
 * library was ended for lack of time. */
enum cs_verified_as cs_verify_judge(const struct cs_verified *row, bool cut_short);

/* Frees the lines and the difference. */
void cs_verified_fini(struct cs_verified *row);

/* Measures the ladder until `end` at most. Unless the GPU is simulated, stores it in the user's
 * cache for the library. */
void cs_verify_ladder(struct cs_verification *verification, double end);

/* Prints the table, the ladder and the last line, and writes --out. Returns the exit status. */
int cs_verify_conclude(const struct cs_verification *verification);

#endif
