/* What the stand-in libcudnn asks of the stand-in libcudart.
 *
 * libcudart owns device memory, streams and the report; libcudnn computes. Both are loaded into one
 * ordinary program that knows of neither; these functions are the whole seam between them. All are
 * thread-safe. */
#ifndef SIMDEV_H
#define SIMDEV_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a piece of work costs on the simulated GPU: the time model of events is made of it. */
struct simdev_cost {
    double bytes, flops; /* moved, and computed; 0: nothing but a launch */
};

/* A piece of work: on a stream it runs once, as a node of a graph any number of times. Whoever
 * takes it copies the structure; `arg` is the work's from then on. */
struct simdev_work {
    enum cudaGraphNodeType type; /* kernel (0), memcpy, memset or host */
    /* Called on a thread of the device; by several at once if several executable graphs hold the
     * work, so it must not change what it needs to run again. */
    void (*run)(void *arg);
    /* Called once, on any thread, when nothing can run the work any more; must not call the
     * runtime. NULL: nothing is to be released. */
    void (*release)(void *arg);
    void *arg;
    const void *maker; /* what the work was made from, for simdev_graph_replace; may be NULL */
    struct simdev_cost cost;
};

/* Queues work behind everything queued on the stream before; on a capturing stream, makes it a node
 * of the graph instead. NULL, cudaStreamLegacy and cudaStreamPerThread mean what they mean to CUDA.
 * Returns cudaErrorInvalidResourceHandle for a stream that does not exist, and what CUDA answers
 * about captures. On an error the work stays the caller's. */
cudaError_t simdev_enqueue(cudaStream_t stream, const struct simdev_work *work);

/* True if work for the stream would become a node (or be refused, in an invalidated capture). */
bool simdev_is_capturing(cudaStream_t stream);

/* Adds work to the graph as a node without dependencies. cudaErrorInvalidValue for no graph; on an
 * error the work stays the caller's. */
cudaError_t simdev_graph_add(cudaGraph_t graph, const struct simdev_work *work);

/* Gives the executable graph's copy of a node the work of the first node of another graph, which
 * must be of the same type, else cudaErrorInvalidValue. */
cudaError_t simdev_graph_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t from);

/* Puts work in place of that of the graph's only node, which must be of the same type and maker,
 * else cudaErrorInvalidValue; on an error the work stays the caller's. Executable graphs keep what
 * they have. */
cudaError_t simdev_graph_replace(cudaGraph_t graph, const struct simdev_work *work);

/* The context that the calling thread's work is for, made current as by any use of the runtime, by
 * an id that is never given twice; 0: there is none to be had. */
uint64_t simdev_use_context(void);

/* The context that a stream belongs to; 0: no such stream. */
uint64_t simdev_stream_context(cudaStream_t stream);

/* True if all of [ptr, ptr + bytes) lies inside one live device allocation that the current context
 * (of work: its stream's) can use. bytes = 0 asks for the address alone. */
bool simdev_range_alive(const void *ptr, size_t bytes);

/* Something a GPU would have punished: counted, kept for the report (the first 32 texts), written
 * to stderr as one line that begins with "simdev: violation:". Never ends the process. */
void simdev_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many there were so far. */
uint64_t simdev_violations(void);

enum simdev_counter {
    SIMDEV_CONV_LAUNCHES,   /* convolutions executed, tiles counted singly */
    SIMDEV_OTHER_LAUNCHES,  /* pointwise, activation, add, transform */
    SIMDEV_COPIES,          /* memory copies and sets executed */
    SIMDEV_GRAPH_LAUNCHES,  /* executable graphs queued; what they do counts besides */
    SIMDEV_WAITS,           /* calls of the runtime that made the host wait for the device */
    SIMDEV_DRIVER_WAITS,    /* the same of the driver's API */
    SIMDEV_KERNEL_LAUNCHES, /* the program's own kernels, in account mode: not executed */
    SIMDEV_LIBRARY_CALLS,   /* simdev_account_call: not executed */
    SIMDEV_COUNTERS
};
void simdev_count(enum simdev_counter counter);
uint64_t simdev_counted(enum simdev_counter counter);

/* Notes the largest workspace that an executed convolution used. */
void simdev_note_workspace(size_t bytes);

/* A convolution as it is called: for the record (SIMDEV_RECORD), which is in the order of calls. */
struct simdev_convolution {
    const void *workspace;
    size_t workspace_bytes, tensor_bytes;
    struct simdev_cost cost;
    const char *plan; /* a text that is the same for the same plan in every process */
};
void simdev_note_convolution(const struct simdev_convolution *convolution);

/* Adds a convolution that ran to the report's sums: bytes of its tensors, and the model's time. */
void simdev_note_traffic(size_t tensor_bytes, size_t workspace_bytes,
                         const struct simdev_cost *cost);

/* Says where workspace sizes come from: "cudnn 9.19.0" or "rule of thumb". The report prints it. */
void simdev_note_planning(const char *text);

/* True from when exit() has begun: what a library of the device gives back when it is unloaded, it
 * keeps then, since other threads may still be in it. */
bool simdev_is_exiting(void);

/* Failure on request: SIMDEV_FAIL="cudaMalloc:3,cudnnBackendExecute:2" makes the n-th call (from 1)
 * of that name fail. True if this call is to fail; every call of a function that supports it asks
 * once. */
bool simdev_should_fail(const char *function);

/* --- account mode, SIMDEV_MODE=account: everything is queued in order and counted, and nothing is
 * computed --- */

/* True in account mode; false in compute mode, the default. */
bool simdev_account_mode(void);

/* Queues a call that is counted under its name when its turn comes, and not executed. The name is
 * copied; `cost` NULL: a launch's. On a capturing stream it becomes a kernel node. Errors as with
 * simdev_enqueue; what the report prints as not executed is what came through here and the kernels.
 */
cudaError_t simdev_account_call(cudaStream_t stream, const char *name,
                                const struct simdev_cost *cost);

/* In account mode: work that ran would have written this device memory, so that what lay there
 * before is no more. For whoever knows what its work writes. */
void simdev_account_written(const void *memory, size_t bytes);

/* A function was called that the simulated device does not have, or not with these arguments:
 * counted by name. True if it is to fail, false if it is to answer success and do nothing: as
 * SIMDEV_MISSING says (fail; warn, the default: succeed, and one line on stderr for each name;
 * allow: succeed). In compute mode always true. */
bool simdev_missing(const char *function);

/* A function that the simulated device does not have was called and is refused: counted by name
 * like those of simdev_missing. */
void simdev_refused(const char *function);
/* A program looked a function up that the simulated device does not have. */
void simdev_looked_up(const char *function);

/* A function answered a size that only the real library knows, and that is therefore estimated:
 * counted by name, for the report. */
void simdev_estimated(const char *function);

/* Counts one run of a convolution's execution plan, under a text that is the same for the same plan
 * in every process: the report tells by it which engines a program ended up with. */
void simdev_note_plan(const char *plan);

/* --- the race check, SIMDEV_RACES=1 --- */

/* True on a thread that runs work which is being checked. */
bool simdev_racing(void);

/* Said by work while it runs: it reads or writes this device memory. Does nothing if it is not
 * being checked. */
void simdev_touch(const void *memory, size_t bytes, bool write);

/* --- orders of execution, SIMDEV_SEED=n --- */

/* With a seed other than 0, one piece of work runs at a time, chosen at random among those that
 * streams and events allow, and as late as the host allows: when it waits, or asks, or has queued
 * many. Same seed, same calls of one thread: same order. */
void simdev_seed(uint64_t seed);

/* --- calls through the driver's API, for tests of who makes them --- */

/* How often a function was called so far. */
uint64_t simdev_calls(const char *function);

/* The nth call of a function from now on, counted from 1, answers success and does nothing; 0: none
 * any more, UINT64_MAX: every one. For cuStreamWaitEvent and cuEventRecord. SIMDEV_DROP=NAME:n does
 * the same from the start. */
void simdev_drop(const char *function, uint64_t nth);

/* The device-property profile in use, as cuDNN's DEVICEPROP descriptor takes it: one JSON object.
 * Lives as long as the process; NULL when it could not be read (every CUDA call then fails with
 * cudaErrorInitializationError). */
const char *simdev_profile_text(void);

#endif
