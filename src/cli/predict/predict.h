/* The interfaces between the parts of `convshim predict`. */
#ifndef CS_CLI_PREDICT_PREDICT_H
#define CS_CLI_PREDICT_PREDICT_H

#include "cli/common/data_files.h"
#include "cli/common/table.h"
#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include "config/config.h"

/* The parsed options of the command. */
struct cs_predict_options {
    const char *shape;          /* one convolution */
    const char *list, *summary; /* or a list */
    enum cs_dtype dtype;
    enum cs_direction direction;
    struct cs_layer_rules layers; /* points at `dtype` and `direction` if they were given */
    const char *device, *devices, *cudnn;
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
    char vendor[64];                        /* "cuDNN 9.19.0" */
};

/* Prints everything on standard output in the format of the options: as text, one convolution has
 * its own form; other formats and lists have a row for each. False if memory ran out. */
bool cs_predict_print(const struct cs_predict_results *results);

#endif
