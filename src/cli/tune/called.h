/* The convolutions of an untiled run: for each the memory that is held around its calls. One
 * thread. */
#ifndef CS_CLI_TUNE_CALLED_H
#define CS_CLI_TUNE_CALLED_H

#include "cli/layers/layers.h"
#include "cli/simulate/timeline.h"

enum {
    CS_CALLED_TEXT = 128
};

/* Calls of one problem with one plan. */
struct cs_called {
    const struct cs_layer *layer; /* the problem and its plan; NULL: not known */
    int64_t calls, required;
    int64_t held;       /* most bytes held around a call, without its workspace */
    int64_t untiled_ns; /* predicted time of a call, as the run's summary has it */
    bool own;           /* its workspace is allocated for it, so `held` is without it */
    size_t shape;
};

/* Convolutions that a rule cannot distinguish. */
struct cs_called_shape {
    char keys[256];            /* the conditions of the rule that matches them */
    char text[CS_CALLED_TEXT]; /* the first of them, for people */
    char line[CS_CALLED_TEXT]; /* of the program that called it, or its name; "": not known */
    int64_t calls;
    int64_t required, held; /* the most of any of them */
};

struct cs_called_list {
    struct cs_called *item;
    struct cs_called_shape *shape;
    size_t items, shapes;
    int64_t grain; /* a workspace occupies a multiple of this many bytes */
    int64_t level; /* most bytes held in the run without workspaces */
    int64_t peak;  /* and with them */
    struct cs_layers layers;
};

/* Fills a list except for its layers. Blocks of the timeline that belong to the program lose their
 * mark as workspaces. False: memory is short. */
struct cJSON;
bool cs_called_list(struct cs_timeline *timeline, const struct cJSON *summary,
                    struct cs_called_list *list);

/* Reads a run with `history` in which no convolution was tiled. False: a line with the reason was
 * printed. */
bool cs_called_read(const struct cs_simulated_run *run, const struct cs_simulated_result *result,
                    struct cs_called_list *list);
void cs_called_fini(struct cs_called_list *list);

/* Bytes held during a call to which `workspace` bytes are reported. */
int64_t cs_called_peak(const struct cs_called_list *list, const struct cs_called *called,
                       int64_t workspace);

#endif
