/* Simulated runs of a program: its place, its processes, their results, and pairs of runs without
 * and with the library. One thread. */
#ifndef SIMDEV_SIMULATE_SIMULATION_H
#define SIMDEV_SIMULATE_SIMULATION_H

#include "cli/common/device_files.h"
#include "cli/common/variables.h"
#include "cli/program/child.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

struct cJSON;
struct cs_text;

/* Temporary folders of a simulation, which SIGINT, SIGTERM and SIGHUP also remove. */

/* Returns the place of temporary folders: TMPDIR, else /tmp, or /var/tmp if /tmp is in memory. */
const char *cs_temporary_place(void);

/* Makes the folder `place`/convshim-`kind`-XXXXXX, and stores its path in `folder`. False with
 * errno, and an empty path. */
bool cs_temporary_folder_make(char folder[PATH_MAX], const char *place, const char *kind);

/* Removes a folder, and makes the path empty. An empty path is no folder. */
void cs_temporary_folder_remove(char folder[PATH_MAX]);

/* From here on the first SIGINT, SIGTERM or SIGHUP only sets a flag. A second one ends the process.
 */
void cs_interrupts_begin(void);
/* Returns that signal; 0: there was none. */
int cs_interrupted(void);
/* Ends the process by the signal if there was one, after writing what it has printed. */
void cs_interrupts_end(void);

/* Private layers over the folders that a simulated program writes to. Results are never computed,
 * so the files that a program saves hold zeros: they must not replace the user's. */

enum {
    CS_LAYERS = 64
};

struct cs_private_layers {
    char folder[CS_LAYERS][PATH_MAX]; /* the folders with a layer, sorted */
    size_t folders;
    bool whole;            /* `folder` has all kinds that cs_private_layers_begin lists */
    char here[PATH_MAX];   /* the working folder */
    char area[PATH_MAX];   /* the folder of the layers; "": the system does not allow layers */
    char shared[PATH_MAX]; /* the simulation's folder, which has no layer at any place */
    int error;             /* errno value: why layers are missing; 0: all exist */
    struct timespec begun;
};

/* Finds the folders, and tries out a layer over each:
 * - the working folder, and folders of paths in the command's arguments,
 * - all others that the user can write, except /tmp, caches and the system's,
 * - file systems that are mounted below these folders.
 * If that fails, tries again without the folders of the second line. `error` is set if some or all
 * of the folders have no layer, so that the program really writes to them. */
void cs_private_layers_begin(struct cs_private_layers *layers, char *const *command,
                             const char *shared);

/* Removes the layers, after copying them to the folder `keep`. NULL: copies nothing. */
void cs_private_layers_end(struct cs_private_layers *layers, const char *keep);

/* Moves this process behind private layers with that name, if they are possible. The process must
 * have one thread, and end or execute a program soon. Returns 0 or the errno value of the failure.
 */
int cs_private_layers_enter(const struct cs_private_layers *layers, const char *name);

/* A fork server: a process of the program that waits at its first use of the simulated device. Runs
 * are forked from it, so that the steps before that point (mainly Python's imports) are executed
 * once. The device's side is src/simdev/cudart/cudart_fork.c. A program that cannot be forked in
 * its state sends nothing, and continues as a single run. */

struct cs_fork_server {
    pid_t pid;  /* 0: there is no server; -1: its process was not started */
    bool ready; /* it waits for requests; else it has not yet used the device */
    int connection;
    char folder[PATH_MAX]; /* of its output; set by the caller */
};

/* A message of a server. */
struct cs_fork_news {
    enum {
        CS_FORK_QUIET, /* there is none */
        CS_FORK_READY,
        CS_FORK_STARTED,
        CS_FORK_RUN_ENDED
    } what;
    pid_t pid;  /* of the run that started or ended */
    int status; /* of the run that ended, as of cs_child_status */
};

/* Opens the connection to a new server. Returns the program's end, which the program inherits
 * (SIMDEV_FORK). The caller starts the process, stores its pid and closes this end. -1 with errno.
 */
int cs_fork_server_open(struct cs_fork_server *server);

/* Returns the server's next message without waiting. */
struct cs_fork_news cs_fork_server_look(struct cs_fork_server *server);

/* Requests a run with its output in this file. Returns false if the server has ended, or memory is
 * short. */
bool cs_fork_server_ask(const struct cs_fork_server *server, const char *output,
                        const struct cs_child_variables *variables);

/* Closes the connection and returns the id of the process, which is not ended. If nothing was
 * forked from it, it continues as a single run of the program. */
pid_t cs_fork_server_leave(struct cs_fork_server *server);

/* Ends the process, if there is one, and closes the connection. */
void cs_fork_server_close(struct cs_fork_server *server);

/* The program that is to be simulated: the cuDNN that it would load, the CUDA that it was built
 * for, and NVIDIA's other libraries that it would load. To find them, files are read. Only the
 * program's Python is run, to list its packages. */

enum {
    CS_MOST_LIBRARIES = 32
};

struct cs_sim_program {
    char **command;             /* NULL-ended, the caller's */
    char folder[PATH_MAX];      /* of the cuDNN; "": none was found */
    char cudnn[32];             /* "cuDNN 9.26.0"; "" */
    char foreign[3 * PATH_MAX]; /* names a part of another cuDNN that the loader takes; "": none */
    char framework[96];         /* "PyTorch 2.15.0", which has the cuDNN; "": not known */
    int cuda;                   /* 12 or 13 */
    size_t libraries;           /* files of NVIDIA's libraries that need a GPU to start */
    char library[CS_MOST_LIBRARIES][PATH_MAX];
};

/* `cudnn` and `cuda` are the user's values, which override the detected ones; NULL and 0: not
 * given. False if there is no such program or memory is short; the reason was printed. */
bool cs_sim_program_find(struct cs_sim_program *program, char **command, const char *cudnn,
                         int cuda);

/* A simulation: the state that all runs of a program share. */
struct cs_simulation {
    const char *title; /* at the begin of its messages: "simulate" */
    struct cs_sim_program program;
    struct cs_child_variables options; /* of the library, from the command line */
    char library[PATH_MAX];            /* libconvshim.so */
    char preset[PATH_MAX];             /* "": none */
    char device[PATH_MAX];             /* the folder of the simulated device's libraries */
    char work[PATH_MAX];               /* this simulation's folder; "": there is none */
    bool keep;                         /* `work` is the user's */
    struct cs_private_layers layers;   /* over the folders that programs write to */
    int jobs;                          /* runs at once, at most */
    int runs;                          /* made so far */
    bool redirects; /* calls of CUDA runtimes inside of programs go to the simulated one */
    bool forks;     /* runs are forked from one process if the program allows it */
    bool shared;    /* runs of both sides are forked from one process with the library */
    struct cs_fork_server server;
};

/* Finds the simulated device and the library, and makes the simulation's folder with the stand-ins
 * and Python's hook in it. `keep` names the folder; NULL: a temporary one. False after printing the
 * reason. */
bool cs_simulation_begin(struct cs_simulation *simulation, const char *library, const char *keep);
/* Ends fork servers and removes the folders. Ends this process if a signal has interrupted it. */
void cs_simulation_end(struct cs_simulation *simulation);

/* The progress of a simulated run, which the device keeps in a mapped file. The file also outlives
 * a process that is killed. */

enum {
    CS_MOST_PROCESSES = 64,
    CS_MOST_GPUS = 16
};

/* The counters of one process, in the layout of src/simdev/cudart/cudart_record.h. The next two
 * structs are also in its layout. */
struct cs_process_progress {
    unsigned long long pid; /* 0: unused */
    unsigned long long convolutions, kernels, library_calls, live_bytes, peak_bytes;
    unsigned long long largest_workspace, tensor_bytes;
    unsigned long long refused, last_refused_bytes, last_refused_live;
    char planning[32];
    unsigned long long live_on[CS_MOST_GPUS], context_on[CS_MOST_GPUS];
};

struct cs_gpu_progress {
    unsigned long long live_bytes, peak_bytes, context_bytes, needed_bytes;
};

struct cs_sim_progress {
    char magic[8];
    unsigned long long convolutions, kernels, live_bytes, peak_bytes; /* of all processes */
    unsigned long long unlisted, missing_gpu;
    struct cs_gpu_progress gpu[CS_MOST_GPUS];
    struct cs_process_progress process[CS_MOST_PROCESSES];
};

/* Reads the progress file in the folder of a run. False: no process has looked for the device yet.
 */
bool cs_sim_progress_read(const char *folder, struct cs_sim_progress *progress);

/* The result of a run, from the files that it left: the device's progress and report, the library's
 * summary, and the framework's report. */

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

/* The result of a run. If several processes used the device, the figures are those of the process
 * that the run selects (`process` of cs_sim_run). Figures from the reports and the summary
 * are -1 if they are missing there. */
struct cs_sim_outcome {
    int status;     /* the program's exit status, or 128 + the signal that ended it */
    double seconds; /* duration of the run here; until its end, the clock's time at its start */

    /* From the device's progress. */
    bool used;     /* a process used the device; if not, all following members are empty */
    int processes; /* how many did */
    int idle;      /* how many found the device and did not use it */
    struct cs_sim_process process[CS_MOST_PROCESSES];
    int gpus;            /* that the program saw */
    int64_t missing_gpu; /* the highest number that a process selected beyond them; 0: none */
    int64_t gpu[CS_MOST_GPUS][CS_PEAKS]; /* peaks of all processes on each; -1: not reported */
    int64_t device_peak, needed; /* on the GPU that needs most; `needed` with the contexts */
    pid_t pid;
    int number;        /* of that process, as in cs_sim_run; 0: not known */
    char planning[32]; /* the planner of its sizes; "": nothing was planned */
    bool planned;      /* by a real cuDNN, or there was nothing to plan */
    int64_t largest_workspace;
    int64_t launches, tensor_bytes; /* of convolutions */
    int64_t kernels, library_calls; /* not executed */
    int64_t refused, missing_bytes; /* failed allocations; bytes that the last lacked */

    /* From the device's report, the framework's report and the library's summary. */
    struct cJSON *report, *framework_peaks, *summary; /* the files; NULL: there is none */
    bool cut_short;                                   /* the process left no report */
    char linked_runtime[256]; /* a file whose own CUDA runtime was not redirected */
    char framework[64];       /* "PyTorch 2.15.0"; "": none reported any */
    int64_t allocated, reserved, retries, failed; /* peaks; allocations tried again, failed */
    int64_t held;     /* memory that the framework took and never used, at least; 0: not known */
    int64_t reported; /* the largest workspace that the program was given */
    int64_t calls, tiled, extra_launches;       /* of convolutions */
    int64_t untiled_ns, predicted_ns;           /* of all calls, lower ends of the predicted time */
    int64_t untiled_most_ns, predicted_most_ns; /* upper ends */
    struct cJSON *work;                         /* of cs_sim_work_read */

    /* The smallest capacities, with the context, that cs_sim_pairs_smallest found. On the
     * first the program runs. On the second it also has the engines that it has with memory to
     * spare. 0: not known. */
    int64_t smallest, smallest_same_engines;
};

/* One run, and its result. */
struct cs_sim_run {
    const char *name; /* "without", also in its folder's name; NULL: there is no such run */
    const struct cs_device_file *device;
    int64_t memory;  /* of the GPU, with the context */
    int64_t context; /* of it, bytes that a process takes before it allocates */
    int gpus;        /* that the program sees; 0: one */
    bool with;       /* with the library */
    bool history;    /* record the held memory over time */
    int process; /* the one whose figures are read: its number in the order of first use, from 1; 0:
                    the process that held most */

    /* From here on filled in. */
    char folder[PATH_MAX]; /* of the files that it leaves */
    char origin[PATH_MAX]; /* of the process from which it was forked; "": none */
    enum cs_run_state {
        CS_RUN_WAITING,
        CS_RUN_RUNNING,
        CS_RUN_ENDED
    } state;
    pid_t pid; /* 0: of a forked run, not known yet */
    struct cs_sim_outcome result;
};

/* Makes all runs, at most simulation->jobs of them at the same time. Prints a line about their
 * progress every ten seconds. False after printing the reason if one could not be started, or after
 * a signal, which is passed on to the runs. Those that then ended are CS_RUN_ENDED. */
bool cs_sim_runs_start(struct cs_simulation *simulation, struct cs_sim_run *const *run,
                       size_t runs);

/* --- parts of a run --- */

/* Returns the user's settings of PyTorch's allocator; NULL: there are none. The runs then have
 * expandable segments. */
const char *cs_sim_pytorch_settings(void);

/* Sets the variables of a run's process. Numerical libraries get one thread, unless the user sets
 * the number, because a process with threads cannot be forked. */
void cs_simulation_variables(const struct cs_simulation *simulation, const struct cs_sim_run *run,
                             struct cs_child_variables *variables);

/* Ends the fork server. From here on each run has its own process. */
void cs_sim_runs_stop_forks(struct cs_simulation *simulation);

/* Reads the files of a run that has ended into its result. False after a line: memory is short, or
 * a file is damaged. */
bool cs_sim_outcome_read(struct cs_sim_run *run);
void cs_sim_outcome_free(struct cs_sim_outcome *result);

/* Returns the version in a text of `planning`: "9.26.0" of "cudnn 9.26.0". NULL: no cuDNN planned.
 */
const char *cs_planning_version(const char *planning);

/* True if the program ended with status 0, or was stopped. */
bool cs_sim_outcome_ran(const struct cs_sim_outcome *result);
/* True if it used the device and was ended by SIGTERM or SIGINT, as servers are. */
bool cs_sim_outcome_stopped(const struct cs_sim_outcome *result);
/* True if it failed, and the device had refused an allocation. */
bool cs_sim_outcome_out_of_memory(const struct cs_sim_outcome *result);

/* True if it failed or did not use the device, for another reason than lack of memory. */
bool cs_sim_outcome_disturbed(const struct cs_sim_outcome *result);

/* True if its kernels, convolutions or memory were on the GPU. */
bool cs_sim_outcome_used_gpu(const struct cs_sim_outcome *result);
/* True if it ran and no allocation failed. An allocation that succeeds after the framework has
 * emptied its cache does not count as failed. */
bool cs_sim_outcome_fits(const struct cs_sim_outcome *result);
/* Returns the number of failed allocations: from the framework's report, else from the device's
 * refusals. */
int64_t cs_sim_outcome_failures(const struct cs_sim_outcome *result);

/* --- the work of a run: its distinct convolutions --- */

/* Returns the convolutions of a run with their calls, {"forward 32x64x512x512 64x64x3x3": 2}: those
 * of the program, not the tiles. NULL: some are not known, or memory is short. The caller deletes
 * the object. */
struct cJSON *cs_sim_work_read(const struct cs_sim_outcome *result);

/* The work of a run compared with that of another one. All zeros if one of them is not known. */
struct cs_sim_work {
    int64_t more, less;         /* calls of convolutions that only this run, only the other has */
    int64_t calls, other_calls; /* of all convolutions of this run, of the other */
    int64_t batch, other_batch; /* that most of these calls have */
};
struct cs_sim_work cs_sim_work_compare(const struct cs_sim_outcome *result,
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
    CS_SIM_FIT_ADAPTS,   /* it runs: after a failed allocation it does other work */
    CS_SIM_FIT_MAY_FAIL, /* it runs, but an allocation failed or it needs over 95 % of the memory */
    CS_SIM_FIT_NO,       /* it does not run, because an allocation failed */
    CS_SIM_FIT_NONE      /* nothing was measured */
};

/* Returns the memory that a run needs, with the contexts: without memory that its framework took
 * and never used. */
int64_t cs_sim_outcome_need(const struct cs_sim_outcome *result);

/* Returns whether a run fits into `memory` bytes. `base`: the same program with memory to spare, or
 * the run itself if it had that. */
enum cs_sim_fit cs_sim_outcome_fit(const struct cs_sim_outcome *result,
                                   const struct cs_sim_outcome *base, int64_t memory);

/* Returns the number of convolutions that have another engine than in `base`. */
int64_t cs_sim_outcome_other_engines(const struct cs_sim_outcome *result,
                                     const struct cs_sim_outcome *base);

/* True if it ran, with the same convolutions on the same engines as `base`. */
bool cs_sim_outcome_same_engines(const struct cs_sim_outcome *result,
                                 const struct cs_sim_outcome *base);

/* Lists the names of one table of the report, such as "missing" or "reads_of_nothing_written.by",
 * with their counts. `text` gets the first ones as "name 3, other 1". Returns the number of names
 * in the table. */
int64_t cs_sim_outcome_names(const struct cs_sim_outcome *result, const char *kind, char *text,
                             size_t size);

/* Lists the reads of values that were never computed, which PyTorch's hook reports. `text` gets
 * them as "operation at file:line function count". Returns the number of reads. */
int64_t cs_sim_outcome_unknown(const struct cs_sim_outcome *result, char *text, size_t size);

/* Shows the end of Python's last traceback and the last lines behind it, or the last lines that the
 * program printed, before it was forked if it printed none later. False: nothing was printed. */
bool cs_sim_outcome_output(const struct cs_sim_run *run, FILE *out);

/* A program without and with the library on one device. */

enum cs_side {
    CS_WITHOUT,
    CS_WITH,
    CS_SIDES
};

extern const char *const cs_side_names[CS_SIDES]; /* "without", "with" */

struct cs_sim_pair {
    const struct cs_device_file *device;
    int64_t memory;  /* of the GPU, with the context */
    int64_t context; /* of it, bytes that a process takes before it allocates */
    int gpus;        /* that the program sees; 0: one */
    bool history;    /* record the held memory over time */
    bool chosen[CS_SIDES];

    /* The following members are results. */
    struct cs_sim_run run[CS_SIDES];
    /* The same runs, repeated with memory to spare, of those that were short of it. They are the
     * reference for their plans. */
    struct cs_sim_run base[CS_SIDES];
    struct cs_sim_run recorded; /* of cs_sim_pair_record */
};

/* Makes all runs as cs_sim_runs_start does and reads their results, which replace earlier ones.
 * False after printing the reason. */
bool cs_sim_runs_make(struct cs_simulation *simulation, struct cs_sim_run **run, size_t runs);

enum {
    CS_MOST_DEVICES = 32 /* pairs at once */
};

/* Makes the runs of all pairs. A run that fails next to the other one of its pair is made again,
 * alone, because of fixed ports. Repeats those that were short of memory with memory to spare.
 * False after printing the reason. */
bool cs_sim_pairs_run(struct cs_simulation *simulation, struct cs_sim_pair *pair, size_t pairs);

/* After a signal: reads the runs that have ended, and drops the others. False if none used the
 * device. */
bool cs_sim_pairs_take_ended(struct cs_sim_pair *pair, size_t pairs);

/* Finds out why a pair gains nothing: repeats its run with the library, with `history` set. Does
 * nothing if the pair gains or has a history. False after printing the reason. */
bool cs_sim_pair_record(struct cs_simulation *simulation, struct cs_sim_pair *pair);

/* Finds the smallest capacities of pairs that were run, by bisection: to 1 %, or to 4 MiB if
 * that is more. */
bool cs_sim_pairs_smallest(struct cs_simulation *simulation, struct cs_sim_pair *pair,
                           size_t pairs);

void cs_sim_pair_free(struct cs_sim_pair *pair);

/* Returns the side whose run is the answer of the pair: that with the library, if it was chosen. */
static inline enum cs_side cs_sim_pair_judged(const struct cs_sim_pair *pair)
{
    return pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
}

/* True if both sides ran with memory to spare and did the same work, the run with the library had
 * convolutions, and its peak is less than 1 % lower. */
bool cs_sim_pair_gains_nothing(const struct cs_sim_pair *pair);

/* Compares the work of the run without the library with that of the run with it. All zeros if one
 * of them failed or was not made. */
struct cs_sim_work cs_sim_pair_work(const struct cs_sim_pair *pair);

/* Returns the reference for a run's plans: `base`, or the run itself if it had memory to spare. */
const struct cs_sim_outcome *cs_sim_pair_base(const struct cs_sim_pair *pair, enum cs_side side);

/* The memory of a simulated run over time: the held blocks, the convolutions whose workspace they
 * were, and the program lines that requested the others. If the framework recorded its blocks
 * (PyTorch), these are counted, else its allocations from the driver. */

enum {
    CS_TIMELINE_NONE = -1 /* an index of no block, call, site or stack */
};

/* Memory that was allocated at one time: a block of the framework, or an allocation of the driver.
 */
struct cs_timeline_block {
    uint64_t address;
    int64_t bytes;
    size_t from, until; /* moments: it is held at those of [from, until) */
    int stack;          /* of the allocating code, or CS_TIMELINE_NONE */
    int64_t workspace;  /* most bytes of it that a call used as workspace; 0: it holds none */
    long call;          /* the first call that used as many, or CS_TIMELINE_NONE */
};

/* A call of a convolution. It consists of the launches of all its tiles. */
struct cs_timeline_call {
    int site; /* index into the summary's, or CS_TIMELINE_NONE */
    size_t moment;
    long block;       /* the one with its workspace, or CS_TIMELINE_NONE */
    uint64_t address; /* of its workspace */
    int64_t workspace, tensor_bytes, launches;
    char plan[40];
};

/* The memory of a run at consecutive moments, which are numbered from 0. */
struct cs_timeline {
    bool of_framework; /* the blocks are those of the framework, not of the driver */
    int64_t *live;     /* bytes held from each moment on */
    size_t moments;
    struct cs_timeline_block *block;
    size_t blocks;
    struct cs_timeline_call *call;
    size_t calls;
    const struct cJSON *stacks; /* of the result; NULL: none were recorded */
    bool matched;               /* the summary's calls are those of the record, one for one */
};

/* Reads the timeline of a run with `history`. The run's result must outlive it. False, with nothing
 * owned, after a line: there is no record, or memory is short. */
bool cs_timeline_read(const struct cs_sim_run *run, struct cs_timeline *timeline_p);
void cs_timeline_fini(struct cs_timeline *timeline);

/* The timelines of a pair's runs that have one. */
struct cs_timelines {
    struct cs_timeline side[CS_SIDES];
    bool has[CS_SIDES];
    bool same_calls;             /* both runs made as many calls, or there is only one run */
    const struct cJSON *summary; /* of the run with the library; NULL: there is none */
};

/* Reads the timelines of the runs that used the device and have a history. The repeated run
 * (`recorded`) takes the place of the run with the library. The results of the pair must outlive
 * the timelines. False, with nothing owned, if a complete run cannot be read, after a line. */
bool cs_timelines_read(const struct cs_sim_pair *pair, struct cs_timelines *timelines_p);
void cs_timelines_fini(struct cs_timelines *timelines);

/* Returns the memory that a side held at its peak as a JSON array, the largest first: workspaces by
 * convolution, everything else by the line that allocated it. Empty: the side has no timeline.
 * NULL: memory is short. The caller deletes it. */
struct cJSON *cs_timelines_peak(const struct cs_timelines *timelines, enum cs_side side);

/* Returns the moment at which most was held. */
size_t cs_timeline_peak(const struct cs_timeline *timeline);

/* Writes the program line that requested a block, such as "vae.py:312 forward". It is the innermost
 * line of the stack that is not PyTorch's own, or else the innermost. False: the line is not known.
 */
bool cs_timeline_line(const struct cs_timeline *timeline, int stack, char *text, size_t size);

#endif
