/* Convolutions and their outcome as text: each optional part alone. */
#include "account_fixture.h"

#include "account/account.h"
#include "check.h"

static struct cs_problem volume, image;

static void begin(void)
{
    volume = problem_of(3, 64, 32, 20, CS_BF16);
    set_tensor(&volume.tensor[CS_X], (const int64_t[]){1, 64, 20, 30, 40}, CS_BF16);
    image = problem_of(2, 64, 32, 20, CS_F16);
}

static void check_text(const struct cs_problem *problem, const char *want)
{
    char text[CS_PROBLEM_TEXT];
    int length = cs_site_problem_text(problem, text, sizeof text);
    CHECK_INT(length, strlen(text));
    CHECK_STR(text, want);
    for (size_t size = 1; size < 40; size += 13) {
        char part[40];
        memset(part, '#', sizeof part);
        CHECK_INT(cs_site_problem_text(problem, part, size), length);
        CHECK_INT(strlen(part), size - 1);
        CHECK(strncmp(part, want, size - 1) == 0);
    }
}

#define WITH(problem, change, want)                                                                \
    do {                                                                                           \
        begin();                                                                                   \
        change;                                                                                    \
        check_text(&(problem), want);                                                              \
    } while (0)

static void problems(void)
{
    WITH(image, (void)0, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw");
    WITH(image, image.tensor[CS_FILTER].dims[CS_W] = 5, "1x64x20x20 -> 32 k3x5 s1 p1 f16 nchw");
    WITH(image, image.stride[0] = 7, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw");
    WITH(image, image.stride[1] = 2, "1x64x20x20 -> 32 k3x3 s2x1 p1 f16 nchw");
    WITH(image, image.stride[2] = 2, "1x64x20x20 -> 32 k3x3 s1x2 p1 f16 nchw");
    WITH(image, image.stride[1] = image.stride[2] = 2, "1x64x20x20 -> 32 k3x3 s2 p1 f16 nchw");
    WITH(image, image.pre[1] = image.post[1] = 3, "1x64x20x20 -> 32 k3x3 s1 p3x1 f16 nchw");
    WITH(image, image.post[1] = 0, "1x64x20x20 -> 32 k3x3 s1 p1:0x1 f16 nchw");
    WITH(image, image.post[2] = 0, "1x64x20x20 -> 32 k3x3 s1 p1:1x0 f16 nchw");
    WITH(image, image.post[0] = 9, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw");
    WITH(image, image.dilation[0] = 9, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw");
    WITH(image, image.dilation[1] = 2, "1x64x20x20 -> 32 k3x3 s1 p1 d2x1 f16 nchw");
    WITH(image, image.dilation[2] = 2, "1x64x20x20 -> 32 k3x3 s1 p1 d1x2 f16 nchw");
    WITH(image, image.dilation[1] = image.dilation[2] = 2,
         "1x64x20x20 -> 32 k3x3 s1 p1 d2 f16 nchw");
    WITH(image, image.groups = 4, "1x64x20x20 -> 32 k3x3 s1 p1 g4 f16 nchw");
    WITH(image, image.direction = CS_BACKWARD_DATA, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw dgrad");
    WITH(image, image.direction = CS_BACKWARD_FILTER, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw wgrad");
    WITH(image, image.steps = 1, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw fused");
    WITH(image, (image.steps = 2, image.direction = CS_BACKWARD_DATA),
         "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw dgrad fused");
    WITH(volume, (void)0, "1x64x20x30x40 -> 32 k3x3x3 s1 p1 bf16 ncdhw");
    WITH(volume, volume.stride[0] = 2, "1x64x20x30x40 -> 32 k3x3x3 s2x1x1 p1 bf16 ncdhw");
    WITH(volume, volume.post[0] = 2, "1x64x20x30x40 -> 32 k3x3x3 s1 p1:2x1x1 bf16 ncdhw");
}

static void outcomes(void)
{
    static const struct {
        struct cs_site_facts facts;
        const char *tiles;
        bool reported;
    } rows[] = {
        {{.tiling = {.axis = {CS_AXIS_H}}, .tiles = 9}, "H x 9", true},
        {{.tiling = {.axis = {CS_AXIS_H}, .lanes = 1}, .tiles = 9}, "H x 9", true},
        {{.tiling = {.axis = {CS_AXIS_H}, .lanes = 2}, .tiles = 9}, "H x 9 on 2", true},
        {{.tiling = {.axis = {CS_AXIS_N, CS_AXIS_H}}, .tiles = 9}, "NH x 9", true},
        {{.tiling = {.axis = {CS_AXIS_H}, .staged = true, .equal_padding = true}, .tiles = 9},
         "H x 9 packed",
         true},
        {{.tiling = {.axis = {CS_AXIS_H}, .equal_padding = true, .lanes = 3}, .tiles = 9},
         "H x 9 packed ends on 3",
         true},
        {{.tiling = {.axis = {CS_AXIS_H_PHASES}}, .tiles = 3}, "h x 3 by phase", true},
        {{.tiling = {.axis = {CS_AXIS_N, CS_AXIS_W_PHASES}}, .tiles = 3}, "Nw x 3 by phase", true},
        {{.tiling = {.lanes = 2}, .tiles = 1}, "other engine", true},
        {{.tiling = {.axis = {CS_AXIS_H}}, .tiles = 9, .raised = true}, "H x 9, raised", true},
        {{.tiling = {.axis = {CS_AXIS_H}}, .tiles = 9, .reason = CS_REASON_REPORT_ONLY},
         "possible: 3 MiB, H x 9",
         false},
        {{.tiling = {.axis = {CS_AXIS_H}}, .tiles = 9, .reason = CS_REASON_SMALL}, NULL, false},
        {{.tiles = 1, .reason = CS_REASON_NO_TILING, .raised = true}, NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_site_outcome_text outcome;
        struct cs_site_facts facts = rows[i].facts;
        facts.possible = 3 * mib;
        memset(&outcome, '#', sizeof outcome);
        cs_site_outcome_text(&facts, &outcome);
        CHECK_STR(outcome.tiles,
                  rows[i].tiles ? rows[i].tiles : cs_account_reason_text(facts.reason));
        CHECK_STR(outcome.reported, rows[i].reported ? "3 MiB" : "");
    }
}

static void lines(void)
{
    char text[CS_PROBLEM_TEXT], want[CS_PROBLEM_TEXT];
    begin();
    struct cs_site_facts facts = facts_of(&image, 64 * mib, 8 * mib, 9);
    CHECK_INT(cs_site_text(&facts, text, sizeof text), strlen(text));
    CHECK_STR(text, "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw, engine 62: 64 MiB required, 8 MiB "
                    "reported, H x 9");
    facts = left_alone(&image, 64 * mib, CS_REASON_NO_TILING);
    snprintf(want, sizeof want,
             "1x64x20x20 -> 32 k3x3 s1 p1 f16 nchw, engine 62: 64 MiB required, %s",
             cs_account_reason_text(CS_REASON_NO_TILING));
    CHECK_INT(cs_site_text(&facts, text, sizeof text), strlen(want));
    CHECK_STR(text, want);
}

int main(void)
{
    TEST(problems);
    TEST(outcomes);
    TEST(lines);
    return REPORT();
}
