/* One random problem from its data to its checked and written result. */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include "fused.h"

#include <stdio.h>

struct run_settings {
    uint64_t seed;
    enum data kind;
    bool check;      /* against a plain host loop */
    FILE *dump;      /* NULL: none; of the results in their type */
    FILE *reference; /* the results of the host loop in double; may be NULL */
};

/* Zeroed but for index, api and the problem. */
struct run {
    uint64_t index;
    enum conv_api api;
    bool is_fused; /* `fused` is the problem, else `problem` */
    struct conv_problem problem;
    struct fused_problem fused;

    struct problem_data data;
    struct fused_data fused_data;
    int operands; /* that have buffers */
    int result;   /* one of them */
    const struct tensor *tensor[FUSED_MAX_TENSORS];
    void *image[FUSED_MAX_TENSORS]; /* host, before the run */
    void *device[FUSED_MAX_TENSORS];
    void *after;   /* the result's whole storage after the run */
    void *packed;  /* its elements without gaps, the last dimension fastest */
    double *exact; /* the same by the host loop */
};

struct tally {
    uint64_t problems, refused, errors;
};

/* The record's number, the API and the problem, without line feed. */
void run_print(const struct run *run, char *text, size_t bytes);

/* Counts the outcome. Prints faults of a result on stderr. False if files cannot be written. */
bool run_problem(cudnnHandle_t handle, const struct run_settings *settings, struct run *run,
                 struct tally *tally);

#endif
