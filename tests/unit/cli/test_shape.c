#include "check.h"
#include "cli/layers/layers.h"

#include "account/account.h"

enum {
    SHAPES = 100000,
    SEED = 411
};

static struct cs_problem sample(void)
{
    return (struct cs_problem){
        .spatial = 2,
        .groups = 1,
        .stride = {1, 1, 2},
        .pre = {0, 1, 0},
        .dilation = {1, 1, 2},
        .tensor = {[CS_X] = {.dims = {2, 12, 1, 20, 30}, .dtype = CS_F16},
                   [CS_FILTER] = {.dims = {8, 0, 1, 3, 5}}},
    };
}

static bool complete(struct cs_problem *problem, enum cs_order layout)
{
    char error[CS_LAYERS_ERROR] = "";
    bool good = cs_shape_complete(problem, layout, error);
    CHECK(good == (error[0] == '\0'));
    return good;
}

static void channels_first(void)
{
    struct cs_problem problem = sample();
    CHECK(complete(&problem, CS_CHANNELS_FIRST));
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
    struct cs_problem problem = sample();
    problem.spatial = 3;
    problem.tensor[CS_X].dims[CS_D] = 4;
    problem.direction = CS_BACKWARD_FILTER;
    CHECK(complete(&problem, CS_CHANNELS_LAST));
    CHECK_INT(problem.tensor[CS_X].strides[CS_C], 1);
    CHECK_INT(problem.tensor[CS_X].strides[CS_W], 12);
    CHECK_INT(problem.tensor[CS_X].strides[CS_D], 12 * 20 * 30);
    CHECK(problem.tensor[CS_FILTER].written && !problem.tensor[CS_Y].written);
    CHECK_STR(cs_problem_layout(&problem), "ndhwc");
}

/* The numbers of a problem that a list sets, a few of each kind. */
enum {
    NUMBERS = 11,
    PADDING = 10
};
static void numbers_of(struct cs_problem *problem, int64_t *number[NUMBERS])
{
    int64_t *x = problem->tensor[CS_X].dims, *filter = problem->tensor[CS_FILTER].dims;
    int64_t *const all[NUMBERS] = {
        &x[CS_N],        &x[CS_C],      &filter[CS_N], &problem->groups,    &x[CS_H],
        &x[CS_W],        &filter[CS_H], &filter[CS_W], &problem->stride[2], &problem->dilation[1],
        &problem->pre[1]};
    memcpy(number, all, sizeof all);
}

static void invalid_shapes_are_refused(void)
{
    static const int64_t wrong[] = {0, -1, INT64_MIN};
    struct cs_problem problem;
    int64_t *number[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        for (int k = 0; k < 3; k++) {
            problem = sample();
            numbers_of(&problem, number);
            *number[i] = wrong[k];
            CHECK_INT(complete(&problem, CS_CHANNELS_FIRST), i == PADDING && wrong[k] == 0);
        }
    problem = sample();
    problem.tensor[CS_FILTER].dims[CS_W] = 17; /* (17 - 1) * 2 + 1 = 33 of 30 */
    CHECK(!complete(&problem, CS_CHANNELS_FIRST));
    problem = sample();
    problem.groups = 5;
    CHECK(!complete(&problem, CS_CHANNELS_FIRST));
}

/* All numbers give a valid problem or an error, never a wrapped product. */
static void random_extents(void)
{
    static const int64_t odd[] = {-1, 0, 1, 2, 3, 7, 64, 1 << 20, INT64_C(1) << 40, INT64_MAX};
    uint64_t state = SEED;
    int made = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct cs_problem problem = sample();
        int64_t *number[NUMBERS];
        numbers_of(&problem, number);
        for (int changes = 0; changes < 3; changes++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            *number[(state >> 33) % NUMBERS] = odd[(state >> 45) % (sizeof odd / sizeof *odd)];
        }
        if (!complete(&problem, CS_CHANNELS_FIRST))
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
    static const struct cs_layer_rules plain = {.layout = CS_CHANNELS_FIRST};
    char text[512], error[CS_LAYERS_ERROR];
    struct cs_problem problem;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK(cs_shape_text(texts[i], &plain, &problem, error));
        cs_site_problem_text(&problem, text, sizeof text);
        CHECK_STR(text, texts[i]);
    }
    static const char *const wrong[] = {"1x512x64x64 ->",       "-> 512 k3x3",
                                        "1x512 -> 512 k3x3",    "1x512x64x64 -> 512 k3x3x3",
                                        "1x8x8x8 -> 8 k3 p1:0", "1x8x8x8 -> 8 k3 x",
                                        "1x8x8x8 -> 8 strided", "1x8x8x8 -> 8 g"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(!cs_shape_text(wrong[i], &plain, &problem, error));
        CHECK(strchr(error, '"'));
    }
}

/* Type and direction of the rules replace those of a text, and the layout is for a text without. */
static void rules_for_a_text(void)
{
    static const char *const texts[][2] = {
        {"1x8x9x9 -> 8 k3x3", "1x8x9x9 -> 8 k3x3 s1 p0 bf16 nhwc wgrad"},
        {"1x8x9x9 -> 8 k3x3 f32 nchw dgrad", "1x8x9x9 -> 8 k3x3 s1 p0 bf16 nchw wgrad"}};
    const enum cs_direction direction = CS_BACKWARD_FILTER;
    const enum cs_dtype dtype = CS_BF16;
    const struct cs_layer_rules rules = {CS_CHANNELS_LAST, &direction, &dtype};
    char text[512], error[CS_LAYERS_ERROR];
    struct cs_problem problem;
    for (int i = 0; i < 2; i++) {
        CHECK(cs_shape_text(texts[i][0], &rules, &problem, error));
        cs_site_problem_text(&problem, text, sizeof text);
        CHECK_STR(text, texts[i][1]);
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
    TEST(rules_for_a_text);
    return REPORT();
}
