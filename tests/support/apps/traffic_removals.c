#include "traffic.h"

#include <inttypes.h>
#include <stdio.h>

/* Number of calls of a driver function in one run of the scenario. */
struct count {
    uint64_t before_last; /* call */
    uint64_t all;
};

/* One stream after the other: of all, or of those that do not wait for others by themselves. */
static struct route *turn(struct worker *worker, int call)
{
    bool independent = worker->traffic->options.removals == REMOVALS_INDEPENDENT;
    struct route *chosen[TRAFFIC_ROUTES] = {NULL};
    int count = 0;
    for (int i = 0; i < worker->routes; i++) {
        struct route *route = &worker->route[i];
        if (!independent || (route->kind != ROUTE_LEGACY && !route_blocks(route)))
            chosen[count++] = route;
    }
    return count > 0 ? chosen[call % count] : NULL;
}

/* Writes the operands before the call and reads the result after it, so that all tiles are ordered
 * on both sides. */
static bool call(struct worker *worker, int number)
{
    struct route *route = turn(worker, number);
    struct job *job = &worker->job[number];
    struct manner manner = {.refreshed = 0, .wiped = !job->model->toggles};
    while (job->model->master[manner.refreshed] == NULL ||
           job->device[manner.refreshed] == job->model->master[manner.refreshed])
        manner.refreshed++;
    return route_call(worker, route, job, manner) && job_fetch(job, route->stream) &&
           route_leave(route, &job->place);
}

/* The same calls each time, from an idle device to an idle device. */
static bool scenario(struct worker *worker, const char *counted, struct count *count)
{
    bool good = true;
    uint64_t first = device_calls(counted);
    worker_begin(worker, 1);
    device_seed(1);
    for (int i = 0; i < TRAFFIC_JOBS && good; i++) {
        count->before_last = device_calls(counted) - first;
        good = call(worker, i);
    }
    count->all = device_calls(counted) - first;
    TRY_CUDA(cudaDeviceSynchronize(), fail);
    for (int i = 0; i < TRAFFIC_JOBS && good; i++)
        worker->job[i].place.route = NULL;
    for (int i = 0; i < worker->routes; i++)
        worker->route[i].place.route = NULL;
    return good;
fail:
    return false;
}

/* Results of before may be wrong. */
static bool start_over(struct worker *worker)
{
    for (int i = 0; i < TRAFFIC_JOBS; i++)
        if (!job_reset(&worker->job[i], NULL))
            return false;
    TRY_CUDA(cudaDeviceSynchronize(), fail);
    return true;
fail:
    return false;
}

/* True if the scenario without its nth call of the function is found to be wrong. */
static bool is_found_out(struct worker *worker, const char *function, uint64_t nth)
{
    struct count count;
    uint64_t violations = device_violations();
    device_drop(function, nth);
    bool good = scenario(worker, function, &count);
    device_drop(function, 0);
    return !good || device_violations() > violations;
}

static bool remove_each(struct worker *worker, const char *function, bool is_record)
{
    struct count count = {.all = 0};
    uint64_t violations = device_violations();
    /* Objects that are made once exist from here on. */
    for (int i = 0; i < 2; i++)
        if (!start_over(worker) || !scenario(worker, function, &count))
            return false;
    if (device_violations() > violations) {
        fputs("traffic: the scenario is wrong with nothing left out\n", stderr);
        return false;
    }
    /* A record for the next user of the memory has no effect at the end. */
    uint64_t last = is_record ? count.before_last : count.all;
    uint64_t missed = 0;
    for (uint64_t i = 1; i <= last; i++) {
        if (!start_over(worker) || is_found_out(worker, function, i))
            continue;
        fprintf(stderr, "traffic: no race is reported without call %" PRIu64 " of %s\n", i,
                function);
        missed++;
    }
    printf("traffic: %s: %" PRIu64 " calls, left out one at a time, %" PRIu64 " not missed\n",
           function, last, missed);
    return last > 0 && missed == 0;
}

bool removals_run(struct worker *worker)
{
    bool waits = remove_each(worker, "cuStreamWaitEvent", false);
    bool records = remove_each(worker, "cuEventRecord", true);
    return waits && records && start_over(worker);
}
