/* The outcome of a run, from the files that it left: the device's progress and report, the
 * library's summary, and the framework's report. */
#ifndef SIMDEV_SIMULATE_RUN_OUTCOME_H
#define SIMDEV_SIMULATE_RUN_OUTCOME_H

#include "simdev/progress.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct cJSON;
struct cs_sim_run;
struct cs_text;

/* Reads the progress file in the folder of a run. False: no process has looked for the device yet.
 */
bool cs_sim_progress_read(const char *folder, struct simdev_progress *progress);

/* The figures of a run. The first CS_PEAKS of them are peaks. */
enum cs_figure {
#define CS_FIGURE(name, title, column, tables, cell, value) CS_FIGURE_##name,
#include "simdev/simulate/figures.def"
#undef CS_FIGURE
    CS_FIGURES,
    CS_PEAKS = CS_FIGURE_needed + 1
};

struct cs_sim_process {
    pid_t pid;
    int64_t device_peak, launches;
    bool reported; /* it left a report: it was not killed, nor did it call _exit */
};

/* The outcome of a run. If several processes used the device, the figures are those of the process
 * that the run selects (`process` of cs_sim_run). Figures from the reports and the summary
 * are -1 if they are missing there. */
struct cs_sim_outcome {
    int status;     /* the program's exit status, or 128 + the signal that ended it */
    double seconds; /* duration of the run here; until its end, the clock's time at its start */

    /* From the device's progress. */
    bool used;     /* a process used the device; if not, all following members are empty */
    int processes; /* how many did */
    int idle;      /* how many found the device and did not use it */
    struct cs_sim_process process[SIMDEV_MOST_PROCESSES];
    int gpus;            /* that the program saw */
    int64_t missing_gpu; /* the highest number that a process selected beyond them; 0: none */
    int64_t gpu[SIMDEV_MAX_DEVICES]
               [CS_PEAKS];       /* peaks of all processes on each; -1: not reported */
    int64_t device_peak, needed; /* on the GPU that needs most; `needed` with the contexts */
    pid_t pid;
    int number;        /* of that process, as in cs_sim_run; 0: not known */
    char planning[32]; /* the planner of its sizes; "": nothing was planned */
    bool planned;      /* by a real cuDNN, or there was nothing to plan */
    int64_t largest_workspace;
    int64_t launches, tensor_bytes; /* of convolutions */
    int64_t kernels, library_calls; /* not executed */
    int64_t refused, missing_bytes; /* failed allocations of all processes; bytes that one lacked */

    /* From the device's report, the framework's report and the library's summary. */
    struct cJSON *report, *framework_peaks, *summary; /* the files; NULL: there is none */
    bool cut_short;                                   /* the process left no report */
    char linked_runtime[256];    /* a file whose own CUDA runtime was not redirected */
    char framework[64];          /* "PyTorch 2.15.0"; "": none reported any */
    int64_t allocated, reserved; /* peaks */
    int64_t retries, failed;     /* allocations of all processes that were tried again, failed */
    int64_t errors;   /* out-of-memory errors that reached the program; 0 if that is not known */
    int64_t held;     /* memory that the framework took and never used, at least; 0: not known */
    int64_t reported; /* the largest workspace that the program was given */
    int64_t calls, tiled, extra_launches;       /* of convolutions */
    int64_t untiled_ns, predicted_ns;           /* of all calls, lower ends of the predicted time */
    int64_t untiled_most_ns, predicted_most_ns; /* upper ends */
    struct cJSON *work;                         /* of cs_sim_work_read */
    bool exhausted;                             /* the framework's own limit ended the program */
    int64_t limit;                              /* of the framework, in bytes; 0: not known */

    /* The smallest capacities, with the context, that cs_sim_pairs_smallest found. On the
     * first the program runs. On the second it also has the engines that it has with memory to
     * spare. 0: not known. */
    int64_t smallest, smallest_same_engines;
};

/* Reads the files of a run that has ended into its outcome. False after a line: memory is short, or
 * a file is damaged. */
bool cs_sim_outcome_read(struct cs_sim_run *run);
void cs_sim_outcome_free(struct cs_sim_outcome *outcome);

/* Returns the version in a text of `planning`: "9.26.0" of "cudnn 9.26.0". NULL: no cuDNN planned.
 */
const char *cs_planning_version(const char *planning);

/* True if the program ended with status 0, or was stopped. */
bool cs_sim_outcome_ran(const struct cs_sim_outcome *outcome);
/* True if it used the device and was ended by SIGTERM or SIGINT, as servers are. */
bool cs_sim_outcome_stopped(const struct cs_sim_outcome *outcome);
/* True if it failed, and the device had refused an allocation or the framework's limit was reached.
 */
bool cs_sim_outcome_out_of_memory(const struct cs_sim_outcome *outcome);

/* True if it failed or did not use the device, for another reason than lack of memory. */
bool cs_sim_outcome_disturbed(const struct cs_sim_outcome *outcome);

/* True if its kernels, convolutions or memory were on the GPU. */
bool cs_sim_outcome_used_gpu(const struct cs_sim_outcome *outcome);
/* True if it ran and no allocation failed. An allocation that succeeds after the framework has
 * emptied its cache does not count as failed. */
bool cs_sim_outcome_fits(const struct cs_sim_outcome *outcome);
/* Returns the number of failed allocations: from the framework's report, else from the device's
 * refusals. */
int64_t cs_sim_outcome_failures(const struct cs_sim_outcome *outcome);

/* --- the work of a run: its distinct convolutions --- */

/* Returns the convolutions of a run with their calls, {"forward 32x64x512x512 64x64x3x3": 2}: those
 * of the program, not the tiles. NULL: some are not known, or memory is short. The caller deletes
 * the object. */
struct cJSON *cs_sim_work_read(const struct cs_sim_outcome *outcome);

/* The work of a run compared with that of another one. All zeros if one of them is not known. The
 * numbers of calls of the same convolution are compared only if out-of-memory errors reached one of
 * the programs: programs that measure times or serve clients may make other numbers of calls. */
struct cs_sim_work {
    int64_t more, less;         /* calls of convolutions that only this run, only the other has */
    int64_t calls, other_calls; /* of all convolutions of this run, of the other */
    int64_t batch, other_batch; /* that most of these calls have */
};
struct cs_sim_work cs_sim_work_compare(const struct cs_sim_outcome *outcome,
                                       const struct cs_sim_outcome *other);

/* Appends the difference, "batch 32 instead of 16, 11 instead of 19 calls of convolutions": first
 * the other run's. */
void cs_sim_work_put(const struct cs_sim_work *work, struct cs_text *text);

/* --- how a run fares with the memory of its GPU: docs/will-it-fit.md has the same words --- */

enum {
    CS_SIM_SURE_PERCENT = 95 /* of the memory; above this, fragmentation decides on a real GPU */
};

enum cs_sim_fit {
    CS_SIM_FIT_YES,
    CS_SIM_FIT_ADAPTS,   /* it runs: it handles failed allocations, or does other work after one */
    CS_SIM_FIT_MAY_FAIL, /* it runs, but an allocation failed or it needs over 95 % of the memory */
    CS_SIM_FIT_NO,       /* it does not run, because an allocation failed */
    CS_SIM_FIT_NONE      /* nothing was measured */
};

/* Returns the memory that a run needs, with the contexts: without memory that its framework took
 * and never used. */
int64_t cs_sim_outcome_need(const struct cs_sim_outcome *outcome);

/* Returns whether a run fits into `memory` bytes. `base`: the same program with memory to spare, or
 * the run itself if it had that. */
enum cs_sim_fit cs_sim_outcome_fit(const struct cs_sim_outcome *outcome,
                                   const struct cs_sim_outcome *base, int64_t memory);

/* Returns the number of convolutions that have another engine than in `base`. */
int64_t cs_sim_outcome_other_engines(const struct cs_sim_outcome *outcome,
                                     const struct cs_sim_outcome *base);

/* True if it ran, with the same convolutions on the same engines as `base`. */
bool cs_sim_outcome_same_engines(const struct cs_sim_outcome *outcome,
                                 const struct cs_sim_outcome *base);

/* Lists the names of one table of the report, such as "missing" or "reads_of_nothing_written.by",
 * with their counts. `text` gets the first ones as "name 3, other 1". Returns the number of names
 * in the table. */
int64_t cs_sim_outcome_names(const struct cs_sim_outcome *outcome, const char *kind, char *text,
                             size_t size);

/* Lists the reads of values that were never computed, which PyTorch's hook reports. `text` gets
 * them as "operation at file:line function count". Returns the number of reads. */
int64_t cs_sim_outcome_unknown(const struct cs_sim_outcome *outcome, char *text, size_t size);

/* Shows the end of Python's last traceback and the last lines behind it, or the last lines that the
 * program printed, also before it was forked. False: nothing was printed. */
bool cs_sim_outcome_output(const struct cs_sim_run *run, FILE *out);

#endif
