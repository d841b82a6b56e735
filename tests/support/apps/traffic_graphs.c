#include "traffic.h"

#include <stdio.h>

/* A capture under way. */
struct take {
    struct worker *worker;
    struct graph *graph;
    struct route *branch[2];
    int branches;
};

bool graph_drop(struct graph *graph)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* other threads may capture */
    TRY_CUDA(cudaThreadExchangeStreamCaptureMode(&mode), fail);
    if (graph->exec != NULL)
        TRY_CUDA(cudaGraphExecDestroy(graph->exec), fail);
    TRY_CUDA(cudaThreadExchangeStreamCaptureMode(&mode), fail);
    graph->exec = NULL;
    if (graph->graph != NULL)
        TRY_CUDA(cudaGraphDestroy(graph->graph), fail);
    graph->graph = NULL;
    return true;
fail:
    return false;
}

/* Inside the capture the order of before does not count: a replay orders all calls at once. */
static bool capture_call(struct take *take)
{
    struct worker *worker = take->worker;
    struct graph *graph = take->graph;
    struct job *job = &worker->job[rng_between(&worker->rng, 0, TRAFFIC_JOBS - 1)];
    struct manner manner = job_manner(job, &worker->rng, worker->traffic->options.empty_handed);
    int branch = (int)rng_between(&worker->rng, 0, take->branches - 1);
    cudaStream_t stream = take->branch[branch]->stream;
    if (job->branch >= 0 && job->branch != branch)
        TRY_CUDA(cudaStreamWaitEvent(stream, job->captured, 0), fail);
    if (!job_start(worker, job, manner, stream, graph->workspace[branch]))
        return false;
    TRY_CUDA(cudaEventRecord(job->captured, stream), fail);
    job->branch = branch;
    graph->call[graph->calls++] = (struct captured_call){job, manner};
    return true;
fail:
    return false;
}

/* Eager calls continue during the capture, on other streams. */
static bool capture_calls(struct take *take)
{
    struct worker *worker = take->worker;
    int64_t calls = rng_between(&worker->rng, 1, TRAFFIC_GRAPH_CALLS);
    for (int64_t i = 0; i < calls; i++) {
        if (!capture_call(take))
            return false;
        if (rng_once_in(&worker->rng, 4) && !worker_call(worker))
            return false;
    }
    return true;
}

static bool link_branches(const struct take *take, int from, int to)
{
    TRY_CUDA(cudaEventRecord(take->worker->link, take->branch[from]->stream), fail);
    TRY_CUDA(cudaStreamWaitEvent(take->branch[to]->stream, take->worker->link, 0), fail);
    return true;
fail:
    return false;
}

static bool capture_branches(struct take *take)
{
    return (take->branches == 1 || link_branches(take, 0, 1)) && capture_calls(take) &&
           (take->branches == 1 || link_branches(take, 1, 0));
}

/* Makes a call that no capture allows. */
static bool spoil(const struct take *take)
{
    bool refused = cudaStreamSynchronize(take->branch[0]->stream) != cudaSuccess;
    if (!refused)
        fputs("traffic: a capture was not spoilt by waiting for its stream\n", stderr);
    (void)cudaGetLastError();
    return refused;
}

/* The capture has ended when it returns, also on failure. */
static bool record(struct take *take, enum cudaStreamCaptureMode mode, bool spoilt)
{
    cudaStream_t stream = take->branch[0]->stream;
    TRY_CUDA(cudaStreamBeginCapture(stream, mode), fail);
    bool good = capture_branches(take) && (!spoilt || spoil(take));
    cudaError_t ended = cudaStreamEndCapture(stream, &take->graph->graph);
    if (good && spoilt && ended == cudaErrorStreamCaptureInvalidated) {
        (void)cudaGetLastError();
        take->graph->graph = NULL;
        return true;
    }
    TRY_CUDA(ended, fail);
    return good;
fail:
    take->graph->graph = NULL;
    return false;
}

/* Its own streams only: on one of all threads' another could be at work. */
static void pick_branches(struct take *take)
{
    struct worker *worker = take->worker;
    struct rng *rng = &worker->rng;
    int first = 0;
    while (!route_is_own(&worker->route[first]))
        first++;
    int own = worker->routes - first;
    int64_t chosen = rng_between(rng, -1, own - 1);
    take->branch[0] = &worker->route[chosen < 0 ? ROUTE_PER_THREAD : first + chosen];
    take->branches = 1;
    if (own > 1 && rng_once_in(rng, 2)) {
        int64_t other = rng_between(rng, 1, own - 1);
        take->branch[1] = &worker->route[first + (chosen < 0 ? other : (chosen + other) % own)];
        take->branches = 2;
    }
}

/* Until the end of the capture, no thread may wait for the whole device, nor use the legacy default
 * stream if it would wait for the captured stream. */
static void hold(struct take *take)
{
    struct worker *worker = take->worker;
    bool blocking = false;
    pthread_rwlock_rdlock(&worker->traffic->captures);
    for (int i = 0; i < take->branches; i++) {
        take->branch[i]->captures = true;
        blocking = blocking || route_blocks(take->branch[i]);
    }
    if (blocking)
        pthread_mutex_lock(&worker->traffic->legacy);
    worker->legacy_held = blocking;
    for (int i = 0; i < TRAFFIC_JOBS; i++)
        worker->job[i].branch = -1;
}

static void let_go(struct take *take)
{
    struct worker *worker = take->worker;
    if (worker->legacy_held)
        pthread_mutex_unlock(&worker->traffic->legacy);
    worker->legacy_held = false;
    for (int i = 0; i < take->branches; i++)
        take->branch[i]->captures = false;
    pthread_rwlock_unlock(&worker->traffic->captures);
}

/* Most programs keep the graph no longer than they need it. */
static bool instantiate(struct worker *worker, struct graph *graph)
{
    TRY_CUDA(cudaGraphInstantiate(&graph->exec, graph->graph, 0), fail);
    if (rng_once_in(&worker->rng, 3))
        return true;
    TRY_CUDA(cudaGraphDestroy(graph->graph), fail);
    graph->graph = NULL;
    return true;
fail:
    return false;
}

bool graph_capture(struct worker *worker)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    struct take take = {.worker = worker,
                        .graph = &worker->graph[rng_between(&worker->rng, 0, TRAFFIC_GRAPHS - 1)]};
    bool spoilt = rng_once_in(&worker->rng, 10);
    if (!graph_drop(take.graph))
        return false;
    take.graph->calls = 0;
    pick_branches(&take);
    hold(&take);
    int64_t mode = worker->traffic->options.mode;
    bool good = record(&take, modes[mode < 0 ? rng_between(&worker->rng, 0, 2) : mode], spoilt);
    let_go(&take);
    worker->tally.captures += good && !spoilt;
    worker->tally.spoilt += good && spoilt;
    return good && (spoilt || instantiate(worker, take.graph));
}

static bool launch(struct route *route, struct graph *graph)
{
    for (int i = 0; i < graph->calls; i++)
        if (!route_await(route, &graph->call[i].job->place))
            return false;
    if (!route_await(route, &graph->place))
        return false;
    TRY_CUDA(cudaGraphLaunch(graph->exec, route->stream), fail);
    for (int i = 0; i < graph->calls; i++)
        if (!route_leave(route, &graph->call[i].job->place))
            return false;
    return route_leave(route, &graph->place);
fail:
    return false;
}

bool graph_replay(struct worker *worker)
{
    struct graph *graph = &worker->graph[rng_between(&worker->rng, 0, TRAFFIC_GRAPHS - 1)];
    struct route *route = route_pick(worker);
    if (graph->exec == NULL)
        return true;
    route_lock(worker, route);
    bool good = launch(route, graph);
    route_unlock(worker, route);
    for (int i = 0; i < graph->calls && good; i++)
        job_advance(graph->call[i].job);
    worker->tally.replays += good;
    return good;
}
