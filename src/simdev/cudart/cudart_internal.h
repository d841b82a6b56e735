/* Interfaces between the files of the simulated libcudart.
 *
 * Locks: memory, queue, event, graph (also captures) and report each have a separate lock. They
 * nest as event -> graph -> queue. The locks of the report and of contexts may be taken while any
 * other is held. Every function is thread-safe unless its comment names a lock. */
#ifndef CUDART_INTERNAL_H
#define CUDART_INTERNAL_H

#include "simdev.h"
#include <stdatomic.h>

/* The owner of streams, events and memory. See cudart_context.h. */
struct simdev_owner {
    uint64_t context; /* id, never reused; 0: none */
    int device;
    unsigned pool; /* of memory: the id of its pool; 0: none */
};

/* --- state: one device, brought up by the first call of the process --- */

/* Brings the device up if necessary. Returns cudaSuccess, or the reason why there is no device:
 * unusable settings or a forked child (cudaErrorInitializationError), or the end of the process
 * (cudaErrorCudartUnloading). */
cudaError_t simdev_usable(void);
/* The same for a call whose result does not depend on settings that differ between runs of one
 * program. */
cudaError_t simdev_there(void);
/* Until simdev_manage(false), calls of this thread are those of NVML: they do not use CUDA, so that
 * children of a fork can. */
void simdev_manage(bool begins);
/* Begins a CUDA call and brings the device up if necessary. Returns an error if the call must fail
 * before it does anything: device unusable, forked child, inside a host function, earlier fault,
 * failure on request, no context. */
cudaError_t simdev_enter(const char *function);
/* The same for a call that needs no context. */
cudaError_t simdev_begin(const char *function);
cudaError_t simdev_begin_there(const char *function); /* as simdev_there */
/* Ends a CUDA call: remembers `error` as the calling thread's last error and returns it. */
cudaError_t simdev_leave(cudaError_t error);
/* An asynchronous fault: from now on every call returns `error`, as after a fault on a GPU. */
void simdev_fault(cudaError_t error);
/* The fault if there was one, else cudaSuccess. */
cudaError_t simdev_faulted(void);

/* --- devices: their profiles --- */

/* Reads SIMDEV_PROFILE and SIMDEV_PROFILE_1 to _15, SIMDEV_CAPACITY and SIMDEV_DEVICES. False,
 * after a violation that gives the reason, if one is unusable. */
bool simdev_device_init(void);
size_t simdev_device_capacity(int number);
/* Memory of each device that a process takes by its first use of it (SIMDEV_CONTEXT); 0: none. */
size_t simdev_device_context(void);
int simdev_device_count(void);

/* Returns cudaErrorInvalidDevice if there is no device of this number. */
cudaError_t simdev_check_device(int number);
const char *simdev_device_name(int number);
/* Path of the first device's profile, or "built-in". */
const char *simdev_device_profile(void);

/* --- report --- */

/* Reads SIMDEV_FAIL. False, after a violation that gives the reason, if it cannot be parsed. */
bool simdev_report_init(void);
/* A stream ran its first work. */
void simdev_report_stream(void);
/* Writes SIMDEV_REPORT if set, and the last line on stderr if there were violations. */
void simdev_report_write(void);

/* Counts a driver call. True if the call is to do nothing. */
bool simdev_should_drop(const char *function);

/* --- schedule --- */

/* Reads SIMDEV_SEED. */
void simdev_schedule_init(void);
bool simdev_schedule_on(void);
/* `stream` names the stream of each of `count` operations, oldest first. Returns the one to run
 * next. Without a seed, returns the last one. */
size_t simdev_schedule_pick(const uint64_t *stream, size_t count);

/* --- memory --- */

enum simdev_place {
    SIMDEV_PAGEABLE, /* no part of it is ours */
    SIMDEV_PINNED,   /* all of it inside one live page-locked host block */
    SIMDEV_DEVICE,   /* all of it inside one live device block */
    SIMDEV_DEAD      /* touches a freed block of the device, a guard, or more than one block */
};

enum simdev_kind {
    SIMDEV_KIND_PLAIN,
    SIMDEV_KIND_MANAGED,   /* the host reads and writes it without a call */
    SIMDEV_KIND_IMAGE,     /* a variable of the program: does not count as memory */
    SIMDEV_KIND_MAPPED,    /* mapped by the driver */
    SIMDEV_KIND_GRAPH,     /* of an allocation node: not there at first */
    SIMDEV_KIND_REGISTERED /* memory of the program, page-locked */
};

struct simdev_mem_totals {
    size_t live_bytes, peak_bytes, largest_allocation;
    uint64_t allocations, frees;
    uint64_t refused; /* refused for lack of capacity; of the last refusal: its bytes, and the live
                         bytes then */
    size_t last_refused_bytes, last_refused_live;
};

/* A block of `place` (DEVICE or PINNED), poisoned and guarded, aligned to 512 bytes and not more.
 * `owner`: its context, or 0 for memory of a device's pool, which survives contexts. The bytes of a
 * pool count as simdev_mem_hold counted them. */
cudaError_t simdev_mem_allocate(enum simdev_place place, struct simdev_owner owner, size_t bytes,
                                enum simdev_kind kind, void **out);
/* A variable's storage on a device; `initial` NULL: zeros. */
cudaError_t simdev_mem_allocate_image(int device, size_t bytes, const void *initial, void **out);
/* Registers foreign memory as a block of `kind` (MAPPED or REGISTERED). Only simdev_mem_remove ends
 * it, where bytes = 0 means its whole length. An error if it touches an existing block. Remove
 * returns false if there is no such block. */
cudaError_t simdev_mem_add(enum simdev_place place, struct simdev_owner owner, void *begin,
                           size_t bytes, enum simdev_kind kind);
bool simdev_mem_remove(const void *begin, size_t bytes, enum simdev_kind kind);
/* Counts device memory that is not a block. False if it would exceed the device's capacity.
 * simdev_mem_uncount ends this: `freed` counts a free, otherwise the allocation does not count
 * either. */
bool simdev_mem_count(int device, size_t bytes);
void simdev_mem_uncount(int device, size_t bytes, bool freed);
/* Counts device memory that a pool holds. The record shows it with the allocation that follows.
 * False if it would exceed the device's capacity: `requested` bytes then count as refused.
 * simdev_mem_give_back ends this. */
bool simdev_mem_hold(int device, size_t bytes, size_t requested);
void simdev_mem_give_back(int device, size_t bytes);
/* Frees a block now. cudaErrorInvalidValue and a violation if `ptr` is not the start of a live
 * block of `place`. */
cudaError_t simdev_mem_free(const char *function, enum simdev_place place, void *ptr);
/* First half of a free in stream order: the bytes no longer count and the host must not use the
 * block, but work queued earlier may. The second half is simdev_mem_free_queued, on the stream. */
cudaError_t simdev_mem_queue_free(void *ptr);
void simdev_mem_unqueue_free(void *ptr); /* takes the first half back */
void simdev_mem_free_queued(void *ptr);
/* The location of [ptr, ptr + bytes). bytes = 0 counts as 1. */
enum simdev_place simdev_mem_place(const void *ptr, size_t bytes);
/* The block that contains `ptr`. False if no live block does. */
struct simdev_mem_info {
    void *begin;
    size_t bytes;
    enum simdev_kind kind;
    enum simdev_place place;
    struct simdev_owner owner;
};
bool simdev_mem_block(const void *ptr, struct simdev_mem_info *info);
/* Of one device, or of all devices (-1). */
struct simdev_mem_totals simdev_mem_totals(int device);
/* Checks all guards and all poison of freed blocks. Each damaged block is reported once, as a
 * violation. */
void simdev_mem_check(void);
/* Frees the memory of a context, and with `pool` that of its device's pool. */
void simdev_mem_reset(struct simdev_owner owner, bool pool);
/* The program has freed memory, of a pool or not. */
void simdev_pool_freed(const void *begin, const struct simdev_owner *owner, size_t bytes);
/* A block of kind SIMDEV_KIND_GRAPH is there from `begin` to `pause` or to a free by the program,
 * any number of times. `end` destroys it. */
void simdev_mem_graph_begin(void *ptr);
void simdev_mem_graph_pause(void *ptr);
void simdev_mem_graph_end(void *ptr);
/* The program has waited for a stream, an event or a context: pools give back the unused memory
 * that they hold above their release threshold. */
void simdev_pool_synchronised(void);
/* Empties the pools of a device, whose memory was destroyed with its primary context. */
void simdev_pool_reset(int device);
/* The handle of the pool with this id; NULL: there is none. */
cudaMemPool_t simdev_pool_handle(unsigned pool);
void simdev_mem_lock(void);
void simdev_mem_unlock(void);

/* --- work and handles --- */

/* Work that can be run. Each reference shares it, and the last release destroys the work. */
struct simdev_item {
    struct simdev_work work;
    atomic_uint refs;
};

/* With one reference; NULL if memory is short. */
struct simdev_item *simdev_item_create(const struct simdev_work *work);
struct simdev_item *simdev_item_retain(struct simdev_item *item);
void simdev_item_release(struct simdev_item *item); /* NULL: no effect */
/* Undoes simdev_item_create. The caller keeps ownership of the work. */
void simdev_item_abandon(struct simdev_item *item);

/* A set of live handles of the program, {NULL} when empty. Callers lock. */
bool simdev_handle_add(void **set, void *handle); /* false if memory is short */
bool simdev_handle_known(void *const *set, const void *handle);
void simdev_handle_remove(void **set, const void *handle);

/* --- queue: streams, and the work on them --- */

struct simdev_clock;
struct simdev_op; /* one piece of work on a stream; reference counted */

struct simdev_task {
    struct simdev_item
        *item;          /* the queue takes a separate reference; NULL: only a place in the order */
    bool host_function; /* code of the program: exit() does not wait for it */
    struct simdev_op *after; /* a dependency in addition to the stream's order; NULL: none */
    uint64_t nanoseconds;    /* duration in the time model; 0: the cost of its work */
};

struct simdev_stream_info {
    uint64_t id; /* never given twice */
    struct simdev_owner owner;
    unsigned flags;
    int priority;
    bool is_legacy;
};

/* Queues a task. On success `*op` (unless op is NULL) is a reference for simdev_op_release. */
cudaError_t simdev_queue_submit(cudaStream_t stream, const struct simdev_task *task,
                                struct simdev_op **op);
/* The same for work, also during a capture. On an error the caller keeps ownership of the work. */
cudaError_t simdev_queue_work(cudaStream_t stream, const struct simdev_work *work,
                              struct simdev_op **op);
cudaError_t simdev_queue_create(unsigned flags, int priority, cudaStream_t *stream);
cudaError_t simdev_queue_destroy(cudaStream_t stream);
cudaError_t simdev_queue_describe(cudaStream_t stream, struct simdev_stream_info *info);
/* Waits for, or queries, the work queued on the stream before the call. */
cudaError_t simdev_queue_wait(cudaStream_t stream);
cudaError_t simdev_queue_query(cudaStream_t stream);
/* The same for all streams of a context. */
void simdev_queue_wait_all(uint64_t context);
/* Waits until all work queued before the call is done, except host functions and the work that
 * waits for them. */
void simdev_queue_settle(void);
/* Destroys every stream of a context. */
void simdev_queue_reset(uint64_t context);
/* True on a thread that runs a stream's work. */
bool simdev_queue_on_worker(void);
/* Records that the host has seen the end of the work of this clock. NULL: no effect. */
void simdev_queue_known(const struct simdev_clock *clock);
/* The schedule has changed. */
void simdev_queue_wake(void);
void simdev_queue_lock(void);
void simdev_queue_unlock(void);

/* True if the operation has run. It stays valid until simdev_op_release. */
bool simdev_op_done(struct simdev_op *op);
/* Blocks the calling thread until the operation has run. */
void simdev_op_wait(struct simdev_op *op);
/* The time of completion in nanoseconds, of CLOCK_MONOTONIC or of the time model. Valid once the
 * operation is done. */
uint64_t simdev_op_time(struct simdev_op *op);
void simdev_op_retain(struct simdev_op *op);
void simdev_op_release(struct simdev_op *op);

/* --- capture: streams whose work becomes graph nodes instead of running --- */

/* The reference of an event that was recorded in a capture. */
struct simdev_mark {
    unsigned long long capture; /* 0: none */
    cudaGraphNode_t *node;      /* owned */
    size_t nodes;
};

/* simdev_enqueue, with an `*op` as from simdev_queue_submit. `*op` is NULL if the work was
 * captured. */
cudaError_t simdev_capture_submit(cudaStream_t stream, const struct simdev_work *work,
                                  struct simdev_op **op);
/* The error for a call that would wait for the stream, query it, destroy it or order memory by it.
 * An error has invalidated the captures concerned. simdev.h has two more of this kind. */
cudaError_t simdev_capture_refuse(cudaStream_t stream);
/* Marks the place in a capture; a mark without capture if the stream is not capturing. */
cudaError_t simdev_capture_mark(cudaStream_t stream, struct simdev_mark *mark);
/* Makes the stream's next node depend on the mark. A stream that was not capturing joins.
 * `*captured` is false if neither is captured. `recorded`: the event was recorded. */
cudaError_t simdev_capture_wait(cudaStream_t stream, const struct simdev_mark *mark, bool recorded,
                                bool *captured);
/* The error for a call that would wait for the mark or query it. */
cudaError_t simdev_capture_refuse_mark(const struct simdev_mark *mark);
/* Ends the captures that streams of a context take part in. */
void simdev_capture_reset(uint64_t context);

/* --- graph --- */

/* Adds work as a node. On an error the caller keeps ownership of the work. */
cudaError_t simdev_graph_add_work(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *dependencies, size_t count,
                                  const struct simdev_work *work);
/* Replaces the work of a node by work of the same type and maker. On an error the caller keeps
 * ownership of the work. */
cudaError_t simdev_graph_set_work(cudaGraphNode_t node, const struct simdev_work *work);
/* Destroys every graph and executable graph. */
void simdev_graph_reset(void);
void simdev_graph_lock(void);
void simdev_graph_unlock(void);

/* --- event --- */

/* Destroys every event of a context. */
void simdev_event_reset(uint64_t context);
void simdev_event_lock(void);
void simdev_event_unlock(void);

#endif
