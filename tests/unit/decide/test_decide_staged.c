/* When tiles get packed copies: only where views are refused or want far more, and where the user
 * allows it for huge tensors. */
#include "fake_vendor.h"

/* A vendor that tells views from packed tensors. */
static struct viewer {
    struct fake fake;        /* first: its kernels are counted */
    bool refuses_views;      /* tensors in pieces */
    int64_t least_alignment; /* refuses others; 0: none */
    double view_factor;      /* workspace of views by that of packed tensors; 0: 1 */
    int64_t most_span;       /* elements: refuses more but of the plain engine; 0: no limit */
    int64_t own;             /* builds with an engine of the tile's own */
} viewer;

static bool in_pieces(const struct cs_problem *problem)
{
    for (int i = CS_X; i <= CS_Y; i += CS_Y - CS_X) {
        int64_t span, bytes;
        CHECK_INT(cs_problem_tensor_span(&problem->tensor[i], &span), CS_OK);
        CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[i], &bytes), CS_OK);
        if (span != bytes)
            return true;
    }
    return false;
}

static bool is_refused(const struct viewer *v, const struct cs_problem *problem)
{
    for (int i = CS_X; i <= CS_Y; i += CS_Y - CS_X) {
        int64_t span;
        CHECK_INT(cs_problem_tensor_span(&problem->tensor[i], &span), CS_OK);
        if (problem->tensor[i].alignment < v->least_alignment ||
            (v->most_span > 0 &&
             span / cs_problem_dtype_size(problem->tensor[i].dtype) > v->most_span))
            return true;
    }
    return v->refuses_views && in_pieces(problem);
}

static enum cs_status build(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **execution_plan_p,
                            int64_t *workspace_p)
{
    struct viewer *v = ctx;
    enum cs_status status =
        fake_build(&v->fake, problem, relaxation, execution_plan_p, workspace_p);
    v->own += relaxation == CS_TILE_HEURISTICS;
    if (status == CS_OK && is_refused(v, problem)) {
        fake_destroy(*execution_plan_p);
        return CS_REFUSED;
    }
    if (status == CS_OK && v->view_factor > 0 && in_pieces(problem))
        *workspace_p = (int64_t)((double)*workspace_p * v->view_factor);
    return status;
}

static const char *policy = "fit";

static struct cs_decision decide_on(const struct cs_problem *problem, int64_t required,
                                    const struct cs_limits *limits)
{
    const struct cs_vendor vendor = {
        .ctx = &viewer, .build = build, .fallback = fake_fallback, .destroy = fake_destroy};
    viewer.fake.calls = viewer.own = 0;
    struct cs_decision decision =
        cs_decide(problem, required, cs_policy_find(policy), limits, &vendor);
    CHECK_INT(viewer.fake.live, 0);
    CHECK_INT(decision.asked, viewer.fake.calls);
    CHECK(decision.asked <= CS_MAX_ASKS);
    return decision;
}

static const struct cs_limits plenty = {.threshold = -1, .lanes = 1};

static struct cs_limits limits_of(int64_t workspace, enum cs_staging staging, int64_t huge)
{
    struct cs_limits limits = plenty;
    limits.workspace = workspace;
    limits.staging = staging;
    limits.huge = huge;
    limits.min_saving = 16 * MIB;
    return limits;
}

/* The plan says so too: kinds in one piece, within the scratch that was decided. */
static void check_staged(const struct cs_problem *problem, const struct cs_decision *decision)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    CHECK_INT(decision->reason, CS_REASON_NONE);
    CHECK(decision->tiling.staged);
    CHECK_INT(cs_plan_cut(problem, &decision->tiling, &plan), CS_OK);
    CHECK(plan.staged > 0 && plan.copied > 0);
    for (int64_t k = 0; k < plan.shapes; k++) {
        cs_plan_problem(&plan, k, &shape);
        CHECK(!in_pieces(&shape));
        plan.shape[k].workspace = formula(&viewer.fake, &shape);
    }
    cs_plan_settle(&plan);
    CHECK_INT(plan.workspace, decision->scratch);
    CHECK_INT(cs_plan_validate(&plan, decision->scratch), CS_OK);
}

/* 1x512x512x512, K 512: 516.5 MiB for the whole. */
static void where_views_are_refused(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_AUTO, 0);
    viewer = (struct viewer){.fake = vae_vendor(), .refuses_views = true};
    int64_t required = formula(&viewer.fake, &problem);
    struct cs_decision decision = decide_on(&problem, required, &limits);
    check_staged(&problem, &decision);
    CHECK_INT(decision.tiling.axis[0], CS_AXIS_H);
    CHECK_INT(decision.tiling.relaxation, CS_SAME_KNOBS);
    CHECK(decision.scratch <= 64 * MIB && decision.tiles < 25);
    limits.staging = CS_STAGING_NEVER;
    CHECK_INT(decide_on(&problem, required, &limits).reason, CS_REASON_NO_TILING);
    viewer.refuses_views = false;
    limits.staging = CS_STAGING_AUTO;
    CHECK(!decide_on(&problem, required, &limits).tiling.staged);
    limits.staging = CS_STAGING_ALWAYS;
    CHECK(decide_on(&problem, required, &limits).tiling.staged);
}

/* Rows of 3 channels innermost: no row but each eighth begins at 16 bytes. */
static void where_alignments_are_refused(void)
{
    struct cs_problem problem = same(1, 3, 1, 511, 513, 3);
    struct rng rng = {1};
    for (int i = 0; i < CS_OPERANDS; i++)
        random_strides(&rng, CHANNELS_LAST, 2, &problem.tensor[i]);
    struct cs_limits limits = limits_of(MIB, CS_STAGING_AUTO, 0);
    viewer = (struct viewer){.fake = {.fixed = 1000, .per_byte = 1}, .least_alignment = 16};
    struct cs_decision decision = decide_on(&problem, formula(&viewer.fake, &problem), &limits);
    check_staged(&problem, &decision);
}

/* As engines 12, 19, 25 and 37 do: the first and the last tile have spare rows, and the rest is as
 * with engines that take everything. */
static void where_unequal_padding_is_refused(void)
{
    for (int direction = CS_FORWARD; direction <= CS_BACKWARD_DATA; direction++) {
        struct cs_problem problem = towards((enum cs_direction)direction, 1, 512, 1, 512, 512, 512);
        struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_AUTO, 0);
        viewer = (struct viewer){.fake = vae_vendor()};
        int64_t required = formula(&viewer.fake, &problem);
        struct cs_decision views = decide_on(&problem, required, &limits);
        CHECK(!views.tiling.equal_padding);
        viewer.fake.refuses_one_sided = true;
        struct cs_decision decision = decide_on(&problem, required, &limits);
        CHECK_INT(decision.reason, CS_REASON_NONE);
        CHECK(decision.tiling.equal_padding && !decision.tiling.staged);
        CHECK_INT(decision.tiling.axis[0], CS_AXIS_H);
        CHECK(decision.scratch <= 64 * MIB && decision.tiles <= 2 * views.tiles);
        check_true(&viewer.fake, &problem, &decision);
        limits.staging = CS_STAGING_NEVER;
        CHECK_INT(decide_on(&problem, required, &limits).reason, CS_REASON_NO_TILING);
    }
}

/* As engines 38, 41 and 70 do: views want several times what packed tensors want. */
static void where_views_want_more(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_NEVER, 0);
    viewer = (struct viewer){.fake = {.per_byte = 0.125}, .view_factor = 64};
    int64_t required = 100 * MIB;
    struct cs_decision views = decide_on(&problem, required, &limits);
    CHECK(views.reason == CS_REASON_NONE && !views.tiling.staged && views.tiles >= 60);
    limits.staging = CS_STAGING_AUTO;
    struct cs_decision decision = decide_on(&problem, required, &limits);
    check_staged(&problem, &decision);
    CHECK(decision.tiles <= views.tiles / 2);
    viewer.view_factor = 1.2; /* then copies are not worth it */
    required = 516 * MIB;
    viewer.fake.per_byte = 1;
    CHECK(!decide_on(&problem, required, &limits).tiling.staged);
}

/* Two images of 2^31 elements each; what spans more than 2^31 has the plain engine alone. */
static void huge_tensors(void)
{
    const int64_t span = INT64_C(1) << 31;
    struct cs_problem problem = same(2, 128, 1, 4096, 4096, 128);
    struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_AUTO, 0);
    viewer = (struct viewer){.fake = vae_vendor(), .most_span = span - 1};
    CHECK_INT(decide_on(&problem, 0, &limits).reason, CS_REASON_SMALL);
    CHECK_INT(viewer.fake.calls, 0);
    limits.huge = span;
    struct cs_decision decision = decide_on(&problem, 0, &limits);
    check_staged(&problem, &decision);
    CHECK_INT(decision.tiling.relaxation, CS_TILE_HEURISTICS);
    CHECK_INT(decision.required, 0);
    CHECK(decision.reported == decision.scratch && decision.reported <= 64 * MIB);
    CHECK_INT(viewer.own, viewer.fake.calls - 1); /* but the fallback plan */
    limits.lent = true;
    CHECK_INT(decide_on(&problem, 0, &limits).reported, 0);
    limits.lent = false;
    limits.huge = 2 * span + 1;
    CHECK_INT(decide_on(&problem, 0, &limits).reason, CS_REASON_SMALL);
    limits.huge = span;
    limits.workspace = MIB; /* less than one row */
    CHECK_INT(decide_on(&problem, 0, &limits).reason, CS_REASON_NO_TILING);
}

/* What requires a workspace has engines of its own: it is tiled as ever. */
static void huge_tensors_with_engines(void)
{
    struct cs_problem problem = same(2, 128, 1, 4096, 4096, 128);
    struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_AUTO, 1);
    viewer = (struct viewer){.fake = vae_vendor()};
    struct cs_decision decision = decide_on(&problem, formula(&viewer.fake, &problem), &limits);
    CHECK_INT(decision.reason, CS_REASON_NONE);
    CHECK_INT(decision.tiling.relaxation, CS_SAME_KNOBS);
    CHECK(!decision.tiling.staged);
    CHECK_INT(viewer.own, 0);
}

/* No memory at any one call ends in that reason. */
static void without_memory(void)
{
    struct cs_problem problem = same(1, 512, 1, 512, 512, 512);
    struct cs_limits limits = limits_of(64 * MIB, CS_STAGING_AUTO, 0);
    viewer = (struct viewer){.fake = vae_vendor(), .refuses_views = true};
    int64_t required = formula(&viewer.fake, &problem);
    int64_t calls = decide_on(&problem, required, &limits).asked;
    for (int64_t n = 1; n <= calls; n++) {
        viewer.fake.nomem_at = n;
        CHECK_INT(decide_on(&problem, required, &limits).reason, CS_REASON_HOST_MEMORY);
    }
}

int main(void)
{
    TEST(where_views_are_refused);
    TEST(where_alignments_are_refused);
    TEST(where_unequal_padding_is_refused);
    TEST(where_views_want_more);
    TEST(huge_tensors);
    TEST(huge_tensors_with_engines);
    TEST(without_memory);
    return REPORT();
}
