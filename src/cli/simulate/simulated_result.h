/* The files that a run left: the device's report, the library's summary, the framework's report. */
#ifndef CS_CLI_SIMULATE_SIMULATED_RESULT_H
#define CS_CLI_SIMULATE_SIMULATED_RESULT_H

#include "cli/simulate/simulated_progress.h"
#include "cli/simulate/simulation.h"
#include <stdio.h>

struct cJSON;

/* The peaks of all processes on one GPU; -1: not reported. */
struct cs_gpu_peaks {
    int64_t allocated, reserved, device_peak, needed;
};

struct cs_simulated_process {
    pid_t pid;
    int64_t device_peak, launches;
    bool reported; /* it left a report: it was not killed, nor did it call _exit */
};

/* Numbers are -1 where nothing reported them. Of several processes that used the device, those of
 * the one that held most. */
struct cs_simulated_result {
    int status;     /* of the program: see cs_simulated_run */
    double seconds; /* that it took here */
    bool used;      /* a process used the device; if not, all following members are empty */
    bool cut_short; /* the one that held most left no report: the device's record is used */
    int processes;  /* how many did */
    struct cs_simulated_process process[CS_MOST_PROCESSES];
    bool sum_is_exact; /* device_peak is the peak of their sum; else the sum of their peaks */
    int gpus;          /* that the program saw */
    struct cs_gpu_peaks gpu[CS_MOST_GPUS];
    pid_t pid;
    int number;   /* of that process, as in cs_simulated_run; 0: not known */
    bool planned; /* by a real cuDNN, or there was nothing to plan */
    char planning[64], device[64];
    char linked_runtime[256]; /* a file whose own CUDA runtime cannot run on the simulated GPU */
    int64_t capacity, largest_workspace;
    int64_t device_peak, needed;    /* on the GPU that needs most; `needed` with the contexts */
    int64_t launches, tensor_bytes; /* of convolutions */
    int64_t refused, missing_bytes; /* allocations; bytes that the last one was short of */
    bool limited;      /* the program failed because its own memory limit was reached: */
    char refusal[160]; /* the line in which it says so */
    int64_t kernels, library_calls; /* not executed */
    int64_t reads, read_bytes;      /* of memory that was never written */
    int64_t times_asked;            /* questions for times, which are the model's */
    char framework[64];             /* "PyTorch 2.15.0"; "": none reported any */
    int64_t allocated, reserved, retries,
        failed;       /* its peaks; allocations that it tried again, that failed */
    int64_t reported; /* to the program, at most: the size of its workspace */
    int64_t calls, tiled, extra_launches; /* of the library's summary */
    int64_t untiled_ns, predicted_ns; /* of it: predicted times of all calls, untiled and as run */
    int64_t untiled_most_ns, predicted_most_ns;       /* the other ends of these */
    struct cJSON *report, *summary, *framework_peaks; /* the files; NULL: there is none */
};

/* False if memory is short or a file is damaged: a line has said so. */
bool cs_simulated_result_read(const struct cs_simulated_run *run,
                              struct cs_simulated_result *result);
void cs_simulated_result_free(struct cs_simulated_result *result);

/* Adds the framework's peaks in both runs to the library's summary in the folder of `run`, the one
 * with it, for `convshim report`. Without both peaks, nothing is added. */
void cs_simulated_result_add_peaks(const struct cs_simulated_run *run,
                                   const struct cs_simulated_result *without,
                                   const struct cs_simulated_result *with);

/* The program ended well, or was stopped. */
bool cs_simulated_result_ran(const struct cs_simulated_result *result);
/* It used the device and was ended by SIGTERM or SIGINT, as servers are. */
bool cs_simulated_result_stopped(const struct cs_simulated_result *result);
/* It did not run, and an allocation had been refused, by the device or by the framework's own
 * limit.
 */
bool cs_simulated_result_out_of_memory(const struct cs_simulated_result *result);

/* Its kernels, convolutions or memory were on the GPU. */
bool cs_simulated_result_used_gpu(const struct cs_simulated_result *result);
/* It ran, and no allocation failed; one that a framework made after it had emptied its cache did
 * not.
 */
bool cs_simulated_result_fits(const struct cs_simulated_result *result);
/* Number of failed allocations: from the framework's report, else from the device's refusals. */
int64_t cs_simulated_result_failures(const struct cs_simulated_result *result);

/* Convolutions that differ from those of `base`, the same program with memory to spare. */
struct cs_other_plans {
    int64_t engines; /* the same convolution on another engine */
    int64_t work;    /* a convolution that `base` does not have: the program did other work */
};
struct cs_other_plans cs_simulated_result_other_plans(const struct cs_simulated_result *result,
                                                      const struct cs_simulated_result *base);

/* Reads one table of the report that counts by name, as "missing" or "reads_of_nothing_written.by".
 * Returns its number of names; `text` gets the first ones as "name 3, other 1". */
int64_t cs_simulated_result_names(const struct cs_simulated_result *result, const char *kind,
                                  char *text, size_t size);

/* The reads of values that were never computed, as PyTorch's hook reports them. Returns their
 * number; `text` lists "operation at file:line function count". */
int64_t cs_simulated_result_unknown(const struct cs_simulated_result *result, char *text,
                                    size_t size);

/* Shows the end of Python's last traceback and the last lines behind it, or the last lines that the
 * program printed; false: nothing was printed. */
bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out);

/* The line in which a framework says that an allocation failed; false: none does. */
bool cs_simulated_result_refusal(const struct cs_simulated_run *run, char *text, size_t size);

#endif
