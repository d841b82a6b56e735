/* Mixed traffic: convolutions of all directions, alone and fused, eager, captured and replayed, on
 * all kinds of streams and from several threads, seed after seed; every result is compared with a
 * plain host loop. */
#include "traffic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: traffic [--seeds FIRST:COUNT] [--streams 3] [--threads 1 [--in-turn]] [--steps 40]\n"
    "               [--devices N | --contexts N] [--model I] [--empty-handed]\n"
    "               [--no-capture | [--capture-first] [--mode global|thread-local|relaxed]]\n"
    "               [--steady | --removals all|independent]\n"
    "Runs mixed traffic of eleven convolutions, or of eleven times the I-th, for each of the seeds "
    "(1:10), on as\n"
    "many streams in addition to the default ones and from as many threads, and checks all "
    "results.\n"
    "--in-turn      one thread does the work of all, one after the other\n"
    "--empty-handed some legacy calls bring no workspace\n"
    "--capture-first each seed begins with a capture\n"
    "--steady       as many steps again, in which no memory may be taken and nothing waited for "
    "through\n"
    "               the driver API\n"
    "--removals     a fixed order of calls, again and again, of which each wait and record that "
    "comes\n"
    "               through the driver API is left out once, which must be found out;\n"
    "               on all streams, or on those that do not wait for others by themselves\n"
    "The last two need the simulated device.\n"
    "Status: 0, 1 on a wrong result or an error, 2 on usage.\n";

/* Counts that must not change in the steady state. */
static bool take_counts(struct traffic_counts *counts)
{
    size_t total;
    for (int i = 0; i < DEVICE_UNSTEADY; i++)
        counts->calls[i] = device_calls(device_unsteady[i]);
    TRY_CUDA(cudaMemGetInfo(&counts->free, &total), fail);
    return true;
fail:
    return false;
}

static bool unchanged(const struct traffic_counts *before)
{
    struct traffic_counts after;
    if (!take_counts(&after))
        return false;
    bool same = after.free == before->free;
    if (!same)
        fprintf(stderr, "traffic: %zu bytes free, and %zu in the steady state\n", before->free,
                after.free);
    for (int i = 0; i < DEVICE_UNSTEADY; i++) {
        uint64_t more = after.calls[i] - before->calls[i];
        if (more > 0)
            fprintf(stderr, "traffic: %" PRIu64 " calls of %s in the steady state\n", more,
                    device_unsteady[i]);
        same = same && more == 0;
    }
    return same;
}

/* Runs the same number of steps again after all threads are done. The first of them counts for all.
 * Before, the device is as late as possible, which needs the most of all resources. */
static bool run_settled(struct worker *worker, bool good)
{
    struct traffic *traffic = worker->traffic;
    good = good && worker_warm(worker);
    pthread_barrier_wait(&traffic->together);
    good = cudaDeviceSynchronize() == cudaSuccess && good;
    pthread_barrier_wait(&traffic->together);
    if (worker->number == 0) {
        good = take_counts(&traffic->counts) && good;
        device_seed(0);
    }
    pthread_barrier_wait(&traffic->together);
    good = good && worker_steps(worker, traffic->options.steps, true);
    pthread_barrier_wait(&traffic->together);
    return (worker->number != 0 || unchanged(&traffic->counts)) && good;
}

/* A thread's part of a seed. */
static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    const struct traffic_options *options = &worker->traffic->options;
    bool good = worker_enter(worker) && worker_steps(worker, options->steps, false);
    if (options->steady)
        good = run_settled(worker, good);
    worker->good = worker_end(worker) && good;
    return NULL;
}

/* From as many threads at once, or all from this one. */
static bool run_together(const struct traffic_options *options, struct worker *workers)
{
    pthread_t thread[TRAFFIC_THREADS];
    bool good = true;
    for (int64_t i = 0; i < options->threads && options->in_turn; i++) {
        run_worker(&workers[i]);
        good = good && workers[i].good;
    }
    for (int64_t i = 0; i < options->threads && !options->in_turn; i++) {
        if (pthread_create(&thread[i], NULL, run_worker, &workers[i]) != 0) {
            /* The threads that were started still use the resources. */
            fputs("traffic: a thread could not be started\n", stderr);
            exit(1);
        }
    }
    for (int64_t i = 0; i < options->threads && !options->in_turn; i++) {
        pthread_join(thread[i], NULL);
        good = good && workers[i].good;
    }
    return good;
}

static bool run_seed(const struct traffic_options *options, struct worker *workers, uint64_t seed)
{
    uint64_t violations = device_violations();
    device_seed(seed);
    for (int64_t i = 0; i < options->threads; i++)
        worker_begin(&workers[i], seed);
    bool good = run_together(options, workers);
    violations = device_violations() - violations;
    if (violations > 0)
        fprintf(stderr, "traffic: seed %" PRIu64 ": %" PRIu64 " violations\n", seed, violations);
    return good;
}

static bool run_seeds(const struct traffic_options *options, struct worker *workers)
{
    for (int64_t i = 0; i < options->count; i++)
        if (!run_seed(options, workers, (uint64_t)(options->first + i))) {
            fprintf(stderr, "traffic: seed %" PRId64 " failed\n", options->first + i);
            return false;
        }
    return true;
}

static bool report(const struct traffic *traffic, const struct worker *workers, bool good)
{
    struct traffic_tally sum = {.calls = 0};
    size_t bytes = 0;
    for (int64_t i = 0; i < traffic->options.homes; i++)
        bytes += traffic->home[i].bytes;
    for (int64_t i = 0; i < traffic->options.threads; i++) {
        const struct traffic_tally *tally = &workers[i].tally;
        bytes += workers[i].bytes;
        sum.calls += tally->calls;
        sum.captures += tally->captures;
        sum.spoilt += tally->spoilt;
        sum.replays += tally->replays;
        sum.checks += tally->checks;
        sum.wrong += tally->wrong;
    }
    printf("traffic: %" PRId64 " seeds, %" PRIu64 " calls, %" PRIu64 " captures, %" PRIu64
           " spoilt, %" PRIu64 " replays, %" PRIu64 " results, %" PRIu64 " wrong, %zu bytes%s\n",
           traffic->options.count, sum.calls, sum.captures, sum.spoilt, sum.replays, sum.checks,
           sum.wrong, bytes, good ? "" : ", failed");
    return good && sum.wrong == 0;
}

static bool run_workers(struct traffic *traffic, struct worker *workers)
{
    const struct traffic_options *options = &traffic->options;
    bool good = true;
    for (int64_t i = 0; i < options->threads && good; i++)
        good = worker_open(traffic, i, &workers[i]) && cudaDeviceSynchronize() == cudaSuccess;
    if (good && options->removals != REMOVALS_NONE)
        good = removals_run(&workers[0]);
    else if (good)
        good = report(traffic, workers, run_seeds(options, workers));
    for (int64_t i = 0; i < options->threads; i++)
        worker_close(&workers[i]);
    return good;
}

static bool run_homes(struct traffic *traffic, struct worker *workers)
{
    int opened = 0;
    bool good = true;
    while (opened < traffic->options.homes && good) {
        good = home_open(&traffic->options, opened, &traffic->home[opened]);
        opened++;
    }
    good = good && run_workers(traffic, workers);
    while (opened > 0)
        home_close(&traffic->home[--opened]);
    return good;
}

static bool run(const struct traffic_options *options)
{
    static struct traffic traffic = {.captures = PTHREAD_RWLOCK_INITIALIZER,
                                     .legacy = PTHREAD_MUTEX_INITIALIZER};
    traffic.options = *options;
    if ((options->steady || options->removals != REMOVALS_NONE) && !device_simulated()) {
        fputs("traffic: this needs the simulated device\n", stderr);
        return false;
    }
    unsigned threads = options->in_turn ? 1 : (unsigned)options->threads;
    if (pthread_barrier_init(&traffic.together, NULL, threads) != 0)
        return false;
    struct worker *workers = calloc((size_t)options->threads, sizeof *workers);
    bool good = workers != NULL && run_homes(&traffic, workers);
    free(workers);
    pthread_barrier_destroy(&traffic.together);
    return good;
}

static bool take_mode(const char *value, struct traffic_options *options)
{
    static const char *const names[] = {"global", "thread-local", "relaxed"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            options->mode = i;
            return true;
        }
    }
    return option_refuse("mode", value, "global, thread-local or relaxed");
}

static bool take_removals(const char *value, struct traffic_options *options)
{
    bool all = strcmp(value, "all") == 0;
    if (!all && strcmp(value, "independent") != 0)
        return option_refuse("removals", value, "all or independent");
    options->removals = all ? REMOVALS_ALL : REMOVALS_INDEPENDENT;
    return true;
}

static bool take_seeds(const char *value, struct traffic_options *options)
{
    char *rest;
    options->first = strtoll(value, &rest, 10);
    if (rest == value || *rest != ':' || options->first < 0)
        return option_refuse("seeds", value, "FIRST:COUNT");
    return option_number("seeds", rest + 1, 1, 1000000000, &options->count);
}

static bool take(int option, const char *value, void *to)
{
    struct traffic_options *options = to;
    switch (option) {
    case 's':
        return take_seeds(value, options);
    case 'r':
        return option_number("streams", value, 1, TRAFFIC_ROUTES - ROUTE_FREE, &options->streams);
    case 't':
        return option_number("threads", value, 1, TRAFFIC_THREADS, &options->threads);
    case 'n':
        return option_number("steps", value, 1, 1000000, &options->steps);
    case 'o':
        return option_number("model", value, 0, TRAFFIC_MODELS - 1, &options->model);
    case 'i':
        return options->in_turn = true;
    case 'd':
        return option_number("devices", value, 1, TRAFFIC_HOMES, &options->homes);
    case 'x':
        options->contexts = true;
        return option_number("contexts", value, 1, TRAFFIC_HOMES, &options->homes);
    case 'f':
        return options->capture_first = true;
    case 'g':
        return take_mode(value, options);
    case 'c':
        return options->no_capture = true;
    case 'e':
        return options->empty_handed = true;
    case 'y':
        return options->steady = true;
    case 'm':
        return take_removals(value, options);
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"seeds", required_argument, NULL, 's'},    {"streams", required_argument, NULL, 'r'},
        {"threads", required_argument, NULL, 't'},  {"in-turn", no_argument, NULL, 'i'},
        {"steps", required_argument, NULL, 'n'},    {"devices", required_argument, NULL, 'd'},
        {"contexts", required_argument, NULL, 'x'}, {"model", required_argument, NULL, 'o'},
        {"empty-handed", no_argument, NULL, 'e'},   {"no-capture", no_argument, NULL, 'c'},
        {"capture-first", no_argument, NULL, 'f'},  {"mode", required_argument, NULL, 'g'},
        {"steady", no_argument, NULL, 'y'},         {"removals", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    struct traffic_options options = {.first = 1,
                                      .count = 10,
                                      .streams = 3,
                                      .threads = 1,
                                      .steps = 40,
                                      .model = -1,
                                      .homes = 1,
                                      .mode = -1};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    options.in_turn = options.in_turn || options.threads == 1;
    return run(&options) ? 0 : 1;
}
