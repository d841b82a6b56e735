/* `convshim simulate`: its options, its answer, and the outputs that are made from the answer. One
 * thread. */
#ifndef SIMDEV_SIMULATE_SIMULATE_H
#define SIMDEV_SIMULATE_SIMULATE_H

#include "cli/common/table.h"
#include "cli/common/variables.h"
#include "simdev/simulate/timeline.h"
#include <stdio.h>

struct cJSON;
struct cs_text;

enum {
    CS_VARY_NAME = 32,
    CS_VARY_TEXT = 64, /* bytes of a value */
    CS_VARY_VALUES = 64,
    CS_VARY_TRIALS = 64 /* values of a range that are tried, at most */
};

/* The value of option --vary: "NAME=V1,V2,..." or "NAME=LO..HI:STEP". */
struct cs_vary {
    char name[CS_VARY_NAME];
    size_t values; /* 0: a range */
    char value[CS_VARY_VALUES][CS_VARY_TEXT];
    int64_t low, high, step; /* `high` is a whole number of steps above `low` */
};

/* Reads the value of --vary. Returns NULL, or the reason why it is not allowed. */
const char *cs_vary_parse(const char *text, struct cs_vary *vary_p);

struct cs_simulate_options {
    const char *device, *preset, *cudnn, *library, *keep, *html, *baseline;
    double tolerance;       /* of `baseline` and of ranges of `vary`, in percent */
    int64_t capacity, fits; /* 0: the profile's */
    int64_t context;        /* -1: the profile's */
    int cuda, jobs, gpus;
    bool smallest, checks; /* checks: --fits was given */
    bool varies;
    struct cs_vary vary;
    bool side[CS_SIDES]; /* the sides that are run */
    enum cs_format format;
    struct cs_child_variables given;
};

/* Reads the command line. -1: go on, argv[*operand_p] is the program; else the status to end with.
 */
int cs_simulate_options(int argc, char **argv, struct cs_simulate_options *options, int *operand_p);

/* --- the answer --- */

enum {
    CS_SIMULATE_JSON_VERSION = 1
};

/* The answer of a pair: a JSON object with the members that docs/simulate-json.md lists, except
 * those that need the whole simulation. `spare`: the figures are those of the runs with memory to
 * spare, if the pair has them. Call cs_json_begin first, and cs_json_complete when all answers are
 * made. The caller deletes the object. */
struct cJSON *cs_sim_answer(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                            bool spare);

/* Returns a figure of one side's run, such as "device_peak"; -1: not known. */
int64_t cs_sim_answer_number(const struct cJSON *answer, enum cs_side side, const char *member);

/* Returns the words of the command as a JSON array. */
struct cJSON *cs_sim_program_command(const struct cs_sim_program *program);

/* --- the sentences of an answer --- */

/* Appends to `text` how the program ran on that side. */
void cs_sim_answer_verdict(const struct cs_sim_program *program, const struct cs_sim_pair *pair,
                           enum cs_side side, struct cs_text *text);

/* Returns whether the run of a side fits. Appends the answer to `text`, with the memory that is
 * needed, present and spare, or with the verdict. */
enum cs_sim_fit cs_sim_answer_fits(const struct cs_sim_program *program,
                                   const struct cs_sim_pair *pair, enum cs_side side,
                                   struct cs_text *text);

/* Appends to `text` how the work of the program differs with the library, for example a larger
 * batch. Appends nothing if it does the same work. */
void cs_sim_answer_work(const struct cs_sim_pair *pair, struct cs_text *text);

/* Appends to `text` why the peak does not fall with the library. Appends nothing if it falls or
 * cannot be compared. `peak`: the contents of the peak with the library; NULL: not recorded. */
void cs_sim_answer_why(const struct cs_sim_pair *pair, const struct cJSON *peak,
                       struct cs_text *text);

/* Returns advice for a program that needs more memory with the library than without: a setting to
 * change. NULL: it does not need more, or no such setting is known. Reads the environment. */
const char *cs_sim_answer_advice(const struct cs_sim_program *program,
                                 const struct cs_sim_pair *pair);

/* Returns an array of sentences that qualify the figures. */
struct cJSON *cs_sim_answer_notes(const struct cs_sim_pair *pair);

/* --- outputs --- */

/* A row of figures.def. */
struct cs_figure_kind {
    const char *name, *title; /* for programs; for people, NULL: they do not see it */
    enum cs_cell cell;
};
extern const struct cs_figure_kind cs_figures[CS_FIGURES];

/* Prints an answer as text, with `checks` also whether it fits. */
void cs_sim_answer_print(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                         const struct cJSON *answer, bool checks);

/* Tables with a row for each answer. `title` is the heading of the first column, which shows the
 * answers' member "name". */
#define CS_ROWS_DEVICES "device"
/* Prints the table as text or CSV. False: memory is short. */
bool cs_sim_rows_print(const struct cJSON *answers, const char *title, enum cs_format format);
/* Adds the rows to an object, with the members that all outputs of rows have. */
void cs_sim_rows_add(struct cJSON *root, const struct cs_sim_program *program,
                     const struct cJSON *answers, const char *title);

/* The script that shows answers and rows in pages (cs_page_write). */
extern const char cs_sim_view[];

/* Writes the page of a pair, whose runs must have been recorded, to the file at `path`. The page
 * replaces the file's contents. False after printing the reason. */
bool cs_sim_page_write(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                       const struct cJSON *answer, const char *path);

/* --- several values of an argument --- */

/* Returns a copy of the command in which `value` replaces "{NAME}" in each word. NULL after a line:
 * memory is short. cs_vary_free_command frees the copy. */
char **cs_vary_command(char *const *command, const char *name, const char *value);
void cs_vary_free_command(char **command);

/* Describes the growth of a side's peak, the allocated one or else the device peak, by the member
 * "name" of answers: adds the members of docs/simulate-json.md to `object`, or nothing if fewer
 * than two names are numbers. */
void cs_vary_add_growth(const struct cJSON *answers, enum cs_side side, struct cJSON *object);

/* A value that was tried on one side. */
struct cs_vary_trial {
    int64_t value, needed; /* `needed`: bytes with enough memory; -1: not known */
    enum cs_sim_fit fit;
};

/* Tries a value: fills `needed` and `fit`. */
typedef void cs_vary_try_fn(void *ctx, struct cs_vary_trial *trial);

/* The largest values of a range, -1: not even the lowest. */
struct cs_vary_largest {
    int64_t fits;    /* clearly, or because the program adapts */
    int64_t runs;    /* or may fail; not below `fits` */
    int64_t failure; /* a value without an answer, which ended the search; -1: none */
};

/* Searches a range, to `tolerance` percent of the value or to one step. It assumes that larger
 * values need more memory. `memory`: of the GPU, in bytes. */
struct cs_vary_largest cs_vary_search(const struct cs_vary *vary, double tolerance, int64_t memory,
                                      cs_vary_try_fn *try, void *ctx);

/* Runs the program with the values, and prints the rows. `pair` has the device and the options of
 * all runs. Returns the status of the command. */
int cs_vary_run(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                const struct cs_sim_pair *pair);

/* --- comparison with an earlier answer --- */

/* Reads the earlier answer, which the caller deletes. NULL after printing the reason. */
struct cJSON *cs_baseline_read(const char *path);

/* Adds the member "baseline" to an answer: for each side the peaks, then the contents of the peak
 * that changed, the largest change first. Convolutions that have other engines than in the earlier
 * answer are added as causes. If they explain the growth, the contents are left out, because they
 * are those of other calls. A
 * peak has grown if it is larger by more than `tolerance` percent. Returns the status: 0, 1 if a
 * peak has grown, 3 if no side can be compared. */
int cs_baseline_compare(const struct cJSON *earlier, const char *path, double tolerance,
                        struct cJSON *answer);

/* Prints the member "baseline" of an answer. */
void cs_baseline_print(const struct cJSON *earlier, const struct cJSON *answer, FILE *out);

/* --- the files that the programs wrote --- */

/* Prints a heading and a line for each file, if any. */
void cs_private_layers_print(const struct cs_private_layers *layers, FILE *out);

/* Returns {"private": whether they were written to layers, "names": [...]}; NULL: memory is short.
 */
struct cJSON *cs_private_layers_json(const struct cs_private_layers *layers);

/* --- the whole --- */

/* Prints the answers of pairs that were run, and writes the page. `earlier`: the answer of the
 * option --baseline; NULL: it was not given. Returns the exit status. */
int cs_sim_answers_show(const struct cs_simulation *simulation,
                        const struct cs_simulate_options *options, const struct cs_sim_pair *pair,
                        size_t pairs, const struct cJSON *earlier);

/* Prints the end of the output of the first run that failed, which contains the error. Prints
 * nothing for runs that are short of memory, because that is an answer, too. */
void cs_sim_pair_show_output(const struct cs_sim_pair *pair);

#endif
