/* The interface of the simulated libcudart for the simulated libcudnn.
 *
 * libcudart owns device memory, streams and the report. libcudnn computes. Both are loaded into an
 * ordinary program. These functions are the whole interface between them, and the program does not
 * use them. All are thread-safe. */
#ifndef SIMDEV_H
#define SIMDEV_H

#include "progress.h"
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The cost of an operation on the simulated GPU, from which the time model of events computes. */
struct simdev_cost {
    double bytes, flops; /* moved, computed; 0: only a launch */
};

/* An operation. On a stream it runs once, as a node of a graph any number of times. Functions that
 * accept work copy the structure. `arg` then belongs to the copy. */
struct simdev_work {
    enum cudaGraphNodeType type; /* kernel (0), memcpy, memset or host */
    /* Called on a thread of the device. Several threads may call it at once if several executable
     * graphs hold the work, so it must not change data that it needs to run again. */
    void (*run)(void *arg);
    /* Called once, on any thread, when the work cannot run any more. Must not call the runtime.
     * NULL: there is no resource to release. */
    void (*release)(void *arg);
    void *arg;
    const void *maker; /* the origin of the work, for simdev_graph_replace; may be NULL */
    struct simdev_cost cost;
};

/* Queues work after everything queued on the stream before. On a capturing stream, makes it a node
 * of the graph instead. NULL, cudaStreamLegacy and cudaStreamPerThread have CUDA's meaning. Returns
 * cudaErrorInvalidResourceHandle for a stream that does not exist, and CUDA's errors of captures.
 * On an error the caller keeps ownership of the work. */
cudaError_t simdev_enqueue(cudaStream_t stream, const struct simdev_work *work);

/* True if work for the stream would become a node (or be refused, in an invalidated capture). */
bool simdev_is_capturing(cudaStream_t stream);

/* The error for a call that CUDA defines as potentially unsafe during a capture, see
 * cudaThreadExchangeStreamCaptureMode. An error has invalidated the captures concerned. README.md
 * lists these calls. */
cudaError_t simdev_capture_refuse_unsafe(void);
/* The same for a call that waits for all streams of a context. */
cudaError_t simdev_capture_refuse_device(uint64_t context);

/* Adds work to the graph as a node without dependencies. cudaErrorInvalidValue if `graph` is not a
 * graph. On an error the caller keeps ownership of the work. */
cudaError_t simdev_graph_add(cudaGraph_t graph, const struct simdev_work *work);

/* Replaces the work of the executable graph's copy of a node by the work of the first node of
 * another graph. Both must have the same type, otherwise cudaErrorInvalidValue. */
cudaError_t simdev_graph_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t from);

/* Replaces the work of the graph's only node, which must have the same type and maker, otherwise
 * cudaErrorInvalidValue. On an error the caller keeps ownership of the work. Existing executable
 * graphs do not change. */
cudaError_t simdev_graph_replace(cudaGraph_t graph, const struct simdev_work *work);

/* The id of the context for the calling thread's work. Makes a context current as any use of the
 * runtime does. Ids are never reused. 0: there is no context. */
uint64_t simdev_use_context(void);

/* The context that a stream belongs to; 0: no such stream. */
uint64_t simdev_stream_context(cudaStream_t stream);

/* True if all of [ptr, ptr + bytes) lies inside one live device allocation that the current context
 * (for work: its stream's) can use. bytes = 0 checks only the address. */
bool simdev_range_alive(const void *ptr, size_t bytes);

/* Reports an error that a GPU may punish. It is counted, kept for the report (the first 32 texts),
 * and written to stderr as one line that begins with "simdev: violation:". Never ends the process.
 */
void simdev_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many there were so far. */
uint64_t simdev_violations(void);

enum simdev_counter {
    SIMDEV_CONV_LAUNCHES,   /* convolutions executed, each tile counted */
    SIMDEV_OTHER_LAUNCHES,  /* pointwise, activation, add, transform */
    SIMDEV_COPIES,          /* memory copies and sets executed */
    SIMDEV_GRAPH_LAUNCHES,  /* executable graphs queued; their work is counted in addition */
    SIMDEV_WAITS,           /* calls of the runtime that made the host wait for the device */
    SIMDEV_DRIVER_WAITS,    /* the same of the driver's API */
    SIMDEV_KERNEL_LAUNCHES, /* the program's kernels, in account mode: not executed */
    SIMDEV_LIBRARY_CALLS,   /* simdev_account_call: not executed */
    SIMDEV_COUNTERS
};
void simdev_count(enum simdev_counter counter);
uint64_t simdev_counted(enum simdev_counter counter);

/* Records the largest workspace that an executed convolution used. */
void simdev_note_workspace(size_t bytes);

/* One call of a convolution, for the record (SIMDEV_RECORD), in the order of calls. */
struct simdev_convolution {
    const void *workspace;
    size_t workspace_bytes, tensor_bytes;
    struct simdev_cost cost;
    const char *plan; /* a text that is the same in every process for the same plan */
};
void simdev_note_convolution(const struct simdev_convolution *convolution);

/* Adds an executed convolution to the report's sums: bytes of its tensors, and the model's time. */
void simdev_note_traffic(size_t tensor_bytes, size_t workspace_bytes,
                         const struct simdev_cost *cost);

/* Records the source of workspace sizes for the report: "cudnn 9.19.0" or "rule of thumb". */
void simdev_note_planning(const char *text);

/* A program or library whose own CUDA runtime called the driver, for the report: it is stripped, or
 * the function that it called is not simulated. */
void simdev_note_linked_runtime(const char *path);

/* True after exit() has begun. A library of the device that is unloaded then must not free its
 * resources, because other threads may still use it. */
bool simdev_is_exiting(void);

/* Failure on request: SIMDEV_FAIL="cudaMalloc:3,cudnnBackendExecute:2" makes the n-th call (from 1)
 * of that name fail. True if this call is to fail. A function that supports it checks once per
 * call. */
bool simdev_should_fail(const char *function);

/* --- account mode, SIMDEV_MODE=account: work is queued in order and counted, but not computed ---
 */

/* True in account mode. False in compute mode, the default. */
bool simdev_account_mode(void);

/* Queues a call that is counted under its name when its turn comes, but not executed. The name is
 * copied. `cost` NULL: the cost of a launch. On a capturing stream it becomes a kernel node. Errors
 * as with simdev_enqueue. The report lists these calls and the kernels as not executed. */
cudaError_t simdev_account_call(cudaStream_t stream, const char *name,
                                const struct simdev_cost *cost);

/* In account mode: records that work, if executed, would have written this device memory, so that
 * its previous contents are gone. For work whose outputs are known. */
void simdev_account_written(const void *memory, size_t bytes);

/* A function was called that is not simulated, or not with these arguments. It is counted by name.
 * True if it is to fail, false if it is to return success without any effect. SIMDEV_MISSING
 * selects this: fail; warn (default): succeed, and print one line on stderr for each name; allow:
 * succeed. In compute mode always true. */
bool simdev_missing(const char *function);

/* A function that is not simulated was called and is refused. It is counted by name like those of
 * simdev_missing. */
void simdev_refused(const char *function);
/* A program looked up a function that is not simulated. */
void simdev_looked_up(const char *function);

/* A function returned an estimate of a size that only the real library has. It is counted by name,
 * for the report. */
void simdev_estimated(const char *function);

/* Counts one run of a convolution's execution plan, under two texts that are the same in every
 * process: of the plan, which contains its engine, and of the problem, "forward 32x64x512x512
 * 64x64x3x3" (direction, image, filter). The report has both, so that runs can be compared. */
void simdev_note_plan(const char *plan, const char *problem);

/* --- the race check, SIMDEV_RACES=1 --- */

/* True on a thread that runs work under the race check. */
bool simdev_racing(void);

/* Called by running work: it reads or writes this device memory. Does nothing if the race check
 * does not cover the work. */
void simdev_touch(const void *memory, size_t bytes, bool write);

/* --- orders of execution, SIMDEV_SEED=n --- */

/* With a seed other than 0, one operation runs at a time. It is chosen at random among those that
 * streams and events allow. It runs as late as the host allows: when the host waits, makes a query,
 * or has queued many operations. The same seed and the same calls of one thread give the same
 * order. */
void simdev_seed(uint64_t seed);

/* --- calls through the driver API, for tests that count or drop them --- */

/* Number of calls of a function so far. */
uint64_t simdev_calls(const char *function);

/* The nth call of a function from now on, counted from 1, returns success and does nothing. 0:
 * none, UINT64_MAX: all. For cuStreamWaitEvent and cuEventRecord. SIMDEV_DROP=NAME:n does the same
 * from the start. */
void simdev_drop(const char *function, uint64_t nth);

/* The device-property profile of a device, in the form that cuDNN's DEVICEPROP descriptor accepts:
 * one JSON object. Valid for the life of the process. NULL if there is no such device or if its
 * profile could not be read. Every CUDA call then fails with cudaErrorInitializationError. */
const char *simdev_profile_text(int device);
/* The device of the calling thread's context. */
int simdev_current_device(void);

#endif
