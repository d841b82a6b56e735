/* Many threads, each with its own handle and stream, run small convolutions over and over. Every
 * result is compared with a plain host loop. */
#include "problems.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64
#define PROBLEMS 8
/* Calls between two builds of a plan, so that descriptor addresses are reused while other plans
 * live. */
#define REPLAN_EVERY 32

struct options {
    int64_t threads;
    int64_t calls;
    int64_t seed;
    bool api[2];
    bool direction[CONV_DIRECTIONS];
};

/* A problem ready to run again and again. */
struct job {
    enum conv_api api;
    struct conv_problem problem;
    struct problem_data data;
    void *expected; /* the result's storage after the run */
    void *x, *w, *y;
    void *result; /* one of them */
    struct conv_plan plan;
    bool planned;
};

struct worker {
    pthread_t thread;
    const struct options *options;
    pthread_barrier_t *start;
    int64_t number;
    int64_t calls;
    cudnnHandle_t handle;
    cudaStream_t stream;
    void *workspace; /* grows, reused by all jobs */
    size_t workspace_bytes;
    void *result;
    size_t result_bytes;
    struct job jobs[PROBLEMS];
    int64_t done, plans, refused, wrong;
    bool failed;
};

static const char USAGE[] =
    "usage: threads [--threads 8] [--calls 10000] [--seed S] [--api graph|legacy|both]\n"
    "               [--direction forward|data|filter|all]\n"
    "Runs small convolutions from several threads, each with its own handle and stream, in "
    "all as\n"
    "many as --calls says, and compares every result with a host loop.\n"
    "Status: 0, 1 on a wrong result or an error, 2 on usage.\n";

static void job_drop(struct job *job)
{
    if (job->planned)
        conv_plan_destroy(&job->plan);
    cudaFree(job->x);
    cudaFree(job->w);
    cudaFree(job->y);
    free(job->expected);
    problem_release(&job->data);
    *job = (struct job){.x = NULL};
}

static enum outcome plan_job(struct worker *worker, struct job *job)
{
    const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A,
                                           .plan_handle = worker->number % 2 == 0,
                                           .ask_workspace = worker->number % 2 == 0};
    enum outcome outcome =
        conv_plan_create(worker->handle, job->api, &job->problem, &settings, 0, &job->plan);
    job->planned = outcome == OUTCOME_OK;
    worker->plans += job->planned;
    return outcome;
}

/* The job owns the memory, also after a failure. */
static bool fill_job(struct worker *worker, struct job *job)
{
    const struct conv_problem *p = &job->problem;
    size_t bytes = tensor_storage_bytes(conv_result(p));
    if (!problem_fill(p, (uint64_t)worker->number, DATA_INTEGERS, &job->data))
        return false;
    job->expected = malloc(bytes);
    if (job->expected == NULL)
        return false;
    memcpy(job->expected, problem_result(p, &job->data), bytes);
    problem_reference(p, &job->data, job->expected);
    job->x = client_upload(job->data.x, tensor_storage_bytes(&p->x), worker->stream);
    job->w = client_upload(job->data.w, tensor_storage_bytes(&p->w), worker->stream);
    job->y = client_upload(job->data.y, tensor_storage_bytes(&p->y), worker->stream);
    job->result = p->direction == CONV_FORWARD ? job->y
                  : p->direction == CONV_DATA  ? job->x
                                               : job->w;
    return job->x != NULL && job->w != NULL && job->y != NULL;
}

/* The chosen directions in turn; there is one at least. */
static enum conv_direction pick_direction(const struct options *options, uint64_t turn)
{
    enum conv_direction direction = (enum conv_direction)(turn % CONV_DIRECTIONS);
    for (int i = 0; i < CONV_DIRECTIONS && !options->direction[direction]; i++)
        direction = (enum conv_direction)((direction + 1) % CONV_DIRECTIONS);
    return direction;
}

/* Takes the next random problem that cuDNN does not refuse. */
static bool open_job(struct worker *worker, uint64_t *index, struct job *job)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
    const struct options *options = worker->options;
    for (int tries = 0; tries < 100; tries++, ++*index) {
        bool legacy = options->api[CONV_LEGACY] && (!options->api[CONV_GRAPH] || *index % 2 != 0);
        job->api = legacy ? CONV_LEGACY : CONV_GRAPH;
        problem_random((uint64_t)options->seed, *index, pick_direction(options, *index / 3),
                       types[*index % 3], legacy, &job->problem);
        enum outcome outcome = plan_job(worker, job);
        if (outcome == OUTCOME_OK) {
            ++*index;
            return fill_job(worker, job);
        }
        if (outcome == OUTCOME_ERROR)
            return false;
        worker->refused++;
    }
    fputs("threads: cuDNN refused a hundred problems in turn\n", stderr);
    return false;
}

static bool worker_open(struct worker *worker)
{
    uint64_t index = (uint64_t)worker->number * 1000;
    TRY_CUDA(cudaStreamCreateWithFlags(&worker->stream, cudaStreamNonBlocking), fail);
    TRY_CUDNN(cudnnCreate(&worker->handle), fail);
    TRY_CUDNN(cudnnSetStream(worker->handle, worker->stream), fail);
    for (int i = 0; i < PROBLEMS; i++) {
        struct job *job = &worker->jobs[i];
        if (!open_job(worker, &index, job))
            return false;
        size_t bytes = tensor_storage_bytes(conv_result(&job->problem));
        if (bytes > worker->result_bytes)
            worker->result_bytes = bytes;
    }
    worker->result = malloc(worker->result_bytes);
    return worker->result != NULL;
fail:
    return false;
}

static void worker_close(struct worker *worker)
{
    for (int i = 0; i < PROBLEMS; i++)
        job_drop(&worker->jobs[i]);
    free(worker->result);
    cudaFree(worker->workspace);
    if (worker->handle != NULL)
        cudnnDestroy(worker->handle);
    if (worker->stream != NULL)
        cudaStreamDestroy(worker->stream);
}

static bool grow_workspace(struct worker *worker, size_t bytes)
{
    if (bytes <= worker->workspace_bytes)
        return true;
    cudaFree(worker->workspace);
    worker->workspace = NULL;
    worker->workspace_bytes = 0;
    TRY_CUDA(cudaMalloc(&worker->workspace, bytes), fail);
    worker->workspace_bytes = bytes;
    return true;
fail:
    return false;
}

/* Queues bytes that make every sum a NaN, then the operand's contents: code that does not wait for
 * the stream reads the NaNs. */
static bool send(struct worker *worker, const struct tensor *tensor, const void *image,
                 void *device)
{
    size_t bytes = tensor_storage_bytes(tensor);
    TRY_CUDA(cudaMemsetAsync(device, 0xff, bytes, worker->stream), fail);
    TRY_CUDA(cudaMemcpyAsync(device, image, bytes, cudaMemcpyHostToDevice, worker->stream), fail);
    return true;
fail:
    return false;
}

static bool run_job(struct worker *worker, struct job *job)
{
    const struct conv_problem *p = &job->problem;
    if (!grow_workspace(worker, (size_t)job->plan.workspace) ||
        !send(worker, &p->x, job->data.x, job->x) || !send(worker, &p->w, job->data.w, job->w) ||
        !send(worker, &p->y, job->data.y, job->y))
        return false;
    if (conv_plan_run(worker->handle, &job->plan, tensor_first(&p->x, job->x),
                      tensor_first(&p->w, job->w), tensor_first(&p->y, job->y),
                      job->plan.workspace > 0 ? worker->workspace : NULL) != OUTCOME_OK)
        return false;
    TRY_CUDA(cudaMemcpyAsync(worker->result, job->result, tensor_storage_bytes(conv_result(p)),
                             cudaMemcpyDeviceToHost, worker->stream),
             fail);
    TRY_CUDA(cudaStreamSynchronize(worker->stream), fail);
    return true;
fail:
    return false;
}

/* Equal as numbers inside the view (zeros of either sign), as bytes around it. Overwrites
 * worker->result. */
static bool result_right(struct worker *worker, const struct job *job)
{
    const struct tensor *tensor = conv_result(&job->problem);
    size_t size = dtype_size(tensor->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    if (memcmp(worker->result, job->expected, tensor_storage_bytes(tensor)) == 0)
        return true;
    do {
        size_t index = tensor_index(tensor, at);
        if (dtype_load(tensor->type, worker->result, index) !=
            dtype_load(tensor->type, job->expected, index))
            return false;
        memcpy((char *)worker->result + index * size, (char *)job->expected + index * size, size);
    } while (tensor_step(tensor, at));
    return memcmp(worker->result, job->expected, tensor_storage_bytes(tensor)) == 0;
}

static bool call(struct worker *worker, struct rng *rng)
{
    struct job *job = &worker->jobs[rng_between(rng, 0, PROBLEMS - 1)];
    if (rng_once_in(rng, REPLAN_EVERY)) {
        conv_plan_destroy(&job->plan);
        job->planned = false;
        if (plan_job(worker, job) != OUTCOME_OK)
            return false;
    }
    if (!run_job(worker, job))
        return false;
    worker->done++;
    if (!result_right(worker, job) && worker->wrong++ == 0) {
        char text[768];
        problem_print(&job->problem, text, sizeof text);
        fprintf(stderr, "thread %" PRId64 ": wrong result: api=%s %s\n", worker->number,
                conv_api_name(job->api), text);
    }
    return true;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct rng rng = rng_of((uint64_t)worker->options->seed, (uint64_t)worker->number);
    /* The library's first calls come from all threads at once. */
    pthread_barrier_wait(worker->start);
    worker->failed = !worker_open(worker);
    for (int64_t i = 0; i < worker->calls && !worker->failed; i++)
        worker->failed = !call(worker, &rng);
    worker_close(worker);
    return NULL;
}

/* False if not all threads could be started; those that were still wait at the barrier then. */
static bool start_workers(const struct options *options, pthread_barrier_t *start,
                          struct worker *workers)
{
    for (int64_t i = 0; i < options->threads; i++) {
        workers[i].options = options;
        workers[i].start = start;
        workers[i].number = i;
        workers[i].calls =
            options->calls / options->threads + (i < options->calls % options->threads);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fputs("threads: a thread could not be started\n", stderr);
            return false;
        }
    }
    return true;
}

static bool run_workers(const struct options *options, struct worker *workers)
{
    pthread_barrier_t start;
    if (pthread_barrier_init(&start, NULL, (unsigned)options->threads) != 0)
        return false;
    /* Nothing can release the barrier of an incomplete crew: the process ends with it. */
    if (!start_workers(options, &start, workers))
        exit(1);
    for (int64_t i = 0; i < options->threads; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    return true;
}

static bool run(const struct options *options)
{
    struct worker *workers = calloc((size_t)options->threads, sizeof *workers);
    if (workers == NULL)
        return false;
    struct worker sum = {.failed = !run_workers(options, workers)};
    for (int64_t i = 0; i < options->threads; i++) {
        sum.done += workers[i].done;
        sum.plans += workers[i].plans;
        sum.refused += workers[i].refused;
        sum.wrong += workers[i].wrong;
        sum.failed = sum.failed || workers[i].failed;
    }
    free(workers);
    printf("threads: %" PRId64 " threads, %" PRId64 " calls, %" PRId64 " plans, %" PRId64
           " refused, %" PRId64 " wrong%s\n",
           options->threads, sum.done, sum.plans, sum.refused, sum.wrong,
           sum.failed ? ", failed" : "");
    return sum.wrong == 0 && !sum.failed;
}

static bool take(int option, const char *value, void *to)
{
    struct options *options = to;
    switch (option) {
    case 't':
        return option_number("threads", value, 1, MAX_THREADS, &options->threads);
    case 'c':
        return option_number("calls", value, 1, 1000000000, &options->calls);
    case 's':
        return option_number("seed", value, 0, INT64_MAX, &options->seed);
    case 'a':
        return conv_apis_parse(value, options->api);
    case 'd':
        return conv_directions_parse(value, options->direction);
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"threads", required_argument, NULL, 't'},
                                          {"calls", required_argument, NULL, 'c'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"api", required_argument, NULL, 'a'},
                                          {"direction", required_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {.threads = 8,
                              .calls = 10000,
                              .seed = 1,
                              .api = {true, true},
                              .direction = {true, false, false}};
    int status = options_parse(argc, argv, known, take, &options, USAGE, 0);
    if (status >= 0)
        return status;
    return run(&options) ? 0 : 1;
}
