#include "layer_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pattern_make(cudnnDataType_t type, uint64_t seed, struct pattern *pattern)
{
    struct rng rng = rng_of(seed, 0);
    void *values = malloc(PATTERN_ELEMENTS * dtype_size(type));
    if (values == NULL) {
        perror("pattern");
        return false;
    }
    for (size_t i = 0; i < PATTERN_ELEMENTS; i++)
        dtype_store(type, values, i, rng_normal(&rng));
    *pattern = (struct pattern){type, values};
    return true;
}

static double pattern_at(const struct pattern *pattern, size_t index)
{
    return (double)dtype_load(pattern->type, pattern->values, index % PATTERN_ELEMENTS);
}

bool pattern_spread(const struct pattern *pattern, void *device, int64_t elements,
                    cudaStream_t stream)
{
    size_t bytes = (size_t)elements * dtype_size(pattern->type);
    size_t filled = PATTERN_ELEMENTS * dtype_size(pattern->type);
    if (filled > bytes)
        filled = bytes;
    TRY_CUDA(cudaMemcpyAsync(device, pattern->values, filled, cudaMemcpyHostToDevice, stream),
             fail);
    while (filled < bytes) {
        size_t more = bytes - filled < filled ? bytes - filled : filled;
        TRY_CUDA(cudaMemcpyAsync((char *)device + filled, device, more, cudaMemcpyDeviceToDevice,
                                 stream),
                 fail);
        filled += more;
    }
    TRY_CUDA(cudaStreamSynchronize(stream), fail);
    return true;
fail:
    return false;
}

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* Reads whole words; the bytes after a buffer's end, up to the next word, are zero. */
static uint64_t hash_words(uint64_t hash, const void *words, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)words + at, sizeof word);
        hash = (hash ^ word) * FNV_PRIME;
    }
    return hash;
}

bool output_read(const void *device, size_t bytes, cudaStream_t stream, FILE *dump,
                 uint64_t *checksum)
{
    enum {
        CHUNK = 32 << 20
    };
    uint64_t hash = FNV_BASIS;
    bool good = false;
    void *chunk = NULL;
    TRY_CUDA(cudaMallocHost(&chunk, CHUNK), fail);
    for (size_t at = 0; at < bytes; at += CHUNK) {
        size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
        TRY_CUDA(
            cudaMemcpyAsync(chunk, (const char *)device + at, part, cudaMemcpyDeviceToHost, stream),
            free_chunk);
        TRY_CUDA(cudaStreamSynchronize(stream), free_chunk);
        if (dump != NULL && fwrite(chunk, 1, part, dump) != part) {
            perror("dump");
            goto free_chunk;
        }
        if (part % sizeof(uint64_t) != 0)
            memset((char *)chunk + part, 0, sizeof(uint64_t) - part % sizeof(uint64_t));
        hash = hash_words(hash, chunk, part);
    }
    *checksum = hash;
    good = true;
free_chunk:
    cudaFreeHost(chunk);
fail:
    return good;
}

/* The expected y at these coordinates. */
static double sum_products(const struct conv_problem *p, const struct pattern *x,
                           const struct pattern *w, const int64_t *out)
{
    struct tensor filter = p->w;
    int64_t tap[CLIENT_MAX_DIMS] = {0};
    int64_t in[CLIENT_MAX_DIMS] = {out[0]};
    int64_t first = out[1] / (p->w.size[0] / p->groups) * p->w.size[1];
    size_t base = (size_t)(out[1] * p->w.stride[0]);
    double sum = 0.0;
    filter.size[0] = 1;
    do {
        bool inside = true;
        in[1] = first + tap[1];
        for (int i = 0; i < p->spatial; i++) {
            in[i + 2] = out[i + 2] * p->stride[i] - p->pre[i] + tap[i + 2] * p->dilation[i];
            inside = inside && in[i + 2] >= 0 && in[i + 2] < p->x.size[i + 2];
        }
        if (inside)
            sum += pattern_at(x, tensor_index(&p->x, in)) *
                   pattern_at(w, base + tensor_index(&filter, tap));
    } while (tensor_step(&filter, tap));
    return sum;
}

static void pick(const struct tensor *y, struct rng *rng, int64_t sample, int64_t *at)
{
    for (int i = 0; i < y->dims; i++) {
        int64_t last = y->size[i] - 1;
        at[i] = sample == 0 ? 0 : sample == 1 ? last : rng_between(rng, 0, last);
    }
}

bool output_check(const struct conv_problem *problem, const struct pattern *x,
                  const struct pattern *w, const void *y, int64_t samples,
                  struct layer_error *error)
{
    const struct tensor *tensor = &problem->y;
    size_t size = dtype_size(tensor->type);
    struct rng rng = rng_of(0, 0);
    struct layer_error found = {.samples = samples};
    double largest = 0.0;
    for (int64_t sample = 0; sample < samples; sample++) {
        int64_t at[CLIENT_MAX_DIMS] = {0};
        float element = 0.0F;
        pick(tensor, &rng, sample, at);
        TRY_CUDA(cudaMemcpy(&element, (const char *)y + tensor_index(tensor, at) * size, size,
                            cudaMemcpyDeviceToHost),
                 fail);
        double got = (double)dtype_load(tensor->type, &element, 0);
        double wanted = sum_products(problem, x, w, at);
        largest = fmax(largest, fabs(wanted));
        if (isfinite(got))
            found.max_abs = fmax(found.max_abs, fabs(got - wanted));
        else
            found.not_finite++;
    }
    found.max_rel = largest > 0.0 ? found.max_abs / largest : found.max_abs;
    *error = found;
    return true;
fail:
    return false;
}
