/* The parts of the program `traffic`: convolutions on several streams and threads, eager, captured
 * and replayed, in an order that leaves the device as much freedom as possible. The program's own
 * events order all uses of memory, so its own work has no race. Functions that return bool print
 * the failure on stderr before they return false. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "fused.h"

#include <pthread.h>

#define TRAFFIC_MODELS 11
#define TRAFFIC_JOBS TRAFFIC_MODELS /* of a thread */
#define TRAFFIC_ROUTES 12
#define TRAFFIC_GRAPHS 3
#define TRAFFIC_GRAPH_CALLS 4
#define TRAFFIC_THREADS 16
#define TRAFFIC_HOMES 4
#define DEVICE_UNSTEADY 5

/* --- the computed problems --- */

/* A problem with its operands and its two results, shared by all threads and never changed. */
struct model {
    enum conv_api api;
    bool is_fused; /* `fused` is the problem, else `conv` */
    struct conv_problem conv;
    struct fused_problem fused;
    int operands;
    int result; /* one of them */
    const struct tensor *tensor[FUSED_MAX_TENSORS];
    void *image[FUSED_MAX_TENSORS];  /* host; NULL for a tensor without its own buffer */
    void *master[FUSED_MAX_TENSORS]; /* a copy on the device */
    bool toggles;                    /* a call changes one result into the other, and back */
    void *expected[2];               /* the result's storage: [1] after a call, or that between */
};

/* A context, and the state that its threads share. */
struct home {
    int device;
    void *context; /* NULL: the device's own */
    cudaStream_t shared;
    struct model model[TRAFFIC_MODELS];
    size_t bytes; /* of the masters */
};

/* --- streams --- */

enum route_kind {
    ROUTE_LEGACY,     /* the legacy default stream */
    ROUTE_PER_THREAD, /* the thread's own */
    ROUTE_SHARED,     /* one that all threads use */
    ROUTE_FREE,       /* the thread's, non-blocking */
    ROUTE_BLOCKING    /* the thread's, in the order of the legacy default stream */
};

struct route;

/* Memory, and its last use. */
struct place {
    cudaEvent_t used;
    const struct route *route; /* NULL: its last use has ended */
    uint64_t serial;           /* of the route's stream then */
};

/* A stream, or one after the other, with a workspace. */
struct route {
    enum route_kind kind;
    cudaStream_t stream;
    uint64_t serial;
    bool captures;
    void *workspace;
    struct place place; /* of the workspace */
};

/* --- calls --- */

/* Work around a call, before it. */
struct manner {
    int refreshed; /* operand that is destroyed and copied again; -1: none */
    bool wiped;    /* the result is overwritten */
    bool empty;    /* a legacy call without a workspace */
};

/* A model in its own memory, to be run again and again. */
struct job {
    const struct model *model;
    struct fused_plan plan;
    bool planned;
    void *device[FUSED_MAX_TENSORS]; /* some of them the model's masters */
    void *fetched;                   /* host, page-locked */
    int state;                       /* of the model's results, the one that it has at the end */
    struct place place;
    cudaEvent_t captured; /* after it in the current capture */
    int branch;           /* where it was captured last; -1: it was not */
};

struct captured_call {
    struct job *job;
    struct manner manner;
};

struct graph {
    cudaGraph_t graph; /* NULL: destroyed as soon as it was instantiated */
    cudaGraphExec_t exec;
    int calls;
    struct captured_call call[TRAFFIC_GRAPH_CALLS];
    void *workspace[2]; /* of the branches */
    struct place place; /* of the workspaces */
};

/* --- threads --- */

enum removals {
    REMOVALS_NONE,
    REMOVALS_ALL,        /* calls on all streams in turn */
    REMOVALS_INDEPENDENT /* on those that do not wait for others by themselves */
};

struct traffic_options {
    int64_t first, count; /* seeds */
    int64_t streams;      /* that each thread makes */
    int64_t threads;
    int64_t steps;
    int64_t model; /* of all jobs; -1: each has another */
    int64_t homes; /* devices, or contexts of one device */
    bool contexts;
    bool in_turn; /* threads are one, and take turns */
    bool no_capture;
    bool capture_first; /* a seed begins with a capture */
    int mode;           /* of captures; -1: any */
    bool steady;
    bool empty_handed;
    enum removals removals;
};

struct traffic_tally {
    uint64_t calls, captures, spoilt, replays, checks, wrong;
};

struct traffic_counts {
    uint64_t calls[DEVICE_UNSTEADY];
    size_t free; /* bytes of device memory */
};

/* State that all threads share. */
struct traffic {
    struct traffic_options options;
    struct home home[TRAFFIC_HOMES];
    pthread_rwlock_t captures; /* held, for reading, while something is being captured */
    pthread_mutex_t legacy;    /* the legacy default stream and captures that it would spoil */
    pthread_barrier_t together;
    struct traffic_counts counts;
};

struct worker {
    struct traffic *traffic;
    struct home *home;
    int64_t number;
    cudnnHandle_t handle;
    struct rng rng;
    uint64_t serial; /* of the stream made last */
    struct job job[TRAFFIC_JOBS];
    int routes;
    struct route route[TRAFFIC_ROUTES];
    struct graph graph[TRAFFIC_GRAPHS];
    size_t workspace_bytes;
    size_t bytes;     /* of device memory, all in all */
    cudaEvent_t link; /* for this and that */
    bool legacy_held; /* by this thread, while it captures on a stream for which the legacy stream
                         would wait */
    uint64_t seed;
    struct traffic_tally tally;
    bool good; /* how the seed went */
};

/* Makes an opened context current and creates the objects that its threads share. The home owns
 * them, also after a failure. */
bool home_open(const struct traffic_options *options, int number, struct home *home);
bool home_enter(const struct home *home);
void home_close(struct home *home);
bool models_open(struct home *home);
void models_close(struct home *home);

/* Makes a worker's handle, plans, buffers and streams. The worker owns them, also after a failure.
 * Not to be called during a capture. */
bool worker_open(struct traffic *traffic, int64_t number, struct worker *worker);
void worker_close(struct worker *worker);
/* Device memory for it, counted. */
cudaError_t worker_allocate(struct worker *worker, void **memory, size_t bytes);
/* A seed's traffic between two idle moments of the device: begin, any number of steps, end. */
void worker_begin(struct worker *worker, uint64_t seed);
/* To be called first by every thread that goes on with it: its default stream is its own. */
bool worker_enter(struct worker *worker);
/* Steps of the `settled` kind make and capture nothing. */
bool worker_steps(struct worker *worker, int64_t steps, bool settled);
/* Every call on every stream, so that all of them have met. */
bool worker_warm(struct worker *worker);
bool worker_end(struct worker *worker);
/* A call like those of the steps. */
bool worker_call(struct worker *worker);

/* Jobs: contents and plans. */
bool job_open(struct worker *worker, const struct model *model, struct job *job);
void job_close(struct job *job);
/* Sets the job's buffers to its model's first result, before the next work on the stream. */
bool job_reset(struct job *job, cudaStream_t stream);
struct manner job_manner(struct job *job, struct rng *rng, bool empty_handed);
/* Starts the call on a stream; without any order but the stream's. */
bool job_start(struct worker *worker, struct job *job, struct manner manner, cudaStream_t stream,
               void *workspace);
/* Records the result of such a call. */
void job_advance(struct job *job);
bool job_fetch(struct job *job, cudaStream_t stream);
/* Checks the fetched result when it has arrived. */
void job_check(struct worker *worker, struct job *job);

/* Gives a stream to a route without one; of the route's kind or of the worker's choice. */
bool route_open(struct worker *worker, struct route *route);
/* Destroys the stream, with any work that still runs on it, and makes another. */
bool route_renew(struct worker *worker, struct route *route);
/* True if its stream is the worker's to destroy and to capture. */
bool route_is_own(const struct route *route);
/* True if the legacy default stream waits for the work on it. */
bool route_blocks(const struct route *route);
/* One that is not capturing, and that nothing under way forbids to use. */
struct route *route_pick(struct worker *worker);
/* Held during work on a route. */
void route_lock(struct worker *worker, const struct route *route);
void route_unlock(struct worker *worker, const struct route *route);
/* Makes the stream wait for a place's last user unless it is ordered after it anyway. */
bool route_await(const struct route *route, const struct place *place);
/* Makes the stream the place's last user. */
bool route_leave(const struct route *route, struct place *place);
/* A job's call in its turn. */
bool route_call(struct worker *worker, struct route *route, struct job *job, struct manner manner);

/* Captures a few calls as a graph, which replaces an earlier one. */
bool graph_capture(struct worker *worker);
/* True also if there is no graph. */
bool graph_replay(struct worker *worker);
/* Destroys it, running or not. */
bool graph_drop(struct graph *graph);

/* --- the simulated device: functions that it exports in addition to CUDA --- */

/* On any other device nothing below does anything. */
bool device_simulated(void);
void device_seed(uint64_t seed);
uint64_t device_violations(void);
/* Calls of a function of the driver API so far, by its exported name. The program itself makes
 * none. */
uint64_t device_calls(const char *name);
/* The calls among them that the library must not make in the steady state: memory, and waits of the
 * host. */
extern const char *const device_unsteady[DEVICE_UNSTEADY];
/* The nth such call from now on answers success and does nothing; 0: none any more. */
void device_drop(const char *name, uint64_t nth);

/* Leaves out, one at a time, each of the driver calls by which streams wait for each other; false
 * unless each omission is noticed. */
bool removals_run(struct worker *worker);

#endif
