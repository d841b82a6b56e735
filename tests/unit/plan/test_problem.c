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
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {1, 4, 1, 64, 64}, .strides = {16384, 4096, 0, 64, 1}},
                   {.dims = {512, 4, 1, 3, 3}, .strides = {36, 9, 0, 3, 1}},
                   {.dims = {1, 512, 1, 64, 64}, .strides = {2097152, 4096, 0, 64, 1}}},
    };
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_F16;
    }
    settle_operands(&problem);
    return problem;
}

enum {
    BIAS = CS_OPERANDS,
    SCALE,
    OUT
};

/* The sample with a bias, a scale by value and an activation, of which the last is written. */
static struct cs_problem fused(void)
{
    struct cs_problem problem = sample();
    problem.tensors = 6;
    problem.steps = 3;
    for (int i = 0; i < problem.steps; i++)
        problem.step[i] = (struct cs_step){.words = 2, .word = {7 + i, 9}};
    problem.tensor[CS_Y].is_virtual = true;
    problem.tensor[CS_Y].written = false;
    problem.tensor[BIAS] = problem.tensor[SCALE] = problem.tensor[OUT] = problem.tensor[CS_Y];
    problem.tensor[BIAS].is_virtual = problem.tensor[OUT].is_virtual = false;
    problem.tensor[SCALE].is_virtual = false;
    problem.tensor[SCALE].by_value = true;
    problem.tensor[OUT].written = true;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        problem.tensor[SCALE].dims[dim] = 1;
        if (dim != CS_C)
            problem.tensor[BIAS].dims[dim] = 1;
    }
    return problem;
}

static void sizes(void)
{
    struct cs_problem problem = sample();
    int64_t bytes = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem.tensor[CS_X], &bytes), CS_OK);
    CHECK_INT(bytes, 4 * 64 * 64 * 2);
    problem.tensor[CS_X].strides[CS_H] = 100;
    CHECK_INT(cs_problem_tensor_span(&problem.tensor[CS_X], &bytes), CS_OK);
    CHECK_INT(bytes, (3 * 4096 + 63 * 100 + 63 + 1) * 2);
    CHECK_INT(cs_problem_dtype_size(CS_F32), 4);
    CHECK_INT(cs_problem_dtype_size(CS_F16), 2);
    CHECK_INT(cs_problem_dtype_size(CS_BF16), 2);
    CHECK_STR(cs_problem_dtype_name(CS_F32), "f32");
    CHECK_STR(cs_problem_dtype_name(CS_F16), "f16");
    CHECK_STR(cs_problem_dtype_name(CS_BF16), "bf16");
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

/* Every stride of an extent above one counts, of both images; that of an extent of one does not. */
static void one_wrong_stride_is_no_layout(void)
{
    static const enum cs_dim order[2][CS_DIMS] = {{CS_N, CS_C, CS_D, CS_H, CS_W},
                                                  {CS_N, CS_D, CS_H, CS_W, CS_C}};
    static const char *const name[2] = {"ncdhw", "ndhwc"};
    for (int layout = 0; layout < 2; layout++)
        for (int wrong = 0; wrong < 2 * CS_DIMS; wrong++)
            for (int one = -1; one < CS_DIMS; one++) {
                struct cs_problem problem = {.spatial = 3};
                if (layout == 1 && one == CS_C)
                    continue; /* both */
                enum cs_operand side = wrong < CS_DIMS ? CS_X : CS_Y;
                for (int t = 0; t < CS_OPERANDS; t++) {
                    struct cs_tensor *tensor = &problem.tensor[t];
                    int64_t stride = 1;
                    for (int i = CS_DIMS - 1; i >= 0; i--) {
                        enum cs_dim dim = order[layout][i];
                        tensor->dims[dim] = (int)dim == one ? 1 : 2 + (int)dim + t;
                        tensor->strides[dim] = stride;
                        stride *= tensor->dims[dim];
                    }
                }
                CHECK_STR(cs_problem_layout(&problem), name[layout]);
                problem.tensor[side].strides[wrong % CS_DIMS] += 1000;
                CHECK_STR(cs_problem_layout(&problem),
                          wrong % CS_DIMS == one ? name[layout] : "strided");
            }
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

/* Wrong in one thing, and changed elsewhere so that all else agrees with it: no other check
 * refuses these. */
static void each_refusal_comes_from_one_check(void)
{
    struct change {
        size_t offset;
        int64_t value;
    };
#define SET(field, value)                                                                          \
    {                                                                                              \
        offsetof(struct cs_problem, field), value                                                  \
    }
    static const struct {
        struct change change[4]; /* at offset 0: none */
        enum cs_status status;
    } rows[] = {
        {{SET(pre[1], -1), SET(post[1], 3)}, CS_INVALID},
        {{SET(pre[2], 3), SET(post[2], -1)}, CS_INVALID},
        {{SET(pre[1], 0), SET(post[1], 2)}, CS_OK},
        {{SET(pre[0], 1), SET(stride[0], 2)}, CS_INVALID},
        {{SET(post[0], 1), SET(stride[0], 2)}, CS_INVALID},
        {{SET(stride[0], 2)}, CS_OK},
        {{SET(stride[0], -1)}, CS_INVALID},
        {{SET(dilation[0], 2)}, CS_OK},
        {{SET(dilation[0], 0)}, CS_INVALID},
        {{SET(dilation[0], -1)}, CS_INVALID},
        {{SET(groups, 2), SET(tensor[CS_FILTER].dims[CS_C], 2)}, CS_OK},
        {{SET(groups, 2), SET(tensor[CS_FILTER].dims[CS_C], 2),
          SET(tensor[CS_FILTER].dims[CS_N], 511), SET(tensor[CS_Y].dims[CS_C], 511)},
         CS_INVALID},
        {{SET(tensor[CS_X].dims[CS_D], 2), SET(tensor[CS_X].strides[CS_D], 1 << 20),
          SET(tensor[CS_Y].dims[CS_D], 2), SET(tensor[CS_Y].strides[CS_D], 1 << 22)},
         CS_INVALID},
        {{SET(tensor[CS_Y].dims[CS_N], 2)}, CS_INVALID},
        {{SET(tensor[CS_FILTER].strides[CS_D], -1)}, CS_INVALID},
        {{SET(tensor[CS_X].alignment, 1)}, CS_OK},
        {{SET(tensor[CS_X].alignment, -16)}, CS_INVALID},
    };
#undef SET
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_problem problem = sample();
        for (int j = 0; j < 4; j++)
            if (rows[i].change[j].offset > 0)
                memcpy((char *)&problem + rows[i].change[j].offset, &rows[i].change[j].value,
                       sizeof rows[i].change[j].value);
        enum cs_status status = cs_problem_check(&problem);
        if (status != rows[i].status)
            printf("# row %zu gives status %d\n", i, (int)status);
        CHECK_INT(status, rows[i].status);
    }
}

/* Checks that a changed problem is refused with the expected status. */
static void check_change(const char *what, struct cs_problem problem, enum cs_status status)
{
    if (cs_problem_check(&problem) != status)
        printf("# %s gives status %d\n", what, (int)cs_problem_check(&problem));
    CHECK(cs_problem_check(&problem) == status);
}

static void fused_refusals(void)
{
    struct cs_problem p;
#define CHANGE(change, status)                                                                     \
    do {                                                                                           \
        p = fused();                                                                               \
        change;                                                                                    \
        check_change(#change, p, status);                                                          \
    } while (0)
    CHANGE((void)0, CS_OK);
    CHANGE(p.tensors = 5, CS_ILLEGAL);
    CHANGE(p.tensors = 2, CS_INVALID);
    CHANGE(p.tensors = CS_MAX_TENSORS + 1, CS_INVALID);
    CHANGE(p.tensors = CS_MAX_TENSORS, CS_INVALID);
    CHANGE(p.steps = -1, CS_INVALID);
    CHANGE(p.steps = CS_MAX_STEPS + 1, CS_INVALID);
    CHANGE(p.steps_before = 3, CS_OK);
    CHANGE(p.steps_before = 4, CS_INVALID);
    CHANGE(p.steps_before = -1, CS_INVALID);
    for (int i = 0; i < 3; i++) {
        CHANGE(p.step[i].words = CS_STEP_WORDS, CS_OK);
        CHANGE(p.step[i].words = CS_STEP_WORDS + 1, CS_INVALID);
        CHANGE(p.step[i].words = -1, CS_INVALID);
    }
    CHANGE(p.step[3].words = -1, CS_OK); /* after the last one */
    CHANGE(p.tensor[BIAS].dims[CS_C] = 511, CS_INVALID);
    CHANGE(p.tensor[BIAS].side = CS_X, CS_INVALID);
    CHANGE(p.tensor[BIAS].side = CS_OPERANDS, CS_INVALID);
    CHANGE(p.tensor[BIAS].strides[CS_C] = 0, CS_INVALID);
    CHANGE(p.tensor[BIAS].strides[CS_C] = INT64_MAX / 4, CS_OVERFLOW);
    CHANGE(p.tensor[SCALE].side = CS_FILTER, CS_OK);
    CHANGE(p.tensor[BIAS].by_value = true, CS_INVALID);
    CHANGE(p.tensor[CS_X].side = CS_Y, CS_INVALID);
    CHANGE(p.tensor[CS_X].by_value = true, CS_INVALID);
    CHANGE(p.tensor[CS_X].is_virtual = true, CS_OK);
    CHANGE(p.tensor[CS_X].written = true, CS_ILLEGAL);
    CHANGE(p.tensor[CS_Y].is_virtual = false, CS_ILLEGAL);
    CHANGE(p.tensor[CS_Y].written = true, CS_ILLEGAL);
    CHANGE(p.tensor[OUT].is_virtual = true, CS_ILLEGAL);
    CHANGE(p.tensor[SCALE].written = true, CS_ILLEGAL);
    CHANGE(p.tensor[OUT].strides[CS_H] = 63, CS_ILLEGAL);
    CHANGE(p.tensor[BIAS].written = true, CS_ILLEGAL);
    CHANGE(p.tensor[OUT].dims[CS_H] = 1, CS_ILLEGAL);
}

static void directions(void)
{
    static const char *const names[CS_DIRECTIONS] = {"forward", "dgrad", "wgrad"};
    static const enum cs_operand results[CS_DIRECTIONS] = {CS_Y, CS_X, CS_FILTER};
    for (int i = 0; i < CS_DIRECTIONS; i++) {
        struct cs_problem problem = sample();
        problem.direction = (enum cs_direction)i;
        CHECK_INT(cs_problem_check(&problem), i == CS_FORWARD ? CS_OK : CS_ILLEGAL);
        settle_operands(&problem);
        CHECK_INT(cs_problem_check(&problem), CS_OK);
        CHECK_STR(cs_problem_direction_name((enum cs_direction)i), names[i]);
        CHECK_INT(cs_result((enum cs_direction)i), results[i]);
        /* Only the written tensor must be free of overlaps. */
        problem.tensor[CS_X].strides[CS_H] = 63;
        CHECK_INT(cs_problem_check(&problem), i == CS_BACKWARD_DATA ? CS_ILLEGAL : CS_OK);
    }
    struct cs_problem problem = sample();
    problem.direction = CS_DIRECTIONS;
    CHECK_INT(cs_problem_check(&problem), CS_INVALID);
}

/* The same values in memory that held others before. */
static void copy_fields(struct cs_problem *to, const struct cs_problem *from)
{
    memset(to, 0xa5, sizeof *to);
#define COPY(field) to->field = from->field
    COPY(direction), COPY(compute), COPY(spatial), COPY(flipped), COPY(groups);
    COPY(alpha), COPY(beta), COPY(tensors), COPY(steps), COPY(steps_before);
    memcpy(to->pre, from->pre, sizeof to->pre);
    memcpy(to->post, from->post, sizeof to->post);
    memcpy(to->stride, from->stride, sizeof to->stride);
    memcpy(to->dilation, from->dilation, sizeof to->dilation);
    for (int i = 0; i < from->tensors; i++) {
        memcpy(to->tensor[i].dims, from->tensor[i].dims, sizeof to->tensor[i].dims);
        memcpy(to->tensor[i].strides, from->tensor[i].strides, sizeof to->tensor[i].strides);
        COPY(tensor[i].alignment), COPY(tensor[i].dtype), COPY(tensor[i].side);
        COPY(tensor[i].is_virtual), COPY(tensor[i].by_value), COPY(tensor[i].written);
    }
    for (int i = 0; i < from->steps; i++) {
        COPY(step[i].words);
        for (int j = 0; j < from->step[i].words; j++)
            COPY(step[i].word[j]);
    }
}

static void equal_words_mean_equal_problems(void)
{
    static const struct {
        size_t at, size;
    } fields[] = {
#define FIELD(name) {offsetof(struct cs_problem, name), sizeof(((struct cs_problem *)0)->name)}
#define TENSOR(i)                                                                                  \
    FIELD(tensor[i].dims[0]), FIELD(tensor[i].dims[4]), FIELD(tensor[i].strides[0]),               \
        FIELD(tensor[i].strides[4]), FIELD(tensor[i].alignment), FIELD(tensor[i].dtype),           \
        FIELD(tensor[i].side), FIELD(tensor[i].is_virtual), FIELD(tensor[i].by_value),             \
        FIELD(tensor[i].written)
        FIELD(direction),
        FIELD(compute),
        FIELD(spatial),
        FIELD(flipped),
        FIELD(groups),
        FIELD(pre[0]),
        FIELD(pre[2]),
        FIELD(post[0]),
        FIELD(post[2]),
        FIELD(stride[0]),
        FIELD(stride[2]),
        FIELD(dilation[0]),
        FIELD(dilation[2]),
        FIELD(alpha),
        FIELD(beta),
        FIELD(tensors),
        FIELD(steps),
        FIELD(steps_before),
        TENSOR(0),
        TENSOR(1),
        TENSOR(2),
        TENSOR(3),
        TENSOR(5),
        FIELD(step[0].words),
        FIELD(step[2].words),
        FIELD(step[0].word[0]),
        FIELD(step[2].word[1])};
    static struct cs_problem problem, other;
    int64_t words[CS_PROBLEM_WORDS], changed[CS_PROBLEM_WORDS];
    problem = fused();
    int used = cs_problem_words(&problem, words);
    copy_fields(&other, &problem);
    CHECK_INT(cs_problem_words(&other, changed), used);
    CHECK(memcmp(words, changed, (size_t)used * sizeof *words) == 0);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        other = problem;
        *((unsigned char *)&other + fields[i].at) ^= 1;
        int now = cs_problem_words(&other, changed);
        CHECK(now != used || memcmp(words, changed, (size_t)used * sizeof *words) != 0);
    }

    struct rng rng = {SEED};
    int most = 0;
    for (int i = 0; i < 2000; i++) {
        problem = random_small(&rng);
        used = cs_problem_words(&problem, words);
        most = used > most ? used : most;
        copy_fields(&other, &problem);
        CHECK_INT(cs_problem_words(&other, changed), used);
        CHECK(memcmp(words, changed, (size_t)used * sizeof *words) == 0);
    }
    CHECK(most <= CS_PROBLEM_WORDS && most > 200);
}

static wide wide_span(const struct cs_tensor *tensor)
{
    wide elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements += (wide)(tensor->dims[dim] - 1) * tensor->strides[dim];
    return elements * (tensor->dtype == CS_F32 ? 4 : 2);
}

/* Extents and strides from 1 to 2^62: the reported span is right, and is refused only if it exceeds
 * 64 bits. */
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
        enum cs_status status = cs_problem_tensor_span(&tensor, &bytes);
        CHECK_INT(status, want > INT64_MAX ? CS_OVERFLOW : CS_OK);
        CHECK_INT(bytes, want > INT64_MAX ? -1 : (int64_t)want);
        refused += status != CS_OK;
    }
    printf("# %d random tensors from seed %d, %lld beyond 64 bits\n", RANDOM_PROBLEMS, SEED,
           (long long)refused);
    CHECK(refused > RANDOM_PROBLEMS / 20 && refused < RANDOM_PROBLEMS / 2);
}

/* A tensor behind the last one does not count. */
static void held_bytes_are_those_of_the_programs_tensors(void)
{
    struct cs_problem problem = sample();
    const int64_t x = 4 * 64 * 64 * 2, filter = 512 * 36 * 2, y = 512 * 64 * 64 * 2;
    problem.tensor[problem.tensors] = problem.tensor[CS_Y];
    CASE("forward");
    CHECK_INT(cs_problem_held_by(&problem, CS_X), x);
    CHECK_INT(cs_problem_held_by(&problem, CS_FILTER), 0);
    CHECK_INT(cs_problem_held(&problem), x + y);
    CASE("the gradient of the filter");
    problem.direction = CS_BACKWARD_FILTER;
    CHECK_INT(cs_problem_held(&problem), x + filter + y);
    CASE("more than 64 bits");
    problem.tensor[CS_X].strides[CS_C] = INT64_MAX / 4;
    CHECK_INT(cs_problem_held_by(&problem, CS_X), INT64_MAX);
    CHECK_INT(cs_problem_held(&problem), INT64_MAX);
    CASE("a virtual tensor, and one by value");
    problem = fused();
    CHECK_INT(cs_problem_held_by(&problem, CS_Y), 0);
    CHECK_INT(cs_problem_held_by(&problem, SCALE), 0);
    CHECK_INT(cs_problem_held_by(&problem, OUT), y);
}

static void random_problems_pass(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct cs_problem problem = i % 2 ? random_small(&rng) : random_large(&rng);
        RANDOM_CASE(SEED, i, &problem);
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
}

int main(void)
{
    TEST(sizes);
    TEST(layouts);
    TEST(one_wrong_stride_is_no_layout);
    TEST(refusals);
    TEST(each_refusal_comes_from_one_check);
    TEST(fused_refusals);
    TEST(directions);
    TEST(equal_words_mean_equal_problems);
    TEST(spans_never_wrap);
    TEST(held_bytes_are_those_of_the_programs_tensors);
    TEST(random_problems_pass);
    return REPORT();
}
