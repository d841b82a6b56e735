#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>

static struct job *pick_job(struct worker *worker)
{
    return &worker->job[rng_between(&worker->rng, 0, TRAFFIC_JOBS - 1)];
}

static struct route *pick_own(struct worker *worker)
{
    int64_t own = worker->traffic->options.streams;
    return &worker->route[worker->routes - rng_between(&worker->rng, 1, own)];
}

bool worker_call(struct worker *worker)
{
    struct route *route = route_pick(worker);
    struct job *job = pick_job(worker);
    struct manner manner = job_manner(job, &worker->rng, worker->traffic->options.empty_handed);
    return route_call(worker, route, job, manner);
}

/* An additional wait between two streams. */
static bool link_routes(struct worker *worker)
{
    struct route *from = route_pick(worker);
    struct route *to = route_pick(worker);
    route_lock(worker, from);
    cudaError_t error = cudaEventRecord(worker->link, from->stream);
    route_unlock(worker, from);
    TRY_CUDA(error, fail);
    route_lock(worker, to);
    error = cudaStreamWaitEvent(to->stream, worker->link, 0);
    route_unlock(worker, to);
    TRY_CUDA(error, fail);
    return true;
fail:
    return false;
}

static bool check_job(struct worker *worker)
{
    struct route *route = route_pick(worker);
    struct job *job = pick_job(worker);
    route_lock(worker, route);
    bool good = route_await(route, &job->place) && job_fetch(job, route->stream) &&
                route_leave(route, &job->place);
    cudaError_t error = good ? cudaStreamSynchronize(route->stream) : cudaSuccess;
    route_unlock(worker, route);
    TRY_CUDA(error, fail);
    if (good)
        job_check(worker, job);
    return good;
fail:
    return false;
}

/* Queries without waiting. An event query or a wait for the whole device would invalidate any
 * capture, so no thread may capture at that time. */
static bool look_around(struct worker *worker)
{
    struct traffic *traffic = worker->traffic;
    struct job *job = pick_job(worker);
    bool wait = rng_once_in(&worker->rng, 8);
    pthread_rwlock_wrlock(&traffic->captures);
    cudaError_t error = wait ? cudaDeviceSynchronize() : cudaEventQuery(job->place.used);
    pthread_rwlock_unlock(&traffic->captures);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return true;
    }
    TRY_CUDA(error, fail);
    return true;
fail:
    return false;
}

static bool renew(struct worker *worker)
{
    struct job *job = pick_job(worker);
    if (job->place.route == NULL) {
        TRY_CUDA(cudaEventDestroy(job->place.used), fail);
        job->place.used = NULL;
        TRY_CUDA(cudaEventCreateWithFlags(&job->place.used, cudaEventDisableTiming), fail);
    }
    return route_renew(worker, pick_own(worker));
fail:
    return false;
}

static bool drop(struct worker *worker)
{
    return graph_drop(&worker->graph[rng_between(&worker->rng, 0, TRAFFIC_GRAPHS - 1)]);
}

static const struct {
    int share;
    bool captures, settled; /* left out without captures; done in the steady state too */
    bool (*take)(struct worker *worker);
} STEPS[] = {{24, false, true, worker_call},  {10, true, true, graph_replay},
             {4, true, false, graph_capture}, {2, true, false, drop},
             {3, false, true, link_routes},   {2, false, true, check_job},
             {2, false, true, look_around},   {1, false, false, renew}};

#define STEP_KINDS ((int)(sizeof STEPS / sizeof *STEPS))

static bool allowed(const struct worker *worker, int kind, bool settled)
{
    return (!STEPS[kind].captures || !worker->traffic->options.no_capture) &&
           (!settled || STEPS[kind].settled);
}

static bool step(struct worker *worker, bool settled)
{
    int64_t shares = 0;
    for (int i = 0; i < STEP_KINDS; i++)
        shares += allowed(worker, i, settled) ? STEPS[i].share : 0;
    int64_t left = rng_between(&worker->rng, 1, shares);
    int kind = -1;
    while (left > 0) {
        kind++;
        left -= allowed(worker, kind, settled) ? STEPS[kind].share : 0;
    }
    return STEPS[kind].take(worker);
}

bool worker_steps(struct worker *worker, int64_t steps, bool settled)
{
    bool good = !worker->traffic->options.capture_first || settled || graph_capture(worker);
    for (int64_t i = 0; i < steps && good; i++)
        good = step(worker, settled);
    return good;
}

bool worker_warm(struct worker *worker)
{
    for (int i = 0; i < worker->routes; i++) {
        for (int j = 0; j < TRAFFIC_JOBS; j++) {
            struct job *job = &worker->job[j];
            struct manner manner =
                job_manner(job, &worker->rng, worker->traffic->options.empty_handed);
            if (!route_call(worker, &worker->route[i], job, manner))
                return false;
        }
    }
    return true;
}

void worker_begin(struct worker *worker, uint64_t seed)
{
    worker->seed = seed;
    worker->rng = rng_of(seed, (uint64_t)worker->number);
}

bool worker_enter(struct worker *worker)
{
    worker->route[ROUTE_PER_THREAD].serial = ++worker->serial;
    return home_enter(worker->home);
}

/* Drops the graphs, running or not, and looks at everything that was computed. */
bool worker_end(struct worker *worker)
{
    struct route *route = pick_own(worker);
    for (int i = 0; i < TRAFFIC_GRAPHS; i++)
        if (!graph_drop(&worker->graph[i]))
            return false;
    for (int i = 0; i < TRAFFIC_JOBS; i++) {
        struct job *job = &worker->job[i];
        if (!route_await(route, &job->place) || !job_fetch(job, route->stream))
            return false;
        job->place.route = NULL;
    }
    for (int i = 0; i < worker->routes; i++) {
        route_lock(worker, &worker->route[i]);
        cudaError_t error = cudaStreamSynchronize(worker->route[i].stream);
        route_unlock(worker, &worker->route[i]);
        TRY_CUDA(error, fail);
        worker->route[i].place.route = NULL;
    }
    for (int i = 0; i < TRAFFIC_GRAPHS; i++)
        worker->graph[i].place.route = NULL;
    for (int i = 0; i < TRAFFIC_JOBS; i++)
        job_check(worker, &worker->job[i]);
    return true;
fail:
    return false;
}

cudaError_t worker_allocate(struct worker *worker, void **memory, size_t bytes)
{
    worker->bytes += bytes;
    return cudaMalloc(memory, bytes);
}

static bool open_jobs(struct worker *worker)
{
    for (int i = 0; i < TRAFFIC_JOBS; i++) {
        struct job *job = &worker->job[i];
        int64_t only = worker->traffic->options.model;
        if (!job_open(worker, &worker->home->model[only < 0 ? i : only], job) ||
            !job_reset(job, NULL))
            return false;
        if ((size_t)job->plan.plan.workspace > worker->workspace_bytes)
            worker->workspace_bytes = (size_t)job->plan.plan.workspace;
    }
    return true;
}

static bool open_routes(struct worker *worker)
{
    worker->routes = ROUTE_FREE + (int)worker->traffic->options.streams;
    for (int i = 0; i < worker->routes; i++) {
        struct route *route = &worker->route[i];
        route->kind = i < ROUTE_FREE            ? (enum route_kind)i
                      : i % 2 == ROUTE_FREE % 2 ? ROUTE_FREE
                                                : ROUTE_BLOCKING;
        TRY_CUDA(cudaEventCreateWithFlags(&route->place.used, cudaEventDisableTiming), fail);
        if (worker->workspace_bytes > 0)
            TRY_CUDA(worker_allocate(worker, &route->workspace, worker->workspace_bytes), fail);
        if (!route_open(worker, route))
            return false;
    }
    return true;
fail:
    return false;
}

static bool open_graphs(struct worker *worker)
{
    for (int i = 0; i < TRAFFIC_GRAPHS; i++) {
        struct graph *graph = &worker->graph[i];
        TRY_CUDA(cudaEventCreateWithFlags(&graph->place.used, cudaEventDisableTiming), fail);
        for (int j = 0; j < 2 && worker->workspace_bytes > 0; j++)
            TRY_CUDA(worker_allocate(worker, &graph->workspace[j], worker->workspace_bytes), fail);
    }
    return true;
fail:
    return false;
}

bool worker_open(struct traffic *traffic, int64_t number, struct worker *worker)
{
    worker->traffic = traffic;
    worker->home = &traffic->home[number % traffic->options.homes];
    worker->number = number;
    if (!home_enter(worker->home))
        return false;
    TRY_CUDNN(cudnnCreate(&worker->handle), fail);
    TRY_CUDA(cudaEventCreateWithFlags(&worker->link, cudaEventDisableTiming), fail);
    return open_jobs(worker) && open_routes(worker) && open_graphs(worker);
fail:
    return false;
}

static void destroy_event(cudaEvent_t event)
{
    if (event != NULL)
        cudaEventDestroy(event);
}

void worker_close(struct worker *worker)
{
    if (worker->home == NULL || !home_enter(worker->home))
        return;
    for (int i = 0; i < TRAFFIC_GRAPHS; i++) {
        graph_drop(&worker->graph[i]);
        cudaFree(worker->graph[i].workspace[0]);
        cudaFree(worker->graph[i].workspace[1]);
        destroy_event(worker->graph[i].place.used);
    }
    for (int i = 0; i < worker->routes; i++) {
        struct route *route = &worker->route[i];
        cudaFree(route->workspace);
        destroy_event(route->place.used);
        if (route_is_own(route) && route->stream != NULL)
            cudaStreamDestroy(route->stream);
    }
    for (int i = 0; i < TRAFFIC_JOBS; i++)
        job_close(&worker->job[i]);
    destroy_event(worker->link);
    if (worker->handle != NULL)
        cudnnDestroy(worker->handle);
}
