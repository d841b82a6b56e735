/* `convshim predict` as its parts see it. */
#ifndef CS_CLI_PREDICT_PREDICT_H
#define CS_CLI_PREDICT_PREDICT_H

#include "cli/common/table.h"
#include "cli/layers/device_files.h"
#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include "config/config.h"

/* The parsed options of the command. */
struct cs_predict_options {
    const char *shape;         /* one convolution */
    const char *csv, *summary; /* or a list */
    enum cs_dtype dtype;
    enum cs_direction direction;
    enum cs_order layout;
    bool dtype_given, direction_given;
    const char *device, *devices, *cudnn;
    enum cs_ask_mode mode;
    bool estimate;
    const char *file;             /* options and rules; NULL: none */
    const char *program, *script; /* for which rules are applied; NULL: only rules without one */
    struct cs_config config;      /* only options that affect decisions are used */
    struct cs_rules rules;        /* of it, for the program */
    enum cs_format format;
};

/* Reads the command line. Returns -1 to go on, or the status to end with after a message. */
int cs_predict_options(int argc, char **argv, struct cs_predict_options *options);

/* The inputs and the results of a prediction. */
struct cs_predict_results {
    const struct cs_predict_options *options;
    const struct cs_device_file *device;
    const struct cs_layers *layers;
    const struct cs_prediction *prediction; /* of each layer */
    char vendor[64];                        /* "cuDNN 9.19.0", or "rule of thumb" */
    bool no_cudnn;                          /* an estimate, because no cuDNN was found */
};

/* The memory that the layers of one model need, in bytes. */
struct cs_predict_sum {
    const char *model;
    int64_t layers, tiled, unanswered; /* unanswered: no engine has a plan */
    int64_t workspace, tiled_workspace, peak, tiled_peak, floor; /* the largest of each */
    double seconds, tiled_seconds; /* predicted, of all calls; 0: not known */
    double most, tiled_most;       /* the same at the upper end of the range */
};

/* The layers of a list by model, in the order in which models appear. The caller frees the array;
 * NULL if memory ran out. */
struct cs_predict_sum *cs_predict_sums(const struct cs_predict_results *results, size_t *count_p);

/* Prints everything on standard output in the format of the options. False if memory ran out. */
bool cs_predict_print(const struct cs_predict_results *results);

/* A line of advice if a layer exceeds the memory of the GPU, has a tensor of 2^31 elements without
 * option huge, or is predicted to take over 1.5 times as long with the limit; else "". */
enum {
    CS_PREDICT_ADVICE = 320
};
void cs_predict_advice(const struct cs_predict_results *results, char text[CS_PREDICT_ADVICE]);

/* "a", "b", "fallback" */
extern const char *const cs_predict_modes[CS_ASK_MODES];

/* One convolution for people. False if memory ran out. */
bool cs_predict_print_one(const struct cs_predict_results *results);

/* "1x512x64x64 -> 512, window 3x3, stride 1, pad 1, f16 nchw, fwd"; returns text. */
enum {
    CS_PREDICT_TITLE = 200
};
char *cs_predict_title(const struct cs_problem *problem, char text[CS_PREDICT_TITLE]);

#endif
