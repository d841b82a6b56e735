/* Runs a plan on a device: fork, tiles on their lanes, join. It acquires all resources before the
 * first launch (the point of no return). If that fails, the fallback plan runs. After it, a failure
 * is repaired by the fallback plan only if running again gives the same result: beta is 0 and no
 * output is also an input, or no work has started. Otherwise the vendor's status is returned
 * unchanged. A plan without tiles runs on the fallback plan.
 *
 * If the scratch is too small for all lanes, fewer lanes are used. If it is too small for one lane,
 * the fallback plan runs. */
#ifndef CS_EXEC_EXEC_H
#define CS_EXEC_EXEC_H

#include "convshim/gpu.h"
#include "convshim/plan.h"
#include "exec/arena.h"
#include "exec/lanes.h"

/* Where scratch comes from. */
enum cs_backing {
    CS_BACKING_AUTO,   /* the application's, our own for a call that provides none */
    CS_BACKING_CLIENT, /* the application's */
    CS_BACKING_OWN     /* the library's */
};

/* Shared by all calls. Lives as long as the process. */
struct cs_exec {
    const struct cs_device *device; /* NULL: one lane, and scratch is the application's */
    enum cs_backing backing;
    struct cs_lanes lanes;
    struct cs_arena arena;
};

/* The operands and the stream of one call. */
struct cs_call {
    struct cs_addresses base; /* `workspace` is the application's, or NULL */
    int64_t provided;         /* bytes at base.workspace that may be used */
    void *stream;             /* the application's; not used if gpu->choose is NULL */
};

enum cs_ran {
    CS_RAN_TILES,
    CS_RAN_FALLBACK,
    CS_RAN_NOTHING /* an error: tiles and fallback plan failed, or could not run */
};

struct cs_outcome {
    enum cs_ran ran;
    int vendor;       /* status for the application */
    int64_t launches; /* tiles started */
    int lanes;        /* on which they were started */
};

/* Initializes the executor. `limit`: the most bytes of scratch that the library may hold. */
void cs_exec_init(struct cs_exec *exec, const struct cs_device *device, enum cs_backing backing,
                  int64_t limit);

/* Starts a validated plan, without waiting for the device. Thread-safe. */
struct cs_outcome cs_exec_run(struct cs_exec *exec, const struct cs_plan *plan,
                              const struct cs_gpu *gpu, const struct cs_call *call);

/* Like cs_exec_run, but if the plan cannot run, it starts nothing and returns false: no resources
 * are free, outputs overlap inputs, or the plan has no tiles. */
bool cs_exec_try(struct cs_exec *exec, const struct cs_plan *plan, const struct cs_gpu *gpu,
                 const struct cs_call *call, struct cs_outcome *outcome_p);

/* Runs the fallback plan at once, for calls whose operands are not understood. */
struct cs_outcome cs_exec_fallback(const struct cs_gpu *gpu);

/* Lends the library's scratch to a call that runs unchanged on `stream`, even if the call provides
 * a workspace. False, with an empty lease, if the option selects the application's scratch or no
 * memory is available. Return it after all work of the call was started on that stream. */
bool cs_exec_lend(struct cs_exec *exec, void *stream, int64_t bytes, struct cs_lease *lease);
void cs_exec_take_back(struct cs_exec *exec, void *stream, struct cs_lease *lease);

/* Takes the locks before a fork of the process, and releases them after it. A child has no device.
 */
void cs_exec_process_fork(struct cs_exec *exec, bool before, bool child);

#endif
