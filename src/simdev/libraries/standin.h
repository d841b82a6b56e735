/* Inside of the stand-ins for NVIDIA's libraries. The program `standins` (src/simdev/standins)
 * writes libraries of which each function enters libsimdev-standin.so, which is made of the .c
 * files here: standin.c does what calls.def says, what cannot be said there is a function of its
 * own.
 *
 * No header of theirs is included: arguments are taken as the machine passes them, integers and
 * pointers one a word. */
#ifndef STANDIN_H
#define STANDIN_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nobody here calls what is exported, and no header declares it. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define STANDIN_EXPORT __attribute__((visibility("default")))
/* What a function written by hand is called in libsimdev-standin.so, where a program must not find
 * it by its own name. */
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
    STANDIN_KINDS
};

enum {
    STANDIN_RESULTS = 3
};

struct standin_function {
    const char *name;
    enum standin_kind kind;
    int error; /* answered by a call that fails */
    int value; /* what is answered or told */
    struct {
        int argument, bytes;
    } result[STANDIN_RESULTS]; /* bytes 0: there are no more */
};

/* Does what the function's kind says and returns what it returns. `registers` are the arguments
 * that came in registers, `stack` those behind them. */
uintptr_t standin_enter(const struct standin_function *function, const uintptr_t *registers,
                        const uintptr_t *stack);

/* ---- for the functions written by hand ---- */

/* What every handle points to. */
struct standin_handle {
    uint64_t mark;
    cudaStream_t stream;
};

struct standin_handle *standin_create(void);
/* NULL for what is no handle. */
struct standin_handle *standin_handle(const void *handle);
/* Queues a call that is counted under its name. True if that went well; always false in compute
 * mode, where nothing of these libraries can be had. */
bool standin_work(const char *name, cudaStream_t stream);

#endif
