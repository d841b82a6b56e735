/* For the tests of src/flow/flow: a vendor whose workspaces follow the output's size and which
 * refuses, lies or runs out of memory at any one of its calls, an instance, a request. */
#ifndef FLOW_FIXTURE_H
#define FLOW_FIXTURE_H

#include "check.h"
#include "flow/flow.h"
#include "policies.h"
#include "random_problem.h"

enum {
    LIMIT = 512 << 10,
    RUN_FAILED = 3001
};

enum fault {
    NO_FAULT,
    REFUSES,
    NO_MEMORY,
    NEGATIVE, /* builds, and reports a negative size */
    GROWS,    /* builds, and reports a larger size than otherwise */
    FAULTS
};

static struct fake {
    enum fault fault;
    int fault_at;     /* the call that has the fault, fallback plans counted in; 0: all of them */
    bool no_fallback; /* refuses every fallback plan */
    int64_t fallback; /* bytes that a fallback plan requires */
    int calls, fallbacks;
} fake;

static int kernels; /* not destroyed yet */

/* Twice the output and four rows of it. */
static inline int64_t workspace_of(const struct cs_problem *problem)
{
    int64_t bytes = 0;
    CHECK_INT(cs_problem_tensor_bytes(&problem->tensor[CS_Y], &bytes), CS_OK);
    return 2 * bytes + 4 * (bytes / problem->tensor[CS_Y].dims[CS_H]);
}

static inline enum cs_status make_execution_plan(struct fake *f, int64_t bytes,
                                                 void **execution_plan_p, int64_t *workspace_p)
{
    f->calls++;
    enum fault fault = f->fault_at == 0 || f->calls == f->fault_at ? f->fault : NO_FAULT;
    if (fault == REFUSES)
        return CS_REFUSED;
    if (fault == NO_MEMORY)
        return CS_NOMEM;
    void *made = malloc(1);
    if (!made)
        return CS_NOMEM;
    *execution_plan_p = made;
    kernels++;
    *workspace_p = fault == NEGATIVE ? -1 : fault == GROWS ? bytes + 4 * LIMIT : bytes;
    return CS_OK;
}

static inline enum cs_status fake_build(void *ctx, const struct cs_problem *problem,
                                        enum cs_relaxation relaxation, void **execution_plan_p,
                                        int64_t *workspace_p)
{
    (void)relaxation;
    CHECK_INT(cs_problem_check(problem), CS_OK);
    return make_execution_plan(ctx, workspace_of(problem), execution_plan_p, workspace_p);
}

static inline enum cs_status fake_fallback(void *ctx, int64_t limit, void **execution_plan_p,
                                           int64_t *workspace_p)
{
    struct fake *f = ctx;
    f->fallbacks++;
    if (f->no_fallback || f->fallback > limit) {
        f->calls++;
        return CS_REFUSED;
    }
    return make_execution_plan(f, f->fallback, execution_plan_p, workspace_p);
}

static inline void fake_destroy(void *execution_plan)
{
    kernels -= execution_plan != NULL;
    free(execution_plan);
}

static const struct cs_vendor vendor = {
    .ctx = &fake, .build = fake_build, .fallback = fake_fallback, .destroy = fake_destroy};

static inline struct cs *new_instance(const struct cs_policy *policy)
{
    struct cs *cs = calloc(1, sizeof *cs);
    if (!cs) {
        printf("Bail out! out of memory\n");
        exit(1);
    }
    cs_memo_init(&cs->memo);
    cs_account_init(&cs->account);
    cs_exec_init(&cs->exec, NULL, CS_BACKING_AUTO, 0);
    cs->policy = policy;
    cs->limits = (struct cs_limits){.workspace = LIMIT, .threshold = LIMIT, .tiles = 4, .lanes = 1};
    memset(&fake, 0, sizeof fake);
    return cs;
}

/* Two images of 64 x 64, 16 channels, 3 x 3: requires a little more than 1 MiB, each image a little
 * more than the limit. */
static inline struct cs_request ordinary(void)
{
    struct cs_request request = {
        .problem = {.direction = CS_FORWARD,
                    .spatial = 2,
                    .groups = 1,
                    .pre = {0, 1, 1},
                    .post = {0, 1, 1},
                    .stride = {1, 1, 1},
                    .dilation = {1, 1, 1},
                    .alpha = 1,
                    .tensor = {{.dims = {2, 16, 1, 64, 64}, .alignment = 16},
                               {.dims = {16, 16, 1, 3, 3}, .alignment = 16},
                               {.dims = {2, 16, 1, 64, 64}, .alignment = 16}}},
        .engine = {.index = 7, .knobs = 1, .knob_type = {3}, .knob_value = {5}},
        .scope = 1};
    struct rng unused = {0};
    for (int i = 0; i < CS_OPERANDS; i++)
        random_strides(&unused, CHANNELS_FIRST, 2, &request.problem.tensor[i]);
    settle_operands(&request.problem);
    request.required = workspace_of(&request.problem);
    return request;
}

/* Checks the properties that every verdict has. */
static inline void check_verdict(struct cs *cs, const struct cs_request *request,
                                 const struct cs_verdict *verdict)
{
    int64_t limit = request->limit > 0 ? request->limit : cs->limits.workspace;
    const struct cs_rewrite *rewrite = verdict->rewrite;
    struct cs_site_facts facts;
    CHECK(cs_account_facts(&cs->account, &verdict->site, &facts));
    CHECK_INT(facts.reason, verdict->reason);
    CHECK_INT(facts.required, request->required);
    CHECK_INT(rewrite != NULL, verdict->reason == CS_REASON_NONE);
    if (!rewrite) {
        CHECK_INT(verdict->reported, request->required);
        CHECK_INT(kernels, 0);
        return;
    }
    CHECK(verdict->reported <= limit || (facts.raised && request->limit == 0));
    CHECK(verdict->reported < request->required);
    CHECK_INT(cs_site_reported(&facts), verdict->reported);
    if (rewrite->plan.tiles == 0) {
        CHECK(rewrite->fallback != NULL);
        CHECK_INT(kernels, 1);
        return;
    }
    CHECK_INT(cs_plan_validate(&rewrite->plan, verdict->reported), CS_OK);
    CHECK(rewrite->plan.tiles > 1);
    CHECK_INT(kernels, rewrite->plan.shapes + 1);
    for (int64_t i = 0; i < rewrite->plan.shapes; i++) {
        struct cs_problem shape;
        cs_plan_problem(&rewrite->plan, i, &shape);
        CHECK_INT(rewrite->plan.shape[i].workspace, workspace_of(&shape));
    }
}

/* Prepares a request, checks the common properties and discards the verdict. `tiles` of the answer
 * is 0 if the convolution was not tiled. */
struct answer {
    enum cs_reason reason;
    int64_t reported, tiles, shapes;
    struct cs_tiling tiling;
    int calls;
};

static inline struct answer prepare_by(struct cs *cs, const struct cs_request *request,
                                       const struct cs_vendor *by)
{
    fake.calls = 0;
    struct cs_verdict verdict = cs_flow_prepare(cs, request, by);
    struct answer answer = {
        .reason = verdict.reason, .reported = verdict.reported, .calls = fake.calls};
    check_verdict(cs, request, &verdict);
    if (verdict.rewrite) {
        answer.tiling = verdict.rewrite->plan.tiling;
        answer.tiles = verdict.rewrite->plan.tiles;
        answer.shapes = verdict.rewrite->plan.shapes;
    }
    cs_rewrite_discard(verdict.rewrite);
    CHECK_INT(kernels, 0);
    return answer;
}

static inline struct answer prepare(struct cs *cs, const struct cs_request *request)
{
    return prepare_by(cs, request, &vendor);
}

static inline void check_same(struct answer a, struct answer b)
{
    CHECK_INT(a.reason, b.reason);
    CHECK_INT(a.reported, b.reported);
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        CHECK_INT(a.tiling.axis[c], b.tiling.axis[c]);
        CHECK_INT(a.tiling.step[c], b.tiling.step[c]);
    }
    CHECK_INT(a.tiles, b.tiles);
    CHECK_INT(a.shapes, b.shapes);
}

static inline int64_t reported(struct cs *cs, const struct cs_request *request)
{
    fake.calls = 0;
    int64_t bytes = cs_flow_reported(cs, request, &vendor);
    CHECK_INT(kernels, 0);
    return bytes;
}

#endif
