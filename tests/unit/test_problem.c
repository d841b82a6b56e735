#include "check.h"
#include "convshim/problem.h"
#include "random_problem.h"
#include <stddef.h>

enum {
    RANDOM_PROBLEMS = 100000,
    SEED = 20261
};

__extension__ typedef __int128 wide;

/* The first convolution of the SD 1.5 VAE at 512 px: 1x4x64x64, K 512, 3x3, pad 1. */
static struct cs_problem sample(void)
{
    return (struct cs_problem){
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{{1, 4, 1, 64, 64}, {16384, 4096, 0, 64, 1}, 16, CS_F16},
                   {{512, 4, 1, 3, 3}, {36, 9, 0, 3, 1}, 16, CS_F16},
                   {{1, 512, 1, 64, 64}, {2097152, 4096, 0, 64, 1}, 16, CS_F16}},
    };
}

static void sizes(void)
{
    struct cs_problem problem = sample();
    int64_t bytes = 0;
    CHECK_INT(cs_tensor_bytes(&problem.tensor[CS_X], &bytes), CS_OK);
    CHECK_INT(bytes, 4 * 64 * 64 * 2);
    problem.tensor[CS_X].strides[CS_H] = 100;
    CHECK_INT(cs_tensor_span(&problem.tensor[CS_X], &bytes), CS_OK);
    CHECK_INT(bytes, (3 * 4096 + 63 * 100 + 63 + 1) * 2);
    CHECK_INT(cs_dtype_size(CS_F32), 4);
    CHECK_INT(cs_dtype_size(CS_F16), 2);
    CHECK_INT(cs_dtype_size(CS_BF16), 2);
    CHECK_STR(cs_dtype_name(CS_F32), "f32");
    CHECK_STR(cs_dtype_name(CS_F16), "f16");
    CHECK_STR(cs_dtype_name(CS_BF16), "bf16");
}

static void layouts(void)
{
    struct cs_problem problem = sample();
    CHECK_STR(cs_problem_layout(&problem), "nchw");
    problem.tensor[CS_X].strides[CS_C] = 5000;
    CHECK_STR(cs_problem_layout(&problem), "strided");

    problem = sample();
    problem.tensor[CS_Y].strides[CS_H] = 65;
    CHECK_STR(cs_problem_layout(&problem), "strided");

    const int64_t x[] = {16384, 1, 0, 256, 4}, y[] = {2097152, 1, 0, 32768, 512};
    problem = sample();
    memcpy(problem.tensor[CS_X].strides, x, sizeof x);
    CHECK_STR(cs_problem_layout(&problem), "strided");
    memcpy(problem.tensor[CS_Y].strides, y, sizeof y);
    CHECK_STR(cs_problem_layout(&problem), "nhwc");
    problem.spatial = 3;
    CHECK_STR(cs_problem_layout(&problem), "ndhwc");
    problem = sample();
    problem.spatial = 3;
    CHECK_STR(cs_problem_layout(&problem), "ncdhw");
}

/* Each change makes the sample wrong in one way. */
static void refusals(void)
{
    struct {
        int64_t offset, value;
        enum cs_status status;
    } const wrong[] = {
#define WRONG(field, value, status) {offsetof(struct cs_problem, field), value, status}
        WRONG(groups, 0, CS_INVALID),
        WRONG(groups, 2, CS_INVALID),
        WRONG(pre[1], -1, CS_INVALID),
        WRONG(pre[1], 2, CS_INVALID),
        WRONG(post[2], -1, CS_INVALID),
        WRONG(pre[0], 1, CS_INVALID),
        WRONG(stride[1], 0, CS_INVALID),
        WRONG(stride[2], 2, CS_INVALID),
        WRONG(dilation[1], 0, CS_INVALID),
        WRONG(dilation[1], 2, CS_INVALID),
        WRONG(dilation[1], INT64_MAX, CS_OVERFLOW),
        WRONG(post[1], INT64_MAX, CS_OVERFLOW),
        WRONG(tensor[CS_X].dims[CS_C], 5, CS_INVALID),
        WRONG(tensor[CS_X].dims[CS_N], 2, CS_INVALID),
        WRONG(tensor[CS_X].dims[CS_H], 0, CS_INVALID),
        WRONG(tensor[CS_X].dims[CS_H], 65, CS_INVALID),
        WRONG(tensor[CS_X].dims[CS_D], 2, CS_INVALID),
        WRONG(tensor[CS_FILTER].dims[CS_C], INT64_MAX, CS_INVALID),
        WRONG(tensor[CS_FILTER].dims[CS_H], 67, CS_INVALID),
        WRONG(tensor[CS_Y].dims[CS_C], 511, CS_INVALID),
        WRONG(tensor[CS_Y].dims[CS_W], 63, CS_INVALID),
        WRONG(tensor[CS_X].strides[CS_H], 0, CS_INVALID),
        WRONG(tensor[CS_X].strides[CS_H], -64, CS_INVALID),
        WRONG(tensor[CS_X].strides[CS_H], INT64_MAX / 2, CS_OVERFLOW),
        WRONG(tensor[CS_X].strides[CS_C], INT64_MAX / 4, CS_OVERFLOW),
        WRONG(tensor[CS_Y].strides[CS_H], 63, CS_ILLEGAL),
        WRONG(tensor[CS_Y].strides[CS_C], 64, CS_ILLEGAL),
        WRONG(tensor[CS_Y].alignment, 0, CS_INVALID),
        WRONG(tensor[CS_Y].alignment, 24, CS_INVALID),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cs_problem problem = sample();
        memcpy((char *)&problem + wrong[i].offset, &wrong[i].value, sizeof wrong[i].value);
        enum cs_status status = cs_problem_check(&problem);
        if (status != wrong[i].status)
            printf("# change %zu gives status %d\n", i, (int)status);
        CHECK(status == wrong[i].status);
    }
    struct cs_problem problem = sample();
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    problem.spatial = 4;
    CHECK_INT(cs_problem_check(&problem), CS_INVALID);
    problem = sample();
    problem.tensor[CS_X].dtype = CS_DTYPES;
    CHECK_INT(cs_problem_check(&problem), CS_INVALID);
    problem = sample();
    problem.compute = (enum cs_dtype) - 1;
    CHECK_INT(cs_problem_check(&problem), CS_INVALID);
}

static void equal_words_mean_equal_problems(void)
{
    struct cs_problem problem = sample(), other = sample();
    int64_t words[CS_PROBLEM_WORDS], changed[CS_PROBLEM_WORDS];
    int used = cs_problem_words(&problem, words);
    CHECK(used <= CS_PROBLEM_WORDS);

    /* Padding bytes are not part of a problem. */
    memset(&other, 0xa5, sizeof other);
    struct cs_problem copy = sample();
#define COPY(field) other.field = copy.field
    COPY(direction), COPY(compute), COPY(spatial), COPY(flipped), COPY(groups);
    COPY(alpha), COPY(beta);
    memcpy(other.pre, copy.pre, sizeof copy.pre);
    memcpy(other.post, copy.post, sizeof copy.post);
    memcpy(other.stride, copy.stride, sizeof copy.stride);
    memcpy(other.dilation, copy.dilation, sizeof copy.dilation);
    for (int i = 0; i < CS_OPERANDS; i++) {
        memcpy(other.tensor[i].dims, copy.tensor[i].dims, sizeof copy.tensor[i].dims);
        memcpy(other.tensor[i].strides, copy.tensor[i].strides, sizeof copy.tensor[i].strides);
        COPY(tensor[i].alignment), COPY(tensor[i].dtype);
    }
    CHECK_INT(cs_problem_words(&other, changed), used);
    CHECK(memcmp(words, changed, (size_t)used * sizeof *words) == 0);

    /* Every 64-bit field changes some word, and each its own. */
    int fields = 0;
    for (size_t at = offsetof(struct cs_problem, groups); at < sizeof problem; at += 8) {
        other = sample();
        int64_t value;
        memcpy(&value, (char *)&other + at, sizeof value);
        value ^= INT64_C(1) << 20;
        memcpy((char *)&other + at, &value, sizeof value);
        cs_problem_words(&other, changed);
        int differing = 0;
        for (int i = 0; i < used; i++)
            differing += words[i] != changed[i];
        CHECK_INT(differing, 1);
        fields++;
    }
    CHECK_INT(fields + 4, used); /* the four before groups share fields */
    other = sample();
    other.flipped = true;
    cs_problem_words(&other, changed);
    CHECK(memcmp(words, changed, (size_t)used * sizeof *words) != 0);
    other = sample();
    other.spatial = 3;
    cs_problem_words(&other, changed);
    CHECK(memcmp(words, changed, (size_t)used * sizeof *words) != 0);
}

static wide wide_span(const struct cs_tensor *tensor)
{
    wide elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements += (wide)(tensor->dims[dim] - 1) * tensor->strides[dim];
    return elements * (tensor->dtype == CS_F32 ? 4 : 2);
}

/* Extents and strides from 1 to 2^62: what is told is right, and refused exactly where it does not
 * fit. */
static void spans_never_wrap(void)
{
    struct rng rng = {SEED};
    int64_t refused = 0;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_tensor tensor = {.dtype = (enum cs_dtype)rng_between(&rng, 0, 2)};
        int bits = (int)rng_between(&rng, 4, 62);
        for (int dim = 0; dim < CS_DIMS; dim++) {
            tensor.dims[dim] = rng_magnitude(&rng, bits / 3);
            tensor.strides[dim] = rng_magnitude(&rng, bits);
        }
        wide want = wide_span(&tensor);
        int64_t bytes = -1;
        enum cs_status status = cs_tensor_span(&tensor, &bytes);
        CHECK_INT(status, want > INT64_MAX ? CS_OVERFLOW : CS_OK);
        CHECK_INT(bytes, want > INT64_MAX ? -1 : (int64_t)want);
        refused += status != CS_OK;
    }
    printf("# %d random tensors from seed %d, %lld beyond 64 bits\n", RANDOM_PROBLEMS, SEED,
           (long long)refused);
    CHECK(refused > RANDOM_PROBLEMS / 20 && refused < RANDOM_PROBLEMS / 2);
}

static void random_problems_pass(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = i % 2 ? random_small(&rng) : random_large(&rng);
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
}

int main(void)
{
    TEST(sizes);
    TEST(layouts);
    TEST(refusals);
    TEST(equal_words_mean_equal_problems);
    TEST(spans_never_wrap);
    TEST(random_problems_pass);
    return REPORT();
}
