#include "client.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t dtype_size(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

const char *dtype_name(cudnnDataType_t type)
{
    if (type == CUDNN_DATA_FLOAT)
        return "f32";
    return type == CUDNN_DATA_HALF ? "f16" : "bf16";
}

bool dtype_parse(const char *name, cudnnDataType_t *type)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, dtype_name(types[i])) == 0) {
            *type = types[i];
            return true;
        }
    }
    return false;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Drops low bits, rounding to nearest even. The remaining bits keep their place. */
static uint32_t round_off(uint32_t bits, int dropped)
{
    return bits + (UINT32_C(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
}

static uint16_t bfloat16_round(float value)
{
    uint32_t bits = bits_of_float(value);
    return (uint16_t)(isnan(value) ? bits >> 16 | 0x40 : round_off(bits, 16) >> 16);
}

static float half_load(uint16_t half)
{
    uint32_t rest = half & 0x7fff;
    float value;
    if (rest < 0x400)
        value = (float)rest * 0x1p-24F;
    else if (rest < 0x7c00)
        value = float_of_bits((rest << 13) + 0x38000000);
    else
        value = rest == 0x7c00 ? INFINITY : NAN;
    return (half & 0x8000) != 0 ? -value : value;
}

static uint16_t half_round(float value)
{
    uint32_t sign = bits_of_float(value) >> 16 & 0x8000;
    float size = fabsf(value);
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    if (size >= 65520.0F)
        return (uint16_t)(sign | 0x7c00);
    /* Below the normal numbers the addition rounds: the last place of 0.5 is the smallest half. */
    if (size < 0x1p-14F)
        return (uint16_t)(sign | (bits_of_float(size + 0.5F) - bits_of_float(0.5F)));
    return (uint16_t)(sign | (round_off(bits_of_float(size), 13) - 0x38000000) >> 13);
}

float dtype_load(cudnnDataType_t type, const void *base, size_t index)
{
    if (type == CUDNN_DATA_FLOAT)
        return ((const float *)base)[index];
    if (type == CUDNN_DATA_HALF)
        return half_load(((const uint16_t *)base)[index]);
    return float_of_bits((uint32_t)((const uint16_t *)base)[index] << 16);
}

void dtype_store(cudnnDataType_t type, void *base, size_t index, float value)
{
    if (type == CUDNN_DATA_FLOAT)
        ((float *)base)[index] = value;
    else if (type == CUDNN_DATA_HALF)
        ((uint16_t *)base)[index] = half_round(value);
    else
        ((uint16_t *)base)[index] = bfloat16_round(value);
}

uint64_t rng_next(struct rng *rng)
{
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = rng->state;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

struct rng rng_of(uint64_t seed, uint64_t index)
{
    struct rng outer = {.state = seed};
    struct rng inner = {.state = rng_next(&outer) + index};
    return (struct rng){.state = rng_next(&inner)};
}

int64_t rng_between(struct rng *rng, int64_t first, int64_t last)
{
    return first + (int64_t)(rng_next(rng) % (uint64_t)(last - first + 1));
}

bool rng_once_in(struct rng *rng, int64_t times)
{
    return rng_between(rng, 1, times) == 1;
}

float rng_normal(struct rng *rng)
{
    uint64_t bits = rng_next(rng);
    int64_t sum = 0;
    for (int part = 0; part < 4; part++)
        sum += (int64_t)(bits >> (16 * part) & 0xffff);
    /* Four uniform numbers of variance 1/12 each. */
    return ((float)sum / 65536.0F - 2.0F) * 1.7320508F;
}

const char *layout_name(enum layout layout)
{
    return layout == LAYOUT_NCHW ? "nchw" : "nhwc";
}

bool layout_parse(const char *name, enum layout *layout)
{
    bool last = strcmp(name, "nhwc") == 0;
    if (!last && strcmp(name, "nchw") != 0)
        return false;
    *layout = last ? LAYOUT_NHWC : LAYOUT_NCHW;
    return true;
}

/* Returns the number of elements of the packed tensor. */
static int64_t pack_strides(int dims, enum layout layout, const int64_t *size, int64_t *stride)
{
    int64_t step = 1;
    if (layout == LAYOUT_NHWC) {
        stride[1] = 1;
        step = size[1];
    }
    for (int i = dims - 1; i >= 0; i--) {
        if (layout == LAYOUT_NHWC && i == 1)
            continue;
        stride[i] = step;
        step *= size[i];
    }
    return step;
}

void tensor_pack(struct tensor *tensor, enum layout layout)
{
    tensor->storage = pack_strides(tensor->dims, layout, tensor->size, tensor->stride);
    tensor->offset = 0;
}

void tensor_embed(struct tensor *tensor, enum layout layout, const int64_t *outer,
                  const int64_t *corner)
{
    tensor->storage = pack_strides(tensor->dims, layout, outer, tensor->stride);
    tensor->offset = 0;
    tensor->offset = (int64_t)tensor_index(tensor, corner);
}

int64_t tensor_elements(const struct tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->dims; i++)
        count *= tensor->size[i];
    return count;
}

size_t tensor_storage_bytes(const struct tensor *tensor)
{
    return (size_t)tensor->storage * dtype_size(tensor->type);
}

int64_t tensor_alignment(const struct tensor *tensor)
{
    int64_t address = tensor->offset * (int64_t)dtype_size(tensor->type);
    int64_t alignment = 16;
    while (address % alignment != 0)
        alignment /= 2;
    return alignment;
}

bool tensor_step(const struct tensor *tensor, int64_t *at)
{
    for (int i = tensor->dims - 1; i >= 0; i--) {
        if (++at[i] < tensor->size[i])
            return true;
        at[i] = 0;
    }
    return false;
}

size_t tensor_index(const struct tensor *tensor, const int64_t *at)
{
    int64_t index = tensor->offset;
    for (int i = 0; i < tensor->dims; i++)
        index += at[i] * tensor->stride[i];
    return (size_t)index;
}

void *tensor_first(const struct tensor *tensor, void *buffer)
{
    return (char *)buffer + (size_t)tensor->offset * dtype_size(tensor->type);
}

bool option_refuse(const char *option, const char *text, const char *allowed)
{
    fprintf(stderr, "--%s: '%s' is not %s\n", option, text, allowed);
    return false;
}

bool option_number(const char *option, const char *text, int64_t first, int64_t last,
                   int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < first || number > last) {
        char allowed[80];
        snprintf(allowed, sizeof allowed, "a whole number from %lld to %lld", (long long)first,
                 (long long)last);
        return option_refuse(option, text, allowed);
    }
    *value = number;
    return true;
}

bool option_real(const char *option, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || number < 0.0)
        return option_refuse(option, text, "a number that is not negative");
    *value = number;
    return true;
}

int options_parse(int argc, char **argv, const struct option *known, option_take *take,
                  void *options, const char *usage, int operands)
{
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (option == '?' || !take(option, optarg, options))
            goto wrong;
    }
    if (argc - optind == operands)
        return -1;
wrong:
    fputs(usage, stderr);
    return 2;
}
