/* What a run left: the device's report, the library's summary, what the framework reported. */
#ifndef CS_CLI_SIMULATE_SIMULATED_RESULT_H
#define CS_CLI_SIMULATE_SIMULATED_RESULT_H

#include "cli/simulate/simulation.h"
#include <stdio.h>

struct cJSON;

/* Numbers are -1 where nothing reported them. Of several processes that used the device, those of
 * the one that held most. */
struct cs_simulated_result {
    int status;     /* of the program: see cs_simulated_run */
    double seconds; /* that it took here */
    bool used;      /* a process used the device; else all that follows is empty */
    int processes;  /* how many did */
    pid_t pid;
    bool planned; /* by a real cuDNN, or there was nothing to plan */
    char planning[64], device[64];
    int64_t capacity, device_peak, largest_workspace;
    int64_t launches, tensor_bytes, nanoseconds; /* of convolutions */
    int64_t refused, missing_bytes; /* allocations; bytes that the last one was short of */
    int64_t kernels, library_calls; /* not executed */
    int64_t reads, read_bytes;      /* of what nothing had written */
    int64_t times_asked;            /* questions for times, which are the model's */
    char framework[64];             /* "PyTorch 2.15.0"; "": none reported any */
    int64_t allocated, reserved, retries,
        failed; /* its peaks; allocations that it tried again, that failed */
    int64_t calls, tiled, extra_launches;             /* of the library's summary */
    struct cJSON *report, *summary, *framework_peaks; /* the files; NULL: there is none */
};

/* False if memory is short or a file is damaged: a line has said so. */
bool cs_simulated_result_read(const struct cs_simulated_run *run,
                              struct cs_simulated_result *result);
void cs_simulated_result_free(struct cs_simulated_result *result);

/* The program ended well. */
bool cs_simulated_result_ran(const struct cs_simulated_result *result);
/* It did not, and an allocation had been refused. */
bool cs_simulated_result_out_of_memory(const struct cs_simulated_result *result);

/* Convolutions that ran on a plan which `base`, the same program with memory to spare, never used.
 */
int64_t cs_simulated_result_other_engines(const struct cs_simulated_result *result,
                                          const struct cs_simulated_result *base);

/* One kind of what the report counts by name, as "missing" or "reads_of_nothing_written.by": its
 * number of names, and the first ones as "name 3, other 1" in `text`. */
int64_t cs_simulated_result_names(const struct cs_simulated_result *result, const char *kind,
                                  char *text, size_t size);

/* Shows the last lines that the program printed, and before them the end of Python's last traceback
 * if they do not hold it; false: nothing was printed. */
bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out);

#endif
