/* What by_rules.c makes of limits: convolutions whose output is of another size than their input.
 */
#include "decide/by_rules.h"
#include "fake_vendor.h"

static const int64_t MARGIN = INT64_C(2) << 20;

static struct cs_decision with_help(struct fake *fake, const struct cs_problem *problem,
                                    const char *policy, const struct cs_limits *limits,
                                    int64_t provided, const struct cs_decide_help *help)
{
    struct cs_vendor vendor = {.ctx = fake,
                               .rigid = true,
                               .build = fake_build,
                               .fallback = fake_fallback,
                               .destroy = fake_destroy,
                               .profile = fake_profile};
    const struct cs_settings settings = {
        .program = "", .policy = cs_policy_find(policy), .limits = *limits, .most = INT64_MAX};
    const struct cs_decide_call call = {
        .problem = problem, .required = formula(fake, problem), .engine = -1, .provided = provided};
    fake->calls = fake->live = 0;
    struct cs_decision decision = cs_decide_by_rules(&settings, &call, &vendor, help);
    CHECK_INT(fake->live, 0);
    return decision;
}

static struct cs_decision by_rules(struct fake *fake, const struct cs_problem *problem,
                                   const char *policy, const struct cs_limits *limits,
                                   int64_t provided)
{
    return with_help(fake, problem, policy, limits, provided, NULL);
}

/* workspace = auto without a price. */
static struct cs_limits auto_without_price(void)
{
    return (struct cs_limits){.workspace = -1, .threshold = -1, .tiles = 4, .lanes = 1};
}

static int64_t output_bytes(const struct cs_problem *problem)
{
    int64_t bytes = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[CS_Y], &bytes), CS_OK);
    return bytes;
}

/* x 512 MiB, y 256 MiB: tiles as small as others, and y and the margin are reported. */
static void output_sized(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 128);
    struct cs_limits limits = auto_without_price();
    struct cs_decision decision = by_rules(&fake, &problem, "fit", &limits, 0);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.reported, output_bytes(&problem) + MARGIN);
    CHECK_INT(decision.limit, decision.reported);
    CHECK(decision.scratch <= 64 * MIB && !decision.raised);
    check_true(&fake, &problem, &decision);

    limits.workspace = 64 * MIB;
    decision = by_rules(&fake, &problem, "fit", &limits, 0);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.reported <= 64 * MIB);
    CHECK(decision.tiles > 4);
}

/* x 128 MiB, y 512 MiB: exactly y is reported, so that the next tensor finds a block of its size.
 */
static void as_large_as_what_has_grown(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 64, 1, 1024, 1024, 256);
    struct cs_limits limits = auto_without_price();
    struct cs_decision decision = by_rules(&fake, &problem, "fit", &limits, 0);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.reported, output_bytes(&problem));
    CHECK_INT(decision.limit, decision.reported);
    CHECK(decision.scratch <= 64 * MIB && !decision.raised);
    check_true(&fake, &problem, &decision);

    struct fake within = {.fixed = output_bytes(&problem)};
    CHECK_INT(by_rules(&within, &problem, "fit", &limits, 0).reason, CS_REASON_SMALL);
    within.fixed++;
    CHECK(by_rules(&within, &problem, "fit", &limits, 0).reason != CS_REASON_SMALL);

    limits.workspace = 64 * MIB;
    decision = by_rules(&fake, &problem, "fit", &limits, 0);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK(decision.reported <= 64 * MIB);
}

/* What requires no more than the output is left alone, as what requires no more than workspace. */
static void within_the_output(void)
{
    struct fake fake = {.fixed = 200 * MIB};
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 128);
    struct cs_limits limits = auto_without_price();
    CHECK_INT(by_rules(&fake, &problem, "fit", &limits, 0).reason, CS_REASON_SMALL);
    fake.fixed = 256 * MIB + MARGIN;
    CHECK_INT(by_rules(&fake, &problem, "fit", &limits, 0).reason, CS_REASON_SMALL);
    fake.fixed++;
    CHECK(by_rules(&fake, &problem, "fit", &limits, 0).reason != CS_REASON_SMALL);
}

/* Never more than is required, whatever threshold lets the call in. */
static void never_beyond_what_is_required(void)
{
    struct fake fake = {.fixed = 1000, .per_byte = 0.1};
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 128);
    struct cs_limits limits = auto_without_price();
    limits.threshold = 16 * MIB;
    int64_t required = formula(&fake, &problem);
    CHECK(required < output_bytes(&problem));
    struct cs_decision decision = by_rules(&fake, &problem, "fit", &limits, 0);
    CHECK(decision.reported <= required);
    CHECK(decision.scratch <= required);
}

/* Only forward, only where the output is more than workspace, and at most half of the input or at
 * least four times as much. */
static void others_keep_to_the_limit(void)
{
    struct fake fake = vae_vendor();
    const struct cs_problem problems[] = {
        same(1, 256, 1, 1024, 1024, 256),
        same(1, 256, 1, 1024, 1024, 129),
        same(1, 128, 1, 1024, 1024, 256),
        same(1, 65, 1, 1024, 1024, 256),
        same(1, 4, 1, 1024, 1024, 32),
        same(1, 256, 1, 1024, 1024, 3),
        towards(CS_BACKWARD_DATA, 1, 256, 1, 1024, 1024, 128),
        towards(CS_BACKWARD_DATA, 1, 64, 1, 1024, 1024, 256),
    };
    const struct cs_limits limits = auto_without_price();
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct cs_decision decision = by_rules(&fake, &problems[i], "fit", &limits, 0);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        CHECK(decision.reported <= 64 * MIB);
    }
}

/* What was provided is all there is; a fixed number of tiles needs what it needs; scratch of the
 * library's own is no cache's. */
static void where_the_limit_is_another(void)
{
    struct fake fake = vae_vendor();
    struct cs_problem problem = same(1, 256, 1, 1024, 1024, 128);
    struct cs_limits limits = auto_without_price();
    CHECK(by_rules(&fake, &problem, "fit", &limits, 32 * MIB).reported <= 32 * MIB);
    struct cs_decision fixed = by_rules(&fake, &problem, "fixed", &limits, 0);
    limits.workspace = 64 * MIB;
    CHECK_INT(fixed.reported, by_rules(&fake, &problem, "fixed", &limits, 0).reported);
    limits.workspace = -1;
    limits.lent = true;
    CHECK(by_rules(&fake, &problem, "fit", &limits, 0).scratch <= 64 * MIB);
}

/* --- what does the peak no harm --------------------------------------------------------------- */

static int64_t harmless(void *ctx)
{
    return *(int64_t *)ctx;
}

static struct cs_decision with_room(struct fake *fake, const struct cs_problem *problem,
                                    const char *policy, const struct cs_limits *limits,
                                    int64_t provided, int64_t room)
{
    const struct cs_decide_help help = {.ctx = &room, .room = harmless};
    return with_help(fake, problem, policy, limits, provided, &help);
}

/* As many tiles as the room asks for, none where there is room for all, and as fit where nothing is
 * known or there is less room than fit takes. */
static void as_far_as_there_is_room(void)
{
    struct fake fake = vae_vendor();
    const struct cs_problem problem = same(1, 256, 1, 1024, 1024, 256);
    const struct cs_limits limits = auto_without_price();
    const int64_t required = formula(&fake, &problem);
    const struct cs_decision fit = by_rules(&fake, &problem, "fit", &limits, 0);
    struct cs_decision decision;
    CHECK_INT(fit.reason, CS_REASON_NONE);
    for (int64_t room = -1; room <= 64 * MIB; room += 32 * MIB) {
        decision = with_room(&fake, &problem, "peak", &limits, 0, room);
        CHECK_INT(decision.reported, fit.reported);
        CHECK_INT(decision.tiles, fit.tiles);
        CHECK_INT(decision.limit, fit.limit);
    }
    decision = with_room(&fake, &problem, "peak", &limits, 0, required / 2);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.limit, required / 2);
    CHECK(decision.reported <= required / 2 && decision.reported > fit.reported);
    CHECK(decision.tiles < fit.tiles);
    check_true(&fake, &problem, &decision);
    CHECK_INT(with_room(&fake, &problem, "peak", &limits, 0, required).reason, CS_REASON_SMALL);
}

/* What the user writes and what a caller has provided are kept to; other policies ask nobody. */
static void no_further_than_is_allowed(void)
{
    struct fake fake = vae_vendor();
    const struct cs_problem problem = same(1, 256, 1, 1024, 1024, 256);
    struct cs_limits limits = auto_without_price();
    const int64_t room = formula(&fake, &problem);
    CHECK(with_room(&fake, &problem, "fit", &limits, 0, room).reported <= 64 * MIB);
    CHECK(with_room(&fake, &problem, "peak", &limits, 32 * MIB, room).reported <= 32 * MIB);
    limits.lent = true;
    CHECK(with_room(&fake, &problem, "peak", &limits, 0, room).scratch <= 64 * MIB);
    limits.lent = false;
    limits.workspace = 48 * MIB;
    CHECK(with_room(&fake, &problem, "peak", &limits, 0, room).reported <= 48 * MIB);
}

/* A convolution that shrinks its input is reported no less than by fit. */
static void not_less_than_the_output(void)
{
    struct fake fake = vae_vendor();
    const struct cs_problem problem = same(1, 256, 1, 1024, 1024, 128);
    const struct cs_limits limits = auto_without_price();
    const int64_t least = output_bytes(&problem) + MARGIN;
    struct cs_decision decision = with_room(&fake, &problem, "peak", &limits, 0, 128 * MIB);
    CHECK_INT(decision.reported, least);
    CHECK_INT(decision.limit, least);
    decision = with_room(&fake, &problem, "peak", &limits, 0, least + 64 * MIB);
    CHECK(decision.reported <= least + 64 * MIB);
    check_true(&fake, &problem, &decision);
}

int main(void)
{
    TEST(output_sized);
    TEST(as_large_as_what_has_grown);
    TEST(within_the_output);
    TEST(never_beyond_what_is_required);
    TEST(others_keep_to_the_limit);
    TEST(where_the_limit_is_another);
    TEST(as_far_as_there_is_room);
    TEST(no_further_than_is_allowed);
    TEST(not_less_than_the_output);
    return REPORT();
}
