/* `convshim tune`: the convolutions of a run, the ways to run them, the frontier, the chosen point,
 * and the ini file. One thread. */
#ifndef CS_CLI_TUNE_TUNE_H
#define CS_CLI_TUNE_TUNE_H

#include "cli/layers/layers.h"
#include "cli/simulate/simulation.h"
#include "decide/cost.h"
#include <stddef.h>

struct cJSON;

/* A convolution of a JSON summary as lines of a rule that match it (docs/options.md). Pure. */

/* "direction = fwd\ndtype = f16\n...". Keys that `site` (an element of `sites`) lacks are left out.
 */
void cs_rule_keys(const struct cJSON *site, char *text, size_t size);

/* The convolutions of an untiled run: for each the memory that is held around its calls. One
 * thread. */

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
bool cs_called_list(struct cs_timeline *timeline, const struct cJSON *summary,
                    struct cs_called_list *list);

/* Reads a run with `history` in which no convolution was tiled. False: a line with the reason was
 * printed. */
bool cs_called_read(const struct cs_simulated_run *run, struct cs_called_list *list);
void cs_called_fini(struct cs_called_list *list);

/* Bytes held during a call to which `workspace` bytes are reported. */
int64_t cs_called_peak(const struct cs_called_list *list, const struct cs_called *called,
                       int64_t workspace);

/* The lowest predicted time of a program for each peak. Pure arithmetic.
 *
 * A *shape* is the set of all convolutions that one rule matches. A *way* is one way to run them
 * all: the decisions under one value of the rule's `free`, or untiled. Tensors that are alive at a
 * call do not depend on workspaces, so the memory held during the calls of a way is known. For a
 * target peak each shape takes its fastest way that does not exceed it. */

enum {
    CS_UNTILED = -1,   /* the value of `free` for skip = yes */
    CS_MOST_WAYS = 48, /* of a shape */
    CS_MOST_TUNED = 63 /* tiled shapes: one rule each, and one for all others */
};

struct cs_way {
    int64_t free;          /* bytes, or CS_UNTILED */
    int64_t peak;          /* most bytes held during a call, its scratch included */
    int64_t scratch;       /* most bytes reported to a call */
    int64_t tiled;         /* calls */
    int64_t launches;      /* of all calls, in addition to one for each */
    struct cs_times times; /* predicted seconds of all calls */
};

struct cs_shape_ways {
    struct cs_way way[CS_MOST_WAYS];
    int ways;   /* at least 1; the first is untiled */
    int chosen; /* of cs_frontier_choose */
};

/* A point of the frontier: the sums over all shapes. */
struct cs_frontier_point {
    int64_t target; /* bytes: no shape exceeds it */
    int64_t peak;   /* most bytes held in the whole run */
    int64_t tiled, launches;
    struct cs_times times;
};

struct cs_frontier {
    struct cs_shape_ways *shape;
    size_t shapes;
    int64_t level; /* most bytes held in the whole run without any workspace */
    double price;  /* seconds that a lower peak is worth for each byte, by the default of option
                      price */
    struct cs_frontier_point *point; /* from the lowest peak to the shortest time; owned */
    size_t points;
};

/* Adds a way. One that is in the shape already, or does not fit, is left out. */
void cs_frontier_add(struct cs_shape_ways *shape, const struct cs_way *way);

/* Chooses, for each shape, the way of the shortest time (at the upper end) whose peak is at most
 * `target`, or that of the lowest peak if there is none. If more than CS_MOST_TUNED shapes would be
 * tiled, those with the least effect stay untiled. Returns the resulting point. */
struct cs_frontier_point cs_frontier_choose(struct cs_frontier *frontier, int64_t target);

/* The point at which no convolution is tiled. */
struct cs_frontier_point cs_frontier_untiled(const struct cs_frontier *frontier);

/* Computes all points. Each has a higher peak and a shorter time than the one before. False if
 * memory is short. */
bool cs_frontier_sweep(struct cs_frontier *frontier);
void cs_frontier_fini(struct cs_frontier *frontier);

/* The conditions for a point. */
struct cs_frontier_goal {
    int64_t peak;          /* most bytes; INT64_MAX: any */
    struct cs_times times; /* most seconds of both ends; infinite: any */
    double price;          /* seconds for each byte of the peak */
};

/* The index of the point with the lowest time plus price of those that meet the goal, -1 if there
 * is none. */
int cs_frontier_find(const struct cs_frontier *frontier, const struct cs_frontier_goal *goal);

/* The library's decisions for the convolutions of a run, under any value of a rule's `free`. Plans
 * with cuDNN on the described device. */

/* The options of the ini file in addition to its rules. The price is so high that a decision keeps
 * its scratch within `free` if any tiling can. */
#define CS_TUNED_OPTIONS "price = 100000\n"

/* Fills a frontier with the shapes of the list in their order, and sweeps it. `profile`: the
 * device's JSON. `targets`: peaks for which each shape gets a separate way, in addition to
 * `TARGETS` peaks from the level to the untiled peak. `cublas`: the program has cuBLASLt. False: a
 * line with the reason was printed. */
bool cs_decide_ways(const struct cs_called_list *list, const char *profile, bool cublas,
                    const int64_t *targets, size_t count, struct cs_frontier *frontier);

/* `convshim tune`: its options, its runs, the chosen point, and the resulting ini file. */

struct cs_tune_options {
    const char *device, *cudnn, *library, *keep, *html;
    int64_t fits;  /* bytes; 0: not given */
    double within; /* percent of the untiled time; < 0: not given */
    int cuda, jobs;
};

/* The figures of a simulated run. */
struct cs_tune_run {
    bool ran;
    bool fits;    /* it ran, and no allocation failed */
    int64_t peak; /* allocated, if a framework reports it, else of the device */
    int64_t calls, tiled, launches;
    int64_t missing_bytes; /* by which memory was too small, if it did not run */
    struct cs_times times; /* predicted seconds of the convolutions */
};

struct cs_tune {
    const struct cs_tune_options *options;
    struct cs_simulation *simulation;
    const struct cs_device_file *device;
    struct cs_called_list called;
    struct cs_frontier frontier;
    bool allocated;                             /* peaks are a framework's */
    char framework[64], planning[64];           /* as in cs_simulated_result */
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

/* Makes the runs, computes the frontier and chooses a point (docs/tune.md). */
enum cs_tune_outcome cs_tune_find(struct cs_tune *tune);

/* The point that meets the goal of the options, or -1. */
int cs_tune_choose(const struct cs_tune *tune);

/* Compares the run with the rules of the chosen point with the goal: CS_TUNE_FILE or
 * CS_TUNE_MISSED. */
enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune);

/* Writes the options and rules for the chosen ways. `head`: with comments. */
void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out);

/* "15.8 ms to 17.1 ms", or one time if both ends are shown alike. Returns text. */
const char *cs_tune_times_text(char *text, size_t size, struct cs_times times);

/* The points of the frontier, the untiled run and the defaults. The caller frees the table. */
struct cs_table;
void cs_tune_table(const struct cs_tune *tune, struct cs_table *table);

/* Prints the frontier and the outcome for people. */
void cs_tune_report(const struct cs_tune *tune, enum cs_tune_outcome outcome, FILE *out);

/* Writes the page of option --html. False: a line with the reason was printed. */
bool cs_tune_html(const struct cs_tune *tune, const char *path);

#endif
