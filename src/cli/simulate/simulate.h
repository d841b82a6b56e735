/* `convshim simulate`: its options, its answers, and their presentation. One thread. */
#ifndef CS_CLI_SIMULATE_SIMULATE_H
#define CS_CLI_SIMULATE_SIMULATE_H

#include "cli/common/table.h"
#include "cli/simulate/simulation.h"
#include <stdio.h>

struct cJSON;

enum {
    CS_VARY_NAME = 32,
    CS_VARY_TEXT = 64, /* of a value */
    CS_VARY_VALUES = 64
};

/* "NAME=V1,V2,..." or "NAME=LO..HI". */
struct cs_vary {
    char name[CS_VARY_NAME];
    size_t values; /* 0: a range */
    char value[CS_VARY_VALUES][CS_VARY_TEXT];
    int64_t low, high;
};

/* Reads such a text. Returns NULL, or the reason why it is none. */
const char *cs_vary_parse(const char *text, struct cs_vary *vary_p);

struct cs_simulate_options {
    const char *device, *preset, *cudnn, *library, *keep, *html, *baseline;
    double tolerance;       /* of `baseline`, in percent */
    int64_t capacity, fits; /* 0: the profile's */
    int64_t context;        /* -1: the profile's */
    int cuda, jobs, gpus;
    bool smallest, checks; /* checks: --fits was given */
    bool varies;
    struct cs_vary vary;
    bool side[CS_SIDES]; /* which are chosen */
    enum cs_format format;
    struct cs_library_options given;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_simulate_options(int argc, char **argv, struct cs_simulate_options *options, int *operand_p);

/* A row of the table of figures as text. */
struct cs_figure_text {
    const char *title;
    char side[CS_SIDES][CS_CELL_TEXT_BYTES]; /* "-": not known */
    char change[CS_BYTES_TEXT];              /* "-37.0 %"; "": not compared */
};

/* A row of figures.def. */
struct cs_figure_kind {
    const char *name, *title; /* for programs; for people, NULL: they do not see it */
    enum cs_cell cell;
};
extern const struct cs_figure_kind cs_figures[CS_FIGURES];

/* The figures of a pair's runs; -1: not known. `spare`: of the runs with memory to spare, if the
 * pair has them. */
void cs_simulate_figures(const struct cs_simulated_pair *pair, bool spare,
                         int64_t value[CS_FIGURES][CS_SIDES]);

/* A figure of a pair for people. False if no chosen run has it. */
bool cs_simulate_figure(const struct cs_simulated_pair *pair, enum cs_figure figure,
                        struct cs_figure_text *text);

enum {
    CS_SIMULATE_JSON_VERSION = 1
};

/* The words of the command as an array. */
struct cJSON *cs_simulate_command_json(const struct cs_simulation *simulation);

/* Prints the end of the output of the first run that failed, which contains the error. Prints
 * nothing for runs that are short of memory, because that is a result. */
void cs_simulate_show_output(const struct cs_simulated_pair *pair);

/* The memory of a pair's GPU. */
int64_t cs_simulate_memory(const struct cs_simulated_pair *pair);

/* The pair as JSON, between cs_json_begin and cs_json_print. The caller owns it. */
struct cJSON *cs_simulate_json(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair);

/* Prints the pair as CSV: members of that JSON, a row for each. False: memory ran out. */
bool cs_simulate_print_csv(const struct cs_simulated_pair *pair);

/* Prints the pair as text, `checks`: and whether it fits. */
void cs_simulate_print(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                       bool checks);

/* Writes the page of a pair whose runs were recorded, which replaces the file's contents. False
 * after printing the reason. */
bool cs_simulate_html(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                      const char *path);

/* Returns advice for a program that needs more device memory with the library than without: a
 * setting that prevents this. NULL: the program does not need more, or no such setting is known.
 * Reads the environment. */
const char *cs_simulate_advice(const struct cs_simulated_program *program,
                               const struct cs_simulated_pair *pair);

/* Writes why the peak did not fall with the library. Returns false if it fell or there is nothing
 * to compare. */
bool cs_simulate_why(const struct cs_simulated_pair *pair, char *text, size_t size);

/* Does the run of that side fit into the memory of its GPU? */
enum cs_answer {
    CS_ANSWER_YES,
    CS_ANSWER_MAY_FAIL, /* it runs here, and needs more than 95 % of the memory */
    CS_ANSWER_NO,
    CS_ANSWER_NONE /* nothing was measured */
};

extern const char *const cs_answer_names[]; /* "yes", "may fail", "no", "no answer" */

/* The answer, and `text` (NULL: none): a sentence with the memory that is needed, there, and spare.
 */
enum cs_answer cs_simulate_fits(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                                size_t size);

/* One line: how the program ran on that side. */
void cs_simulate_verdict(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                         size_t size);

/* A table of the memory that a run held at its peak. */

/* Workspaces by convolution, everything else by the code that allocated it. The convolution is that
 * of the same call in `names`, the timeline of the run that wrote `summary`. Both NULL:
 * convolutions are unknown. The caller frees the table. False: memory is short, and nothing is
 * owned. */
bool cs_peak_table(const struct cs_timeline *timeline, const struct cs_timeline *names,
                   const struct cJSON *summary, struct cs_table *table_p);

/* The table of one side of a pair. The run with the library names the convolutions. */
bool cs_timelines_peak(const struct cs_timelines *timelines, const struct cs_simulated_pair *pair,
                       enum cs_side side, struct cs_table *table_p);

/* Shows the files that the programs of a simulation wrote. */

/* Prints a heading and a line for each file, if any. */
void cs_written_print(const struct cs_private_layers *layers, FILE *out);

/* {"private": whether they were written to layers, "names": [...]}; NULL: memory is short. */
struct cJSON *cs_written_json(const struct cs_private_layers *layers);

/* Tables of pairs: a row for each device, or for each value of --vary. */

enum {
    CS_ROW_TEXT = 64,
    CS_ROW_COLUMNS = 2 + (CS_FIGURES + 2) * CS_SIDES
};

struct cs_row {
    char name[CS_VARY_TEXT];
    double number;                       /* the value; NAN: it is no number */
    int64_t memory;                      /* of the GPU */
    int64_t value[CS_FIGURES][CS_SIDES]; /* -1: not known */
    int64_t smallest[CS_SIDES];          /* likewise */
    enum cs_answer answer[CS_SIDES];
    char why[CS_SIDES][CS_ROW_TEXT]; /* the answer in few words; "": not run */
};

struct cs_rows {
    const char *title; /* of the first column */
    bool devices;
    const struct cs_row *row;
    size_t count;
};

/* Makes the row of a pair. `spare`: with the figures of its runs with memory to spare. */
void cs_row_make(const struct cs_simulated_pair *pair, const char *name, bool spare,
                 struct cs_row *row);

/* Makes the table, which the caller frees. Only one can exist at a time, because its columns are
 * static. */
void cs_rows_table(const struct cs_rows *rows, struct cs_table *table);

/* The table as JSON, between cs_json_begin and cs_json_print. */
struct cJSON *cs_rows_json(const struct cs_simulation *simulation, const struct cs_rows *rows,
                           const struct cs_table *table);

/* Prints a table of pairs on several devices; false if memory ran out. */
bool cs_simulate_print_devices(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair, size_t pairs,
                               enum cs_format format);

/* Several values of an argument: the memory that the program needs with each, its growth, and the
 * largest value that fits. */

/* The command with "{NAME}" replaced in each word; cs_vary_free_command frees it. NULL: memory is
 * short. `*uses_p`: whether any word has it. */
char **cs_vary_command(char *const *command, const char *name, const char *value, bool *uses_p);
void cs_vary_free_command(char **command);

/* The line between the rows of the smallest and the largest number. `each`: bytes by which the peak
 * grows for each unit of the number, or of its square; NAN: not known. `distance`: bytes from the
 * line to the farthest row. The peak is the allocated one, else the device peak. */
struct cs_slope {
    double each, distance;
};
struct cs_slope cs_vary_slope(const struct cs_row *row, size_t rows, enum cs_side side,
                              bool square);

/* Runs the program with the values, and prints the rows. `pair` has the device and the options of
 * all runs. Returns the status of the command. */
int cs_simulate_vary(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                     const struct cs_simulated_pair *pair);

/* Compares a simulation with the JSON of an earlier one. */

struct cs_baseline {
    const char *path;
    double tolerance; /* in percent: a peak that grows more has grown */
    struct cJSON *earlier;
};

/* Reads the file before the program starts. False after printing the reason. */
bool cs_baseline_read(struct cs_baseline *baseline, const char *path, double tolerance);
void cs_baseline_free(struct cs_baseline *baseline);

/* A peak of the run on one side, or memory that one layer or line of the program holds at it. */
struct cs_growth {
    enum cs_side side;
    char what[32]; /* "allocated peak", "workspace", "tensors" */
    char of[256];  /* the layer and the line; "": of a peak */
    int64_t before, after;
    bool grown; /* of a peak: by more than the tolerance */
};

/* Compares `now`, the JSON of this simulation (cs_simulate_json), with the earlier one. Returns an
 * array that the caller frees: for each side its peaks, then the contents of the peak that changed,
 * the largest change first. NULL: memory is short. `*grown_p`: a peak has grown. */
struct cs_growth *cs_baseline_compare(const struct cs_baseline *baseline, const struct cJSON *now,
                                      size_t *growths_p, bool *grown_p);

/* Prints the comparison, or adds it to `now` as the member "baseline" (`out` NULL). Returns the
 * status: 0, 1 if a peak has grown, 3 if no side can be compared. */
int cs_baseline_report(const struct cs_baseline *baseline, struct cJSON *now, FILE *out);

#endif
