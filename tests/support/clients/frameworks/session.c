#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECKED = 400 /* elements of a result that are computed again */
};

enum role result_of(enum direction direction)
{
    static const enum role results[] = {ROLE_Y, ROLE_X, ROLE_W};
    return results[direction];
}

/* --- operands --- */

void operands_shape(const struct layer *layer, struct operands *operands)
{
    struct tensor *tensor = operands->tensor;
    operands->layer = *layer;
    const int64_t size[ROLES + 1][2] = {
        {layer->batch, layer->in}, {layer->out, layer->in}, {layer->batch, layer->out}};
    for (int role = 0; role < ROLES; role++) {
        tensor[role] = (struct tensor){.type = layer->type, .dims = 4};
        memcpy(tensor[role].size, size[role], sizeof size[role]);
    }
    for (int i = 0; i < 2; i++) {
        int64_t padded = layer->size[i] + layer->pre[i] + layer->post[i];
        tensor[ROLE_X].size[2 + i] = layer->size[i];
        tensor[ROLE_W].size[2 + i] = layer->window[i];
        tensor[ROLE_Y].size[2 + i] = (padded - layer->window[i]) / layer->stride[i] + 1;
    }
    for (int role = 0; role < ROLES; role++)
        tensor_pack(&tensor[role], LAYOUT_NCHW);
    operands->bias_tensor =
        (struct tensor){.type = layer->type, .dims = 4, .size = {1, layer->out, 1, 1}};
    tensor_pack(&operands->bias_tensor, LAYOUT_NCHW);
}

static bool fill(const struct tensor *tensor, struct rng rng, int64_t most, void **host,
                 void **device)
{
    size_t bytes = tensor_storage_bytes(tensor);
    *host = malloc(bytes);
    if (*host == NULL)
        return false;
    for (size_t i = 0; i < (size_t)tensor->storage; i++)
        dtype_store(tensor->type, *host, i, (float)rng_between(&rng, -most, most));
    TRY_CUDA(cudaMalloc(device, bytes), fail);
    TRY_CUDA(cudaMemcpy(*device, *host, bytes, cudaMemcpyHostToDevice), fail);
    /* The session's stream does not wait for the default one. */
    TRY_CUDA(cudaDeviceSynchronize(), fail);
    return true;
fail:
    return false;
}

bool operands_open(const struct layer *layer, uint64_t seed, struct operands *operands)
{
    memset(operands, 0, sizeof *operands);
    operands_shape(layer, operands);
    bool good =
        fill(&operands->bias_tensor, rng_of(seed, ROLES), 3, &operands->host_bias, &operands->bias);
    for (int role = 0; role < ROLES && good; role++)
        good = fill(&operands->tensor[role], rng_of(seed, (uint64_t)role), 1, &operands->host[role],
                    &operands->device[role]);
    return good;
}

void operands_close(struct operands *operands)
{
    for (int role = 0; role < ROLES; role++) {
        cudaFree(operands->device[role]);
        free(operands->host[role]);
    }
    cudaFree(operands->bias);
    free(operands->host_bias);
}

bool operands_restore(struct session *session, struct operands *operands, enum direction direction)
{
    enum role role = result_of(direction);
    TRY_CUDA(cudaMemcpyAsync(operands->device[role], operands->host[role],
                             tensor_storage_bytes(&operands->tensor[role]), cudaMemcpyHostToDevice,
                             session->stream),
             fail);
    TRY_CUDA(cudaStreamSynchronize(session->stream), fail);
    return true;
fail:
    return false;
}

/* --- the check --- */

static double element(const struct operands *operands, enum role role, int64_t a, int64_t b,
                      int64_t h, int64_t w)
{
    const struct tensor *tensor = &operands->tensor[role];
    const int64_t at[] = {a, b, h, w};
    return (double)dtype_load(tensor->type, operands->host[role], tensor_index(tensor, at));
}

static double forward_at(const struct operands *operands, const int64_t *at)
{
    const struct layer *l = &operands->layer;
    double sum = 0;
    for (int64_t r = 0; r < l->window[0]; r++) {
        for (int64_t s = 0; s < l->window[1]; s++) {
            int64_t h = at[2] * l->stride[0] - l->pre[0] + r;
            int64_t w = at[3] * l->stride[1] - l->pre[1] + s;
            if (h < 0 || h >= l->size[0] || w < 0 || w >= l->size[1])
                continue;
            for (int64_t c = 0; c < l->in; c++)
                sum += element(operands, ROLE_X, at[0], c, h, w) *
                       element(operands, ROLE_W, at[1], c, r, s);
        }
    }
    return sum;
}

static double data_at(const struct operands *operands, const int64_t *at)
{
    const struct layer *l = &operands->layer;
    const struct tensor *y = &operands->tensor[ROLE_Y];
    double sum = 0;
    for (int64_t r = 0; r < l->window[0]; r++) {
        for (int64_t s = 0; s < l->window[1]; s++) {
            int64_t h = at[2] + l->pre[0] - r;
            int64_t w = at[3] + l->pre[1] - s;
            if (h < 0 || h % l->stride[0] != 0 || h / l->stride[0] >= y->size[2] || w < 0 ||
                w % l->stride[1] != 0 || w / l->stride[1] >= y->size[3])
                continue;
            for (int64_t k = 0; k < l->out; k++)
                sum += element(operands, ROLE_Y, at[0], k, h / l->stride[0], w / l->stride[1]) *
                       element(operands, ROLE_W, k, at[1], r, s);
        }
    }
    return sum;
}

static double filter_at(const struct operands *operands, const int64_t *at)
{
    const struct layer *l = &operands->layer;
    const struct tensor *y = &operands->tensor[ROLE_Y];
    double sum = 0;
    for (int64_t n = 0; n < l->batch; n++) {
        for (int64_t i = 0; i < y->size[2]; i++) {
            int64_t h = i * l->stride[0] - l->pre[0] + at[2];
            for (int64_t j = 0; j < y->size[3] && h >= 0 && h < l->size[0]; j++) {
                int64_t w = j * l->stride[1] - l->pre[1] + at[3];
                if (w >= 0 && w < l->size[1])
                    sum += element(operands, ROLE_X, n, at[1], h, w) *
                           element(operands, ROLE_Y, n, at[0], i, j);
            }
        }
    }
    return sum;
}

static double expected_at(const struct operands *operands, const struct formula *formula,
                          const int64_t *at)
{
    static double (*const sums[])(const struct operands *, const int64_t *) = {forward_at, data_at,
                                                                               filter_at};
    enum role result = result_of(formula->direction);
    double value = (double)formula->alpha * sums[formula->direction](operands, at);
    if (formula->beta != 0.0F)
        value += (double)formula->beta * element(operands, result, at[0], at[1], at[2], at[3]);
    if (formula->biased)
        value += (double)dtype_load(operands->bias_tensor.type, operands->host_bias, (size_t)at[1]);
    return formula->relu && value < 0 ? 0 : value;
}

/* Elements at a step that has no divisor in common with the extents of these layers, so that they
 * lie all over the tensor. */
static bool right(const struct operands *operands, const struct formula *formula, const void *got)
{
    const struct tensor *tensor = &operands->tensor[result_of(formula->direction)];
    int64_t count = tensor->storage, step = 1000003;
    for (int64_t i = 0; i < CHECKED && i < count; i++) {
        int64_t index = i * step % count, at[4];
        for (int d = 3, rest = (int)index; d >= 0; rest /= (int)tensor->size[d--])
            at[d] = rest % tensor->size[d];
        double value = (double)dtype_load(tensor->type, got, (size_t)index);
        double wanted = expected_at(operands, formula, at);
        if (value != wanted) {
            fprintf(stderr, "wrong result, direction %d at %d %d %d %d: %g, not %g\n",
                    (int)formula->direction, (int)at[0], (int)at[1], (int)at[2], (int)at[3], value,
                    wanted);
            return false;
        }
    }
    return true;
}

static bool record(struct session *session, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        session->checksum = (session->checksum ^ at[i]) * UINT64_C(1099511628211);
    if (session->dump != NULL && fwrite(bytes, 1, size, session->dump) != size) {
        perror("dump");
        return false;
    }
    return true;
}

bool operands_verify(struct session *session, struct operands *operands,
                     const struct formula *formula)
{
    enum role result = result_of(formula->direction);
    size_t bytes = tensor_storage_bytes(&operands->tensor[result]);
    void *got = malloc(bytes);
    if (got == NULL)
        return false;
    TRY_CUDA(cudaStreamSynchronize(session->stream), fail);
    TRY_CUDA(cudaMemcpy(got, operands->device[result], bytes, cudaMemcpyDeviceToHost), fail);
    if (!right(operands, formula, got) || !record(session, got, bytes))
        goto fail;
    free(got);
    return operands_restore(session, operands, formula->direction);
fail:
    free(got);
    return false;
}

/* --- time --- */

bool stopwatch_start(struct session *session, struct stopwatch *watch)
{
    TRY_CUDA(cudaEventCreate(&watch->begin), fail);
    TRY_CUDA(cudaEventCreate(&watch->end), destroy_begin);
    TRY_CUDA(cudaEventRecord(watch->begin, session->stream), destroy_end);
    return true;
destroy_end:
    cudaEventDestroy(watch->end);
destroy_begin:
    cudaEventDestroy(watch->begin);
fail:
    return false;
}

bool stopwatch_stop(struct session *session, struct stopwatch *watch, float *time_p)
{
    bool good = false;
    TRY_CUDA(cudaEventRecord(watch->end, session->stream), destroy);
    TRY_CUDA(cudaEventSynchronize(watch->end), destroy);
    TRY_CUDA(cudaEventElapsedTime(time_p, watch->begin, watch->end), destroy);
    good = true;
destroy:
    cudaEventDestroy(watch->end);
    cudaEventDestroy(watch->begin);
    return good;
}

/* --- the program --- */

struct options {
    const char *mode, *dump;
    const char *const *modes;
    int64_t limit;
};

static bool take_mode(const char *value, struct options *options)
{
    for (const char *const *mode = options->modes; *mode != NULL; mode++) {
        if (strcmp(*mode, value) == 0) {
            options->mode = *mode;
            return true;
        }
    }
    return option_refuse("mode", value, "a mode of this program");
}

static bool take(int option, const char *value, void *into)
{
    struct options *options = into;
    if (option == 'm')
        return take_mode(value, options);
    if (option == 'l')
        return option_number("limit", value, 0, INT64_MAX, &options->limit);
    options->dump = value;
    return true;
}

static void session_close(struct session *session)
{
    if (session->handle != NULL)
        cudnnDestroy(session->handle);
    if (session->stream != NULL)
        cudaStreamDestroy(session->stream);
    if (session->dump != NULL)
        fclose(session->dump);
}

/* Returns -1 to go on, else the exit status; session_close is due in any case. */
static int session_open(struct session *session, int argc, char **argv, const char *const *modes)
{
    static const struct option known[] = {{"mode", required_argument, NULL, 'm'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"dump", required_argument, NULL, 'd'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct options options = {modes[0], NULL, modes, -1};
    int status = options_parse(argc, argv, known, take, &options,
                               "options: --mode MODE, --limit BYTES, --dump FILE\n", 0);
    memset(session, 0, sizeof *session);
    if (status >= 0)
        return status;
    session->mode = options.mode;
    session->limit = options.limit < 0 ? SIZE_MAX : (size_t)options.limit;
    session->checksum = UINT64_C(14695981039346656037);
    if (options.dump != NULL && (session->dump = fopen(options.dump, "wb")) == NULL) {
        perror(options.dump);
        return 1;
    }
    TRY_CUDA(cudaStreamCreateWithFlags(&session->stream, cudaStreamNonBlocking), fail);
    TRY_CUDNN(cudnnCreate(&session->handle), fail);
    TRY_CUDNN(cudnnSetStream(session->handle, session->stream), fail);
    return -1;
fail:
    return 1;
}

bool session_mode_is(const struct session *session, const char *mode)
{
    return strcmp(session->mode, mode) == 0;
}

bool session_memory(size_t bytes, void **pointer_p)
{
    *pointer_p = NULL;
    if (bytes > 0)
        TRY_CUDA(cudaMalloc(pointer_p, bytes), fail);
    return true;
fail:
    return false;
}

bool session_workspace(struct session *session, size_t bytes, void **pointer_p)
{
    if (bytes > session->largest)
        session->largest = bytes;
    return session_memory(bytes, pointer_p);
}

int session_main(int argc, char **argv, const char *const *modes, session_run *run)
{
    static const struct layer layers[] = {
        {CUDNN_DATA_HALF, 1, 64, 64, {128, 128}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {CUDNN_DATA_FLOAT, 2, 48, 32, {96, 96}, {5, 5}, {2, 2}, {2, 2}, {2, 2}}};
    enum {
        LAYERS = sizeof layers / sizeof *layers
    };
    struct operands operands[LAYERS];
    struct session session;
    memset(operands, 0, sizeof operands);
    int status = session_open(&session, argc, argv, modes);
    bool good = status < 0;
    for (int i = 0; i < LAYERS && good; i++)
        good = operands_open(&layers[i], (uint64_t)i, &operands[i]);
    good = good && run(&session, operands, LAYERS);
    good = good && (session.dump == NULL || fflush(session.dump) == 0);
    for (int i = 0; i < LAYERS; i++)
        operands_close(&operands[i]);
    session_close(&session);
    if (good)
        printf("largest workspace %zu\nchecksum %016" PRIx64 "\n", session.largest,
               session.checksum);
    return good ? 0 : status >= 0 ? status : 1;
}
