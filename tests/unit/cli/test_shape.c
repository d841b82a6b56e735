#include "check.h"
#include "cli/layers/layers.h"

#include "account/account.h"

enum {
    SHAPES = 100000,
    SEED = 411
};

static struct cs_shape sample(void)
{
    return (struct cs_shape){.spatial = 2,
                             .n = 2,
                             .c = 12,
                             .k = 8,
                             .groups = 1,
                             .in = {1, 20, 30},
                             .kernel = {1, 3, 5},
                             .stride = {1, 1, 2},
                             .pad = {0, 1, 0},
                             .dilation = {1, 1, 2},
                             .dtype = CS_F16};
}

static bool makes(const struct cs_shape *shape, struct cs_problem *problem)
{
    char error[200] = "";
    bool good = cs_shape_problem(shape, problem, error, sizeof error);
    CHECK(good == (error[0] == '\0'));
    return good;
}

static void channels_first(void)
{
    struct cs_shape shape = sample();
    struct cs_problem problem;
    CHECK(makes(&shape, &problem));
    CHECK_INT(problem.tensor[CS_Y].dims[CS_H], 20);
    CHECK_INT(problem.tensor[CS_Y].dims[CS_W], (30 - 9) / 2 + 1);
    CHECK_INT(problem.tensor[CS_X].strides[CS_N], 12 * 20 * 30);
    CHECK_INT(problem.tensor[CS_X].strides[CS_C], 20 * 30);
    CHECK_INT(problem.tensor[CS_X].strides[CS_D], 0);
    CHECK_INT(problem.tensor[CS_X].strides[CS_W], 1);
    CHECK_INT(problem.tensor[CS_FILTER].strides[CS_N], 12 * 15);
    CHECK(problem.tensor[CS_Y].written && !problem.tensor[CS_X].written);
    CHECK_STR(cs_problem_layout(&problem), "nchw");
}

static void channels_last(void)
{
    struct cs_shape shape = sample();
    struct cs_problem problem;
    shape.layout = CS_CHANNELS_LAST;
    shape.spatial = 3;
    shape.in[0] = 4;
    shape.direction = CS_BACKWARD_FILTER;
    CHECK(makes(&shape, &problem));
    CHECK_INT(problem.tensor[CS_X].strides[CS_C], 1);
    CHECK_INT(problem.tensor[CS_X].strides[CS_W], 12);
    CHECK_INT(problem.tensor[CS_X].strides[CS_D], 12 * 20 * 30);
    CHECK(problem.tensor[CS_FILTER].written && !problem.tensor[CS_Y].written);
    CHECK_STR(cs_problem_layout(&problem), "ndhwc");
}

static void invalid_shapes_are_refused(void)
{
    struct cs_problem problem;
    struct cs_shape shape = sample();
    int64_t *const least_1[] = {&shape.n,         &shape.c,          &shape.k,
                                &shape.groups,    &shape.in[1],      &shape.kernel[2],
                                &shape.stride[1], &shape.dilation[2]};
    for (size_t i = 0; i < sizeof least_1 / sizeof *least_1; i++) {
        int64_t was = *least_1[i];
        for (int64_t value = -1; value <= 0; value++) {
            *least_1[i] = value;
            CHECK(!makes(&shape, &problem));
        }
        *least_1[i] = INT64_MIN;
        CHECK(!makes(&shape, &problem));
        *least_1[i] = was;
        CHECK(makes(&shape, &problem));
    }
    shape.pad[1] = -1;
    CHECK(!makes(&shape, &problem));
    shape = sample();
    shape.kernel[2] = 17; /* (17 - 1) * 2 + 1 = 33 of 30 */
    CHECK(!makes(&shape, &problem));
    shape = sample();
    shape.groups = 5;
    CHECK(!makes(&shape, &problem));
}

/* All numbers give a valid problem or an error, never a wrapped product. */
static void random_extents(void)
{
    static const int64_t odd[] = {-1, 0, 1, 2, 3, 7, 64, 1 << 20, INT64_C(1) << 40, INT64_MAX};
    uint64_t state = SEED;
    int made = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct cs_shape shape = sample();
        struct cs_problem problem;
        int64_t *const any[] = {&shape.n,         &shape.c,          &shape.k,
                                &shape.groups,    &shape.in[1],      &shape.in[2],
                                &shape.pad[1],    &shape.kernel[1],  &shape.kernel[2],
                                &shape.stride[2], &shape.dilation[1]};
        for (int changes = 0; changes < 3; changes++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            *any[(state >> 33) % (sizeof any / sizeof *any)] =
                odd[(state >> 45) % (sizeof odd / sizeof *odd)];
        }
        if (!makes(&shape, &problem))
            continue;
        made++;
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
    CHECK(made > SHAPES / 100);
}

static void numbers(void)
{
    int64_t got[3];
    CHECK_INT(cs_shape_numbers("1", got, 3), 1);
    CHECK_INT(cs_shape_numbers("1x20x300", got, 3), 3);
    CHECK_INT(got[2], 300);
    CHECK_INT(cs_shape_numbers("-5", got, 3), 1);
    CHECK_INT(got[0], -5);
    const char *const wrong[] = {"",    "x",   "1x",   "x1",  "1xx2",    "1,2",
                                 " 1",  "1 ",  "1x 2", "+1",  "1x2x3x4", "0x10x1x",
                                 "1e3", "1.0", "\t1",  "1\n", "one",     "9223372036854775808"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(cs_shape_numbers(wrong[i], got, 3), 0);
}

static void words(void)
{
    enum cs_direction direction;
    enum cs_dtype dtype;
    enum cs_order layout;
    CHECK(cs_shape_direction("forward", &direction) && direction == CS_FORWARD);
    CHECK(cs_shape_direction("wgrad", &direction) && direction == CS_BACKWARD_FILTER);
    CHECK(!cs_shape_direction("", &direction) && !cs_shape_direction("fw", &direction));
    CHECK(cs_shape_dtype("bf16", &dtype) && dtype == CS_BF16);
    CHECK(!cs_shape_dtype("F16", &dtype) && !cs_shape_dtype("f64", &dtype));
    CHECK(cs_shape_layout("ndhwc", &layout) && layout == CS_CHANNELS_LAST);
    CHECK(cs_shape_layout("nchw", &layout) && layout == CS_CHANNELS_FIRST);
    CHECK(!cs_shape_layout("chwn", &layout));
    for (int i = 0; i < CS_DIRECTIONS; i++) {
        const char *name = cs_shape_direction_name((enum cs_direction)i);
        CHECK(cs_shape_direction(name, &direction) && (int)direction == i);
    }
}

/* Texts of the summary are read, and written again unchanged. */
static void the_summarys_text(void)
{
    static const char *const texts[] = {"1x512x64x64 -> 512 k3x3 s1 p1 f16 nchw",
                                        "2x8x32x48 -> 16 k3x5 s2x1 p1x2 d2 f32 nhwc dgrad",
                                        "4x32x8x16x16 -> 64 k3x3x3 s1 p1 g4 bf16 ncdhw wgrad",
                                        "1x8x9x9x9 -> 8 k1x3x3 s1 p0x1x1 f32 ndhwc"};
    char text[512], error[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct cs_shape shape = {.dtype = CS_F32};
        struct cs_problem problem;
        CHECK(cs_shape_text(texts[i], &shape, error, sizeof error));
        CHECK(cs_shape_problem(&shape, &problem, error, sizeof error));
        cs_site_problem_text(&problem, text, sizeof text);
        CHECK_STR(text, texts[i]);
    }
    static const char *const wrong[] = {"1x512x64x64 ->",       "-> 512 k3x3",
                                        "1x512 -> 512 k3x3",    "1x512x64x64 -> 512 k3x3x3",
                                        "1x8x8x8 -> 8 k3 p1:0", "1x8x8x8 -> 8 k3 x",
                                        "1x8x8x8 -> 8 strided", "1x8x8x8 -> 8 g"};
    struct cs_shape shape = {.n = 7};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!cs_shape_text(wrong[i], &shape, error, sizeof error));
        CHECK(strchr(error, '"') && shape.n == 7);
    }
}

int main(void)
{
    TEST(channels_first);
    TEST(channels_last);
    TEST(invalid_shapes_are_refused);
    TEST(random_extents);
    TEST(numbers);
    TEST(words);
    TEST(the_summarys_text);
    return REPORT();
}
