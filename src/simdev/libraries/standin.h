/* Interfaces between the stand-ins for NVIDIA's libraries. The program `standins`
 * (standins.py) writes libraries whose functions call libsimdev-standin.so, which is built from the
 * .c files here. standin.c implements the rules of standin_calls.def. Functions that no
 * rule can describe are written by hand.
 *
 * No NVIDIA header is included. Arguments are read as the machine passes them: integers and
 * pointers, one per word. */
#ifndef STANDIN_H
#define STANDIN_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exported functions have no callers here, and no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define STANDIN_EXPORT __attribute__((visibility("default")))
/* The name of a hand-written function in libsimdev-standin.so. It differs from the real name, so
 * that programs do not find it there. */
#define STANDIN(name) standin_by_hand_##name
#define STANDIN_BY_HAND "standin_by_hand_"

enum standin_kind {
    STANDIN_MISSING,
    STANDIN_CREATE,
    STANDIN_DESTROY,
    STANDIN_STREAM,
    STANDIN_WORK,
    STANDIN_HOST,
    STANDIN_ZERO,
    STANDIN_SIZE,
    STANDIN_TEXT,
    STANDIN_FAIL,
    STANDIN_ANSWER,
    STANDIN_TELL,
    STANDIN_PROPERTY,
    STANDIN_KINDS
};

enum {
    STANDIN_RESULTS = 3,
    STANDIN_PART =
        1000 /* parts of a version as a value: major * PART * PART + minor * PART + patch */
};

struct standin_function {
    const char *name;
    enum standin_kind kind;
    int error; /* answered by a call that fails */
    int value; /* the value returned or written */
    struct {
        int argument, bytes;
    } result[STANDIN_RESULTS]; /* bytes 0: there are no more */
};

/* Runs a function of the given kind and returns its result. `registers` are the arguments passed in
 * registers, `stack` the following ones. */
uintptr_t standin_enter(const struct standin_function *function, const uintptr_t *registers,
                        const uintptr_t *stack);

/* ---- for hand-written functions ---- */

/* The target of every handle. */
struct standin_handle {
    uint64_t mark;
    cudaStream_t stream;
};

/* Queues a call that is counted under its name. True on success. Always false in compute mode,
 * which does not support these libraries. */
bool standin_work(const char *name, cudaStream_t stream);

#endif
