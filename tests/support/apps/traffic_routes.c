#include "traffic.h"

bool route_blocks(const struct route *route)
{
    return route->kind == ROUTE_PER_THREAD || route->kind == ROUTE_BLOCKING;
}

/* The legacy default stream and the blocking ones wait for each other by themselves. */
static bool in_order(const struct route *route, const struct place *place)
{
    const struct route *last = place->route;
    if (last == NULL)
        return true;
    if (last->serial != place->serial)
        return false; /* its stream is destroyed */
    return last == route || (route->kind == ROUTE_LEGACY && route_blocks(last)) ||
           (last->kind == ROUTE_LEGACY && route_blocks(route));
}

bool route_await(const struct route *route, const struct place *place)
{
    if (in_order(route, place))
        return true;
    TRY_CUDA(cudaStreamWaitEvent(route->stream, place->used, 0), fail);
    return true;
fail:
    return false;
}

bool route_leave(const struct route *route, struct place *place)
{
    TRY_CUDA(cudaEventRecord(place->used, route->stream), fail);
    place->route = route;
    place->serial = route->serial;
    return true;
fail:
    return false;
}

bool route_call(struct worker *worker, struct route *route, struct job *job, struct manner manner)
{
    route_lock(worker, route);
    bool good = route_await(route, &job->place) && route_await(route, &route->place) &&
                job_start(worker, job, manner, route->stream, route->workspace) &&
                route_leave(route, &job->place) && route_leave(route, &route->place);
    route_unlock(worker, route);
    if (good)
        job_advance(job);
    worker->tally.calls += good;
    return good;
}

struct route *route_pick(struct worker *worker)
{
    for (;;) {
        struct route *route = &worker->route[rng_between(&worker->rng, 0, worker->routes - 1)];
        if (!route->captures && !(route->kind == ROUTE_LEGACY && worker->legacy_held))
            return route;
    }
}

void route_lock(struct worker *worker, const struct route *route)
{
    if (route->kind == ROUTE_LEGACY)
        pthread_mutex_lock(&worker->traffic->legacy);
}

void route_unlock(struct worker *worker, const struct route *route)
{
    if (route->kind == ROUTE_LEGACY)
        pthread_mutex_unlock(&worker->traffic->legacy);
}

bool route_open(struct worker *worker, struct route *route)
{
    unsigned flags = route->kind == ROUTE_FREE ? cudaStreamNonBlocking : cudaStreamDefault;
    route->serial = ++worker->serial;
    switch (route->kind) {
    case ROUTE_LEGACY:
        route->stream = rng_once_in(&worker->rng, 2) ? NULL : cudaStreamLegacy;
        return true;
    case ROUTE_PER_THREAD:
        route->stream = cudaStreamPerThread;
        return true;
    case ROUTE_SHARED:
        route->stream = worker->home->shared;
        return true;
    default:
        TRY_CUDA(cudaStreamCreateWithFlags(&route->stream, flags), fail);
        return true;
    }
fail:
    route->stream = NULL;
    return false;
}

bool route_is_own(const struct route *route)
{
    return route->kind == ROUTE_FREE || route->kind == ROUTE_BLOCKING;
}

bool route_renew(struct worker *worker, struct route *route)
{
    TRY_CUDA(cudaStreamDestroy(route->stream), fail);
    route->kind = rng_once_in(&worker->rng, 2) ? ROUTE_FREE : ROUTE_BLOCKING;
    return route_open(worker, route);
fail:
    return false;
}
