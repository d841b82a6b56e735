#include "traffic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool plan_job(struct worker *worker, struct job *job)
{
    const struct model *model = job->model;
    const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A,
                                           .plan_handle = worker->number % 2 == 0};
    enum outcome outcome =
        model->is_fused ? fused_plan_create(worker->handle, &model->fused, &settings, &job->plan)
                        : conv_plan_create(worker->handle, model->api, &model->conv, &settings, 0,
                                           &job->plan.plan);
    job->planned = outcome == OUTCOME_OK;
    if (outcome == OUTCOME_REFUSED)
        fputs("traffic: cuDNN refuses a problem\n", stderr);
    return job->planned;
}

/* Of every model some operand is read where all threads read it. */
static bool is_common(const struct model *model, int operand)
{
    return !model->is_fused && operand == (model->result + 1) % 3;
}

bool job_open(struct worker *worker, const struct model *model, struct job *job)
{
    job->model = model;
    job->branch = -1;
    if (!plan_job(worker, job))
        return false;
    for (int i = 0; i < model->operands; i++) {
        if (model->image[i] == NULL)
            continue;
        if (is_common(model, i))
            job->device[i] = model->master[i];
        else
            TRY_CUDA(
                worker_allocate(worker, &job->device[i], tensor_storage_bytes(model->tensor[i])),
                fail);
    }
    TRY_CUDA(cudaMallocHost(&job->fetched, tensor_storage_bytes(model->tensor[model->result])),
             fail);
    TRY_CUDA(cudaEventCreateWithFlags(&job->place.used, cudaEventDisableTiming), fail);
    TRY_CUDA(cudaEventCreateWithFlags(&job->captured, cudaEventDisableTiming), fail);
    return true;
fail:
    return false;
}

void job_close(struct job *job)
{
    const struct model *model = job->model;
    if (model == NULL)
        return;
    if (job->planned && model->is_fused)
        fused_plan_destroy(&job->plan);
    else if (job->planned)
        conv_plan_destroy(&job->plan.plan);
    for (int i = 0; i < model->operands; i++)
        if (job->device[i] != model->master[i])
            cudaFree(job->device[i]);
    cudaFreeHost(job->fetched);
    if (job->place.used != NULL)
        cudaEventDestroy(job->place.used);
    if (job->captured != NULL)
        cudaEventDestroy(job->captured);
}

static bool copy(const struct job *job, int operand, cudaStream_t stream)
{
    TRY_CUDA(cudaMemcpyAsync(job->device[operand], job->model->master[operand],
                             tensor_storage_bytes(job->model->tensor[operand]),
                             cudaMemcpyDeviceToDevice, stream),
             fail);
    return true;
fail:
    return false;
}

bool job_reset(struct job *job, cudaStream_t stream)
{
    const struct model *model = job->model;
    for (int i = 0; i < model->operands; i++)
        if (model->master[i] != NULL && job->device[i] != model->master[i] && !copy(job, i, stream))
            return false;
    /* Pageable memory: it is read before the call returns. */
    TRY_CUDA(cudaMemcpyAsync(job->device[model->result], model->expected[0],
                             tensor_storage_bytes(model->tensor[model->result]),
                             cudaMemcpyHostToDevice, stream),
             fail);
    job->state = 0;
    return true;
fail:
    return false;
}

struct manner job_manner(struct job *job, struct rng *rng, bool empty_handed)
{
    const struct model *model = job->model;
    struct manner manner = {.refreshed = (int)rng_between(rng, 0, 2 * model->operands)};
    if (manner.refreshed >= model->operands || model->master[manner.refreshed] == NULL ||
        job->device[manner.refreshed] == model->master[manner.refreshed])
        manner.refreshed = -1;
    manner.wiped = !model->toggles && rng_once_in(rng, 2);
    manner.empty = empty_handed && model->api == CONV_LEGACY && rng_once_in(rng, 2);
    return manner;
}

static bool spoil(const struct job *job, int operand, cudaStream_t stream)
{
    TRY_CUDA(cudaMemsetAsync(job->device[operand], 0xff,
                             tensor_storage_bytes(job->model->tensor[operand]), stream),
             fail);
    return true;
fail:
    return false;
}

static void *first(const struct job *job, int operand)
{
    return tensor_first(job->model->tensor[operand], job->device[operand]);
}

bool job_start(struct worker *worker, struct job *job, struct manner manner, cudaStream_t stream,
               void *workspace)
{
    const struct model *model = job->model;
    struct fused_plan plan = job->plan;
    enum outcome outcome;
    if (manner.empty)
        plan.plan.workspace = 0;
    if (plan.plan.workspace == 0)
        workspace = NULL;
    if (manner.refreshed >= 0 &&
        (!spoil(job, manner.refreshed, stream) || !copy(job, manner.refreshed, stream)))
        return false;
    if (manner.wiped && !spoil(job, model->result, stream))
        return false;
    TRY_CUDNN(cudnnSetStream(worker->handle, stream), fail);
    outcome = model->is_fused
                  ? fused_plan_run(worker->handle, &model->fused, &plan, job->device, workspace)
                  : conv_plan_run(worker->handle, &plan.plan, first(job, 0), first(job, 1),
                                  first(job, 2), workspace);
    if (outcome == OUTCOME_REFUSED)
        fputs("traffic: cuDNN refuses a call\n", stderr);
    return outcome == OUTCOME_OK;
fail:
    return false;
}

void job_advance(struct job *job)
{
    job->state = job->model->toggles ? !job->state : 1;
}

bool job_fetch(struct job *job, cudaStream_t stream)
{
    const struct model *model = job->model;
    TRY_CUDA(cudaMemcpyAsync(job->fetched, job->device[model->result],
                             tensor_storage_bytes(model->tensor[model->result]),
                             cudaMemcpyDeviceToHost, stream),
             fail);
    return true;
fail:
    return false;
}

/* Equal as numbers inside the view (zeros of either sign), as bytes around it. Overwrites the
 * fetched bytes. */
static bool is_right(struct job *job)
{
    const struct tensor *tensor = job->model->tensor[job->model->result];
    const char *expected = job->model->expected[job->state];
    size_t size = dtype_size(tensor->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    if (memcmp(job->fetched, expected, tensor_storage_bytes(tensor)) == 0)
        return true;
    do {
        size_t index = tensor_index(tensor, at);
        if (dtype_load(tensor->type, job->fetched, index) !=
            dtype_load(tensor->type, expected, index))
            return false;
        memcpy((char *)job->fetched + index * size, expected + index * size, size);
    } while (tensor_step(tensor, at));
    return memcmp(job->fetched, expected, tensor_storage_bytes(tensor)) == 0;
}

void job_check(struct worker *worker, struct job *job)
{
    char text[1600];
    worker->tally.checks++;
    /* Nothing to compare with before the first call: a blank is all NaN. */
    if ((job->state == 0 && !job->model->toggles) || is_right(job))
        return;
    worker->tally.wrong++;
    if (job->model->is_fused)
        fused_print(&job->model->fused, text, sizeof text);
    else
        problem_print(&job->model->conv, text, sizeof text);
    fprintf(stderr, "traffic: seed %" PRIu64 ", thread %" PRId64 ": wrong result: api=%s %s\n",
            worker->seed, worker->number, conv_api_name(job->model->api), text);
}
