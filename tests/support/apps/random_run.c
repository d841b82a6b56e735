#include "random_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough for any problem's line. */
#define LINE 1600

static void release(struct run *run)
{
    for (int i = 0; i < run->operands; i++)
        cudaFree(run->device[i]);
    free(run->after);
    free(run->packed);
    free(run->exact);
    problem_release(&run->data);
    fused_release(&run->fused_data);
}

static bool fill_fused(const struct run_settings *settings, struct run *run, uint64_t seed)
{
    const struct fused_problem *f = &run->fused;
    if (!fused_fill(f, seed, settings->kind, &run->fused_data))
        return false;
    run->operands = f->tensors;
    run->result = f->result;
    for (int i = 0; i < f->tensors; i++) {
        run->tensor[i] = &f->tensor[i].tensor;
        run->image[i] = run->fused_data.image[i];
    }
    return true;
}

static bool fill(const struct run_settings *settings, struct run *run)
{
    static const int results[] = {2, 0, 1};
    const struct conv_problem *p = &run->problem;
    uint64_t seed = settings->seed ^ run->index << 20;
    if (run->is_fused)
        return fill_fused(settings, run, seed);
    if (!problem_fill(p, seed, settings->kind, &run->data))
        return false;
    run->operands = 3;
    run->result = results[p->direction];
    run->tensor[0] = &p->x;
    run->tensor[1] = &p->w;
    run->tensor[2] = &p->y;
    run->image[0] = run->data.x;
    run->image[1] = run->data.w;
    run->image[2] = run->data.y;
    return true;
}

static bool compute_reference(struct run *run)
{
    if (run->is_fused)
        return fused_reference(&run->fused, &run->fused_data, run->exact);
    problem_reference_double(&run->problem, &run->data, run->image[run->result], run->exact);
    return true;
}

/* The caller frees the buffers, also after a failure. */
static bool prepare(const struct run_settings *settings, struct run *run)
{
    if (!fill(settings, run))
        return false;
    const struct tensor *result = run->tensor[run->result];
    size_t elements = (size_t)tensor_elements(result);
    for (int i = 0; i < run->operands; i++) {
        if (run->image[i] == NULL)
            continue;
        run->device[i] = client_upload(run->image[i], tensor_storage_bytes(run->tensor[i]), NULL);
        if (run->device[i] == NULL)
            return false;
    }
    run->after = malloc(tensor_storage_bytes(result));
    run->packed = malloc(elements * dtype_size(result->type));
    run->exact = malloc(elements * sizeof *run->exact);
    if (run->after == NULL || run->packed == NULL || run->exact == NULL)
        return false;
    return (!settings->check && settings->reference == NULL) || compute_reference(run);
}

static enum outcome run_plain(cudnnHandle_t handle, const struct run *run,
                              const struct conv_settings *settings)
{
    const struct conv_problem *p = &run->problem;
    struct conv_plan plan = {.choice = 0};
    bool planned = false;
    enum outcome outcome = conv_run(
        handle, run->api, p, settings, tensor_first(&p->x, run->device[0]),
        tensor_first(&p->w, run->device[1]), tensor_first(&p->y, run->device[2]), &plan, &planned);
    if (planned)
        conv_plan_destroy(&plan);
    return outcome;
}

static enum outcome convolve(cudnnHandle_t handle, struct run *run)
{
    /* Clients differ in these habits; each is seen often. */
    const struct conv_settings settings = {.mode = CUDNN_HEUR_MODE_A,
                                           .plan_handle = (run->index / 3 & 1) != 0,
                                           .ask_config = (run->index / 6 & 1) != 0,
                                           .ask_workspace = (run->index / 3 & 1) != 0};
    enum outcome outcome = run->is_fused ? fused_run(handle, &run->fused, &settings, run->device)
                                         : run_plain(handle, run, &settings);
    if (outcome == OUTCOME_OK && cudaMemcpy(run->after, run->device[run->result],
                                            tensor_storage_bytes(run->tensor[run->result]),
                                            cudaMemcpyDeviceToHost) != cudaSuccess)
        outcome = OUTCOME_ERROR;
    return outcome;
}

/* Moves the view's elements into `packed`; false if one is NaN, which no problem yields. */
static bool pack_result(struct run *run)
{
    const struct tensor *result = run->tensor[run->result];
    size_t size = dtype_size(result->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    size_t next = 0;
    bool good = true;
    do {
        size_t index = tensor_index(result, at);
        memcpy((char *)run->packed + next++ * size, (char *)run->after + index * size, size);
        good = good && !isnan(dtype_load(result->type, run->after, index));
    } while (tensor_step(result, at));
    return good;
}

/* False if anything outside the view changed. Overwrites the image from before the run. */
static bool surroundings_intact(struct run *run)
{
    const struct tensor *result = run->tensor[run->result];
    char *before = run->image[run->result];
    size_t size = dtype_size(result->type);
    int64_t at[CLIENT_MAX_DIMS] = {0};
    do {
        size_t place = tensor_index(result, at) * size;
        memcpy(before + place, (char *)run->after + place, size);
    } while (tensor_step(result, at));
    return memcmp(before, run->after, tensor_storage_bytes(result)) == 0;
}

/* Integers give equal numbers; curves of them a few roundings of f32 and one of the type. */
static bool matches_reference(const struct run *run)
{
    const struct tensor *result = run->tensor[run->result];
    bool exact = !run->is_fused || run->fused.exact;
    double tolerance = result->type == CUDNN_DATA_FLOAT  ? 1e-5
                       : result->type == CUDNN_DATA_HALF ? 0x1p-10
                                                         : 0x1p-7;
    for (int64_t i = 0; i < tensor_elements(result); i++) {
        double value = (double)dtype_load(result->type, run->packed, (size_t)i);
        double limit = exact ? 0.0 : tolerance * fmax(1.0, fabs(run->exact[i]));
        if (!(fabs(value - run->exact[i]) <= limit))
            return false;
    }
    return true;
}

static const char *find_fault(const struct run_settings *settings, struct run *run)
{
    if (!pack_result(run))
        return "an output element was not written";
    if (settings->check && !matches_reference(run))
        return "differs from the host loop";
    if (!surroundings_intact(run))
        return "wrote outside the output";
    return NULL;
}

void run_print(const struct run *run, char *text, size_t bytes)
{
    int used =
        snprintf(text, bytes, "record=%" PRIu64 " api=%s ", run->index, conv_api_name(run->api));
    if (run->is_fused)
        fused_print(&run->fused, text + used, bytes - (size_t)used);
    else
        problem_print(&run->problem, text + used, bytes - (size_t)used);
}

static bool write_record(FILE *file, const struct run *run, enum outcome outcome, const void *data,
                         size_t element)
{
    static const char *const words[] = {"ok", "refused", "error"};
    size_t count = (size_t)tensor_elements(run->tensor[run->result]);
    size_t bytes = outcome == OUTCOME_OK ? count * element : 0;
    char text[LINE];
    if (file == NULL)
        return true;
    run_print(run, text, sizeof text);
    fprintf(file, "%s status=%s bytes=%zu\n", text, words[outcome], bytes);
    return bytes == 0 || fwrite(data, bytes, 1, file) == 1;
}

bool run_problem(cudnnHandle_t handle, const struct run_settings *settings, struct run *run,
                 struct tally *tally)
{
    enum outcome outcome = OUTCOME_ERROR;
    const char *fault = "no memory";
    bool prepared = prepare(settings, run);
    if (prepared) {
        outcome = convolve(handle, run);
        fault = outcome == OUTCOME_OK ? find_fault(settings, run) : "failed";
    }
    if (outcome == OUTCOME_OK && fault != NULL)
        outcome = OUTCOME_ERROR;
    tally->problems++;
    tally->refused += outcome == OUTCOME_REFUSED;
    tally->errors += outcome == OUTCOME_ERROR;
    if (outcome == OUTCOME_ERROR) {
        char text[LINE];
        run_print(run, text, sizeof text);
        fprintf(stderr, "%s: %s\n", text, fault);
    }
    bool written = prepared &&
                   write_record(settings->dump, run, outcome, run->packed,
                                dtype_size(run->tensor[run->result]->type)) &&
                   write_record(settings->reference, run, outcome, run->exact, sizeof *run->exact);
    release(run);
    return written;
}
