/* A vendor without a GPU for tests of decisions, and problems to decide about. */
#ifndef FAKE_VENDOR_H
#define FAKE_VENDOR_H

#include "base/checked.h"
#include "check.h"
#include "convshim/policy.h"
#include "decide/decide.h"
#include "policies.h"
#include "random_problem.h"

/* As without a configuration. */
static const struct cs_limits automatic = {
    .workspace = -1, .price = 15000, .threshold = -1, .tiles = 4};

/* A vendor whose workspaces follow a formula and whose kernels are counted. */
struct fake {
    int64_t fixed;                    /* bytes of every plan */
    double per_byte;                  /* bytes for each byte of x and y */
    double per_filter_byte;           /* and of w */
    bool compiles;                    /* every plan takes seconds */
    bool erratic;                     /* workspaces without any order */
    bool refuses_one_sided;           /* padding that differs along an axis */
    bool curved;                      /* workspaces grow less and less with the size, in grains */
    int64_t refuses_below;            /* output rows */
    int64_t refuses_from, refuses_to; /* output rows, both included */
    int64_t batch;      /* images that a plan prepares together, even if it has fewer; 0: off */
    int64_t filled;     /* bytes of a workspace that larger plans fill several times; 0: off */
    int64_t whole_rows; /* plans of fewer output rows copy their images twice; 0: off */
    bool refuses_all;
    int64_t nomem_at; /* the call that runs out of memory, counted from 1 */
    int64_t negative_at;
    int64_t fallback;      /* bytes that the fallback plan needs */
    bool fallback_exceeds; /* it reports more than its limit */
    int64_t stubborn; /* bytes that every plan needs with less relaxation than `helps`; 0: off */
    enum cs_relaxation helps;
    const struct cs_profile *profile; /* the device */
    int64_t alike; /* bytes that an equivalent engine needs, if `helps` allows one */
    int64_t calls, live;
    int64_t profiled; /* number of queries for the device */
};

static inline int64_t formula_at(const struct fake *fake, const struct cs_problem *problem,
                                 enum cs_relaxation relaxation)
{
    int64_t x = 0, y = 0, w = 0;
    if (fake->stubborn > 0 && relaxation < fake->helps)
        return fake->stubborn;
    if (fake->stubborn > 0 && fake->helps == CS_SIMILAR_ENGINE)
        return fake->alike;
    if (cs_problem_tensor_bytes(&problem->tensor[CS_X], &x) != CS_OK ||
        cs_problem_tensor_bytes(&problem->tensor[CS_FILTER], &w) != CS_OK ||
        cs_problem_tensor_bytes(&problem->tensor[CS_Y], &y) != CS_OK)
        return INT64_MAX;
    double bytes = (double)fake->fixed + fake->per_byte * ((double)x + (double)y) +
                   fake->per_filter_byte * (double)w;
    const int64_t images = problem->tensor[CS_Y].dims[CS_N];
    if (fake->batch > 0)
        bytes *= (double)cs_ceil_div(images, fake->batch) * (double)fake->batch / (double)images;
    if (problem->tensor[CS_Y].dims[CS_H] < fake->whole_rows)
        bytes *= 2;
    if (fake->curved)
        bytes = 512.0 * (double)(1 + (int64_t)(bytes * 1e4 / (bytes + 4e6)));
    if (fake->erratic) {
        struct rng rng = {(uint64_t)x * 31 + (uint64_t)y};
        bytes *= (double)rng_between(&rng, 1, 400) / 100;
    }
    if (fake->filled > 0 && bytes > (double)fake->filled)
        return fake->filled;
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

/* With the application's own engine and knobs. */
static inline int64_t formula(const struct fake *fake, const struct cs_problem *problem)
{
    return formula_at(fake, problem, CS_SAME_KNOBS);
}

static inline bool refused(const struct fake *fake, const struct cs_problem *problem)
{
    for (int i = 0; fake->refuses_one_sided && i < CS_SPATIAL; i++) {
        if (problem->pre[i] != problem->post[i])
            return true;
    }
    int64_t rows = problem->tensor[CS_Y].dims[CS_H];
    return fake->refuses_all || rows < fake->refuses_below ||
           (rows >= fake->refuses_from && rows <= fake->refuses_to);
}

static inline enum cs_status fake_build(void *ctx, const struct cs_problem *problem,
                                        enum cs_relaxation relaxation, void **execution_plan_p,
                                        int64_t *workspace_p)
{
    struct fake *fake = ctx;
    if (++fake->calls == fake->nomem_at)
        return CS_NOMEM;
    if (cs_problem_check(problem) != CS_OK || refused(fake, problem))
        return CS_REFUSED;
    fake->live++;
    *execution_plan_p = &fake->live;
    *workspace_p = fake->calls == fake->negative_at ? -1 : formula_at(fake, problem, relaxation);
    return CS_OK;
}

static inline enum cs_status fake_fallback(void *ctx, int64_t limit, void **execution_plan_p,
                                           int64_t *workspace_p)
{
    struct fake *fake = ctx;
    if (++fake->calls == fake->nomem_at)
        return CS_NOMEM;
    if (fake->fallback > limit && !fake->fallback_exceeds)
        return CS_REFUSED;
    fake->live++;
    *execution_plan_p = &fake->live;
    *workspace_p = fake->fallback;
    return CS_OK;
}

static inline const struct cs_profile *fake_profile(void *ctx)
{
    struct fake *fake = ctx;
    fake->profiled++;
    return fake->profile;
}

static inline void fake_destroy(void *execution_plan)
{
    if (execution_plan)
        --*(int64_t *)execution_plan;
}

/* The vendor value of a fake. It is rigid unless more relaxation helps. */
static inline struct cs_vendor fake_vendor(struct fake *fake)
{
    return (struct cs_vendor){.ctx = fake,
                              .compiles = fake->compiles,
                              .rigid = fake->stubborn == 0,
                              .build = fake_build,
                              .fallback = fake_fallback,
                              .destroy = fake_destroy,
                              .profile = fake_profile};
}

static inline struct cs_decision decide(struct fake *fake, const struct cs_problem *problem,
                                        int64_t required, const struct cs_policy *policy,
                                        const struct cs_limits *limits)
{
    const struct cs_vendor vendor = fake_vendor(fake);
    fake->calls = fake->live = fake->profiled = 0;
    struct cs_decision decision = cs_decide(problem, required, policy, limits, &vendor);
    CHECK_INT(fake->live, 0);
    CHECK_INT(decision.queries, fake->calls);
    CHECK(decision.queries <= CS_MAX_QUERIES);
    CHECK(fake->profiled <= 1);
    CHECK_INT(decision.required, required);
    if (decision.reason != CS_REASON_NONE && decision.reason != CS_REASON_REPORT_ONLY)
        CHECK_INT(decision.reported, required);
    return decision;
}

/* N x C x D x H x W to K channels with cubes of 3 and padding that keeps the extents; packed, f16.
 */
static inline struct cs_problem towards(enum cs_direction direction, int64_t n, int64_t c,
                                        int64_t d, int64_t h, int64_t w, int64_t k)
{
    struct cs_problem problem = {
        .direction = direction,
        .compute = CS_F32,
        .spatial = d > 1 ? 3 : 2,
        .groups = 1,
        .pre = {d > 1, h > 1, w > 1},
        .post = {d > 1, h > 1, w > 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{.dims = {n, c, d, h, w}},
                   {.dims = {k, c, d > 1 ? 3 : 1, h > 1 ? 3 : 1, w > 1 ? 3 : 1}},
                   {.dims = {n, k, d, h, w}}},
    };
    struct rng rng = {1};
    for (int i = 0; i < CS_OPERANDS; i++) {
        problem.tensor[i].alignment = 16;
        problem.tensor[i].dtype = CS_F16;
        random_strides(&rng, CHANNELS_FIRST, problem.spatial, &problem.tensor[i]);
    }
    settle_operands(&problem);
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    return problem;
}

static inline struct cs_problem same(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w,
                                     int64_t k)
{
    return towards(CS_FORWARD, n, c, d, h, w, k);
}

static const int64_t MIB = 1048576;

/* 1x512x512x512, K 512: 516.5 MiB required, and 64 MiB of it in nine row slices. */
static inline struct fake vae_vendor(void)
{
    return (struct fake){.fixed = 9 * MIB / 2, .per_byte = 1};
}

/* Checks a decision: the cut exists and is valid, and each of its kinds is granted and fits the
 * scratch. */
static inline void check_true(const struct fake *fake, const struct cs_problem *problem,
                              const struct cs_decision *decision)
{
    static struct cs_plan plan;
    static struct cs_problem shape;
    CHECK_INT(cs_plan_cut(problem, &decision->tiling, &plan), CS_OK);
    CHECK_INT(plan.tiles, decision->tiles);
    for (int k = 0; k < plan.shapes; k++) {
        cs_plan_problem(&plan, k, &shape);
        CHECK(!refused(fake, &shape));
        plan.shape[k].workspace = formula_at(fake, &shape, plan.shape[k].relaxation);
    }
    cs_plan_settle(&plan);
    CHECK_INT(plan.workspace, decision->scratch);
    CHECK_INT(cs_plan_validate(&plan, decision->scratch), CS_OK);
}

static inline struct cs_problem random_towards(struct rng *rng, enum cs_direction direction)
{
    bool volume = rng_between(rng, 0, 1);
    struct cs_problem problem =
        towards(direction, rng_magnitude(rng, 4), rng_magnitude(rng, 4),
                volume ? rng_between(rng, 2, 30) : 1, rng_magnitude(rng, volume ? 5 : 8),
                rng_between(rng, 2, volume ? 20 : 200), rng_magnitude(rng, 4));
    if (direction == CS_BACKWARD_FILTER && rng_between(rng, 0, 1)) {
        problem.tensor[CS_FILTER].dtype = CS_F32;
        CHECK_INT(cs_problem_check(&problem), CS_OK);
    }
    return problem;
}

#endif
