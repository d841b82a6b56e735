/* `convshim tune`: its options, its runs, the chosen point, and the resulting ini file. One thread.
 */
#ifndef CS_CLI_TUNE_TUNE_H
#define CS_CLI_TUNE_TUNE_H

#include "cli/simulate/simulated_pair.h"
#include "cli/tune/decide_ways.h"

struct cs_tune_options {
    const char *device, *cudnn, *library, *keep, *html;
    int64_t fits;  /* bytes; 0: not given */
    double within; /* percent of the untiled time; < 0: not given */
    int cuda, jobs;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_tune_options(int argc, char **argv, struct cs_tune_options *options, int *operand_p);

/* The figures of a simulated run. */
struct cs_tune_run {
    bool ran;
    bool fits;    /* and no allocation failed */
    int64_t peak; /* allocated, if a framework reports it, else of the device */
    int64_t calls, tiled, launches;
    int64_t missing_bytes; /* of the memory, if it did not run */
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
    int runs;                                   /* made */
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

/* Bytes by which the device's memory must exceed the allocated peak. */
int64_t cs_tune_overhead(const struct cs_tune *tune);

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
