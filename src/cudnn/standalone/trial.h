/* Runs convolutions on the first GPU (CUDA_VISIBLE_DEVICES chooses) as an ordinary program does: it
 * makes a plan, allocates its workspace, calls it once, and times further calls. If the library is
 * preloaded, it intercepts these calls of cuDNN, as in every program. One thread. A process has one
 * GPU, which it keeps until its end. */
#ifndef CS_CUDNN_STANDALONE_TRIAL_H
#define CS_CUDNN_STANDALONE_TRIAL_H

#include "convshim/problem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cs_trial_gpu {
    char name[64];
    int driver;           /* CUDA's version that the driver supports, as 13000; 0: not known */
    int64_t memory, free; /* bytes */
    bool simulated;       /* src/simdev */
};

/* Opens the GPU, before cs_standalone_open. False, with a line in `error`, if there is no driver or
 * no GPU. */
bool cs_trial_find_gpu(struct cs_trial_gpu *gpu, char *error, size_t size);

/* Makes a stream and a cuDNN handle, after cs_standalone_open. False, with a line in `error`, if
 * that fails. */
bool cs_trial_open(char *error, size_t size);

/* Returns the properties of the GPU as JSON, by which cuDNN can plan for it on another machine.
 * NULL if cuDNN returns none. *bus_width_p becomes the bits of its memory bus, 0 if the driver does
 * not report them. Called after cs_trial_open. The caller frees the text. */
char *cs_trial_profile(int *bus_width_p);

/* Returns the library's summary so far, as convshim_summary of convshim.h. NULL if the process does
 * not have the library, or if memory is short. The caller frees it. */
char *cs_trial_summary(void);

struct cs_trial_settings {
    int64_t iterations; /* timed calls, after up to 3 others */
    int64_t repeats;    /* results to compare with the first, after the timed calls; 1 at least */
    double seconds;     /* for the timed calls: fewer are made if they would take longer */
    int64_t memory;     /* bytes that operands and workspace may take together */
    FILE *dump;         /* takes the result's bytes; may be NULL */
};

enum cs_trial_status {
    CS_TRIAL_OK,
    CS_TRIAL_REFUSED, /* cuDNN does not support it */
    CS_TRIAL_OUT_OF_MEMORY,
    CS_TRIAL_TOO_LARGE, /* operands and workspace exceed `memory` */
    CS_TRIAL_ERROR
};

struct cs_trial_result {
    enum cs_trial_status status;
    char error[192];           /* "" with CS_TRIAL_OK */
    int64_t engine, workspace; /* global index, < 0 without a plan; bytes */
    int64_t bytes;             /* of the result */
    int64_t device_peak; /* bytes of the device that were taken from before the plan until after the
                            last call: operands, workspace, and all that others took */
    int64_t calls;       /* that were timed */
    double median_us, p10_us, p90_us; /* of single calls, by events on the stream */
    double first_us;   /* of the first call by the host's clock, which loads and compiles kernels */
    double host_us;    /* the host's time of a timed call, without waiting for the device */
    uint64_t checksum; /* of the whole result after the first call */
    uint64_t repeated; /* the same after the last repeat */
    int64_t differing; /* repeats whose result differs from the first */
};

/* "ok", "refused", "out of memory", "too large for --memory", "error" */
const char *cs_trial_status_name(enum cs_trial_status status);

/* Runs and measures a checked problem without steps. Its data depend only on the types, so that the
 * results of two processes can be compared. */
void cs_trial_run(const struct cs_problem *problem, const struct cs_trial_settings *settings,
                  struct cs_trial_result *result);

/* Converts an element of this type at `bytes` to a number. */
double cs_trial_number(enum cs_dtype dtype, const char *bytes);

#endif
