/* The interfaces between the parts of `convshim verify`. One thread. */
#ifndef CS_CLI_VERIFY_VERIFY_H
#define CS_CLI_VERIFY_VERIFY_H

#include "cli/common/variables.h"
#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include <limits.h>
#include <stdio.h>

struct cJSON;

/* The first characters of the file of --out. */
#define CS_VERIFY_BEGINS "{\n\t\"version\":"

struct cs_verify_options {
    const char *summary, *list, *type, *order, *out, *cudnn, *file; /* file: of the library */
    struct cs_layer_rules rules;                                    /* of `type` and `order` */
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

/* --- the processes that use the GPU ---
 *
 * They open cuDNN: that of --cudnn, else of LD_LIBRARY_PATH, else of python3's packages, which
 * PyTorch loads, else that of the loader. Both functions return the exit status. */

/* Prints a line of JSON that describes the GPU and cuDNN. */
int cs_verify_print_gpu(const struct cs_verify_options *options);

/* `convshim verify --once`: prints a line of JSON for each layer. */
int cs_verify_once(const struct cs_verify_options *options, const struct cs_layers *layers);

/* --- the process that starts the others and compares their results --- */

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

/* The runs of a convolution, in this order, as members of its JSON. A difference between the first
 * and the last is not an effect of the library. */
enum cs_verify_side {
    CS_VERIFY_UNTILED,
    CS_VERIFY_TILED,
    CS_VERIFY_AGAIN, /* untiled */
    CS_VERIFY_SIDES
};
extern const char *const cs_verify_side_names[CS_VERIFY_SIDES];

/* A convolution, with the lines of its runs and the verdict. */
struct cs_verified {
    const struct cs_layer *layer;
    enum cs_verified_as verdict;
    struct cJSON *json; /* its part of the file of --out, with the lines of --once */
};

struct cs_verification {
    const struct cs_verify_options *options;
    const char *gpu, *cudnn, *profile; /* names, and cuDNN's description of the GPU; NULL: none */
    bool simulated;
    char file[PATH_MAX];         /* of cuDNN */
    struct cs_verified *row;     /* one for each different convolution; owned */
    struct cs_verified **chosen; /* room for all rows, for the jobs; owned */
    size_t rows;
    struct cJSON *json; /* the content of the file of --out, without a path and a name of this
                           machine; owns all texts and the rows' parts */
};

/* One process of verify --once. */
struct cs_verify_job {
    const struct cs_verification *verification;
    enum cs_verify_side side;
    struct cs_verified *const *row; /* to run; get their lines, unless they have them */
    size_t count;
    int tiles, lanes; /* of every convolution; 0: by the options of this process */
    int repeats;      /* 0: one */
    FILE *results;    /* gets the bytes of all results, and the calls are not timed; NULL: none */
};

/* Returns the line of a run; NULL: it was not run. */
const struct cJSON *cs_verified_line(const struct cs_verified *row, enum cs_verify_side side);

/* Returns the median microseconds of a call; for CS_VERIFY_UNTILED the mean of both untiled runs.
 * 0: not measured. */
double cs_verified_time(const struct cs_verified *row, enum cs_verify_side side);

/* Begins the JSON, and describes the GPU in a separate process, which ends before the measurements.
 * Returns CS_CLI_OK, or CS_CLI_NONE after a line. */
int cs_verify_describe(struct cs_verification *verification);

/* Runs the process, which is killed at the time `end` (cs_clock_seconds). *in_time_p: it ended by
 * itself. False after printing why it could not be started. */
bool cs_verify_run(const struct cs_verify_job *job, double end, bool *in_time_p);

/* Makes a row with a prediction for each different layer. False if memory is short. */
bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers);

/* Runs the rows untiled, tiled and untiled again within `seconds`, and sets their verdicts. False
 * after printing the reason. */
bool cs_verify_measure(struct cs_verification *verification, double seconds);

/* Returns the verdict of a row by the statuses and checksums of its lines. `cut_short`: the run
 * with the library was ended for lack of time. */
enum cs_verified_as cs_verify_judge(const struct cs_verified *row, bool cut_short);

/* Measures two constants of the cost model (struct cs_ladder) with one convolution in few and in
 * many tiles. Repeats another one on two lanes, and counts the results that differ. Adds both to
 * the JSON and, unless the GPU is simulated, the constants to the profile. Ends at `end` at the
 * latest. */
void cs_verify_ladder(struct cs_verification *verification, double end);

/* Prints the table, the ladder and the last line, and writes --out. Returns the exit status. */
int cs_verify_conclude(struct cs_verification *verification);

#endif
