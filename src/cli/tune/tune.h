/* `convshim tune`: the convolutions of a run, the ways to run them, the frontier, the chosen point,
 * and the ini file. One thread. */
#ifndef CS_CLI_TUNE_TUNE_H
#define CS_CLI_TUNE_TUNE_H

#include "cli/layers/layers.h"
#include "decide/cost.h"
#include "decide/rule.h"
#include "simdev/simulate/simulation.h"
#include <stddef.h>

struct cJSON;
struct cs_engine_choice;

/* --- the convolutions of an untiled run, and the frontier --- */

enum {
    CS_SHAPE_TEXT = 128,
    CS_UNTILED = -1,   /* the value of `free` for skip = yes */
    CS_MOST_WAYS = 48, /* of a shape */
    CS_MOST_TUNED = 63 /* tiled shapes: one rule each, and one for all others */
};

/* Calls of one problem with one plan: a site of the summary. */
struct cs_called {
    const struct cs_layer *layer; /* the problem and its plan; NULL: it was never called */
    int64_t calls, required;
    int64_t held; /* most bytes held around a call, without its workspace */
    bool own;     /* its workspace is allocated for it, and not part of `held` */
    int stack;    /* of the code that allocated its workspace, or CS_TIMELINE_NONE */
    size_t shape;
    struct cs_times untiled;         /* predicted seconds of an untiled call */
    struct cs_engine_choice *chosen; /* its plan, while the ways are decided; NULL: it was not
                                        found, so the calls stay untiled */
};

/* One way to run all convolutions of a shape: the decisions under one value of the rule's `free`,
 * or untiled. The tensors that are alive at a call do not depend on workspaces, so the memory held
 * during the calls of a way is known. */
struct cs_way {
    int64_t free;          /* bytes, or CS_UNTILED */
    int64_t peak;          /* most bytes held during a call, its scratch included */
    int64_t scratch;       /* most bytes reported to a call */
    int64_t tiled;         /* calls */
    int64_t launches;      /* of all calls, in addition to one for each */
    struct cs_times times; /* predicted seconds of all calls */
};

/* The convolutions that one rule matches, and the ways to run them. */
struct cs_tuned_shape {
    struct cs_rule rule;      /* its conditions */
    char text[CS_SHAPE_TEXT]; /* the first of these convolutions, for people */
    char line[CS_SHAPE_TEXT]; /* of the program that called it, or its name; "": not known */
    int64_t calls;
    int64_t required, held; /* the most of any of them */
    struct cs_way way[CS_MOST_WAYS];
    int ways;   /* at least 1; the first is untiled */
    int chosen; /* index of the way that cs_frontier_choose chose */
};

/* A point of the frontier: the sums over all shapes. Also the same figures of a run. */
struct cs_frontier_point {
    int64_t target; /* bytes: no shape exceeds it; 0: a run */
    int64_t peak;   /* most bytes held in the whole run: allocated, if a framework reports it, else
                       of the device */
    int64_t tiled, launches;
    struct cs_times times; /* predicted seconds of the convolutions */
};

/* The lowest predicted time of a program for each peak. */
struct cs_frontier {
    struct cs_called *item;
    size_t items;
    struct cs_layers layers; /* of the items */
    struct cs_tuned_shape *shape;
    size_t shapes;
    int64_t level; /* most bytes held in the whole run without any workspace */
    int64_t peak;  /* most bytes held with workspaces, untiled */
    double price;  /* seconds that a lower peak is worth for each byte, by the default of option
                      price */
    struct cs_frontier_point *point; /* from the lowest peak to the shortest time */
    size_t points;
};

/* Fills the items without their layers and shapes, and sets `level` and `peak`. Blocks of the
 * timeline that belong to the program lose their mark as workspaces. False: memory is short. */
bool cs_called_list(struct cs_timeline *timeline, const struct cJSON *summary,
                    struct cs_frontier *frontier);

/* Makes the shapes of the items that have a layer. False: memory is short. */
bool cs_called_shapes(const struct cs_timeline *timeline, struct cs_frontier *frontier);

/* Fills the items and shapes from a run with `history` in which no convolution was tiled. False: a
 * line with the reason was printed. The caller calls cs_frontier_fini in every case. */
bool cs_called_read(const struct cs_sim_run *run, struct cs_frontier *frontier);

/* Returns the bytes held during a call to which `workspace` bytes are reported. */
int64_t cs_called_peak(const struct cs_called *called, int64_t workspace);

/* Chooses, for each shape, the way of the shortest time (at the upper end) whose peak is at most
 * `target`, or that of the lowest peak if there is none. If more than CS_MOST_TUNED shapes would be
 * tiled, those with the least effect stay untiled. Returns the resulting point. */
struct cs_frontier_point cs_frontier_choose(struct cs_frontier *frontier, int64_t target);

/* Returns the point at which no convolution is tiled. */
struct cs_frontier_point cs_frontier_untiled(const struct cs_frontier *frontier);

/* Computes all points, at least one. Each has a higher peak and a shorter time than the one before.
 * False if memory is short. */
bool cs_frontier_sweep(struct cs_frontier *frontier);
void cs_frontier_fini(struct cs_frontier *frontier);

/* --- the library's decisions under any value of a rule's `free`, with cuDNN's plans --- */

/* The options of the ini file in addition to its rules. The price is so high that a decision keeps
 * its scratch within `free` if any tiling can. */
#define CS_TUNED_OPTIONS "price = 100000\n"

/* Adds the ways of all shapes, and sweeps the frontier. `profile`: the device's JSON. `targets`:
 * peaks for which each shape gets a separate way, in addition to peaks from the level to the
 * untiled peak. `cublas`: the program has cuBLASLt. False: a line with the reason was printed. */
bool cs_decide_ways(struct cs_frontier *frontier, const char *profile, bool cublas,
                    const int64_t *targets, size_t count);

/* --- the runs, the chosen point, and the ini file --- */

struct cs_tune_options {
    const char *device, *cudnn, *library, *keep, *html;
    int64_t fits;  /* bytes; 0: not given */
    double within; /* percent of the untiled time; < 0: not given */
    int cuda, jobs;
};

/* The outcome of a simulated run. */
struct cs_tune_run {
    bool ran;
    bool fits; /* it ran, and no allocation failed */
    int64_t calls;
    struct cs_frontier_point figures;
};

struct cs_tune {
    const struct cs_tune_options *options;
    struct cs_simulation *simulation;
    const struct cs_device_file *device;
    struct cs_frontier frontier;
    bool allocated;                             /* peaks are a framework's */
    char planner[160];                          /* the cuDNN and the framework, for people */
    struct cs_tune_run untiled, defaults, file; /* with --fits, the last two with that memory */
    int point;                                  /* of the frontier; -1: none was chosen */
};

/* Why a file is written, or not. */
enum cs_tune_outcome {
    CS_TUNE_FILE,
    CS_TUNE_UNTILED,  /* it fits without any tiling */
    CS_TUNE_DEFAULTS, /* no point is better than the library's defaults */
    CS_TUNE_NO_POINT, /* no point meets the goal */
    CS_TUNE_MISSED,   /* the run with the file does not have the goal's figures */
    CS_TUNE_FAILED    /* a line with the reason was printed */
};

/* Returns the largest peak, in bytes, that --fits allows: a framework's if tune->allocated, else
 * the device's. */
int64_t cs_tune_target(const struct cs_tune *tune);

/* Returns the point that meets the goal of the options, or -1. */
int cs_tune_choose(const struct cs_tune *tune);

/* Returns CS_TUNE_FILE if the run with the written rules meets the goal of the options, else
 * CS_TUNE_MISSED. */
enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune);

/* Writes the options and rules for the chosen ways. `head`: with the figures of the runs. */
void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out);

/* Writes times as "15.8 ms to 17.1 ms", or one time if both ends are shown alike. Returns text. */
const char *cs_tune_times_text(char *text, size_t size, struct cs_times times);

/* Fills a table with the points of the frontier, the untiled run and the defaults. The caller frees
 * the table. */
struct cs_table;
void cs_tune_table(const struct cs_tune *tune, struct cs_table *table);

/* Prints the frontier and the outcome for people. */
void cs_tune_report(const struct cs_tune *tune, enum cs_tune_outcome outcome, FILE *out);

/* Writes the page of option --html. False: a line with the reason was printed. */
bool cs_tune_html(const struct cs_tune *tune, const char *path);

#endif
