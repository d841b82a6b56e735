/* For the tests of src/flow/flow: a vendor whose workspaces follow the output's size and which
 * refuses, lies or runs out of memory at any one of its calls, an instance, a request. */
#ifndef FLOW_FIXTURE_H
#define FLOW_FIXTURE_H

#include "check.h"
#include "flow/flow.h"
#include "random_problem.h"

enum {
    LIMIT = 512 << 10,
    RUN_FAILED = 3001
};

enum fault {
    NO_FAULT,
    REFUSES,
    NO_MEMORY,
    NEGATIVE, /* builds, and asks for less than nothing */
    GROWS,    /* builds, and asks for more than it would otherwise */
    FAULTS
};

static struct fake {
    enum fault fault;
    int fault_at;     /* the call that has the fault, lifeboats counted in; 0: all of them */
    bool no_lifeboat; /* refuses every lifeboat */
    int64_t lifeboat; /* bytes that a lifeboat wants */
    int calls, lifeboats;
} fake;

static int kernels; /* not destroyed yet */

/* Twice the output and four rows of it. */
static inline int64_t workspace_of(const struct cs_problem *problem)
{
    int64_t bytes = 0;
    CHECK_INT(cs_tensor_bytes(&problem->tensor[CS_Y], &bytes), CS_OK);
    return 2 * bytes + 4 * (bytes / problem->tensor[CS_Y].dims[CS_H]);
}

static inline enum cs_status make_kernel(struct fake *f, int64_t bytes, void **kernel_p,
                                         int64_t *workspace_p)
{
    f->calls++;
    enum fault fault = f->fault_at == 0 || f->calls == f->fault_at ? f->fault : NO_FAULT;
    if (fault == REFUSES)
        return CS_REFUSED;
    if (fault == NO_MEMORY)
        return CS_NOMEM;
    *kernel_p = malloc(1);
    kernels++;
    *workspace_p = fault == NEGATIVE ? -1 : fault == GROWS ? bytes + LIMIT : bytes;
    return CS_OK;
}

static inline enum cs_status fake_build(void *ctx, const struct cs_problem *problem,
                                        enum cs_latitude latitude, void **kernel_p,
                                        int64_t *workspace_p)
{
    (void)latitude;
    CHECK_INT(cs_problem_check(problem), CS_OK);
    return make_kernel(ctx, workspace_of(problem), kernel_p, workspace_p);
}

static inline enum cs_status fake_lifeboat(void *ctx, int64_t limit, void **kernel_p,
                                           int64_t *workspace_p)
{
    struct fake *f = ctx;
    f->lifeboats++;
    if (f->no_lifeboat || f->lifeboat > limit) {
        f->calls++;
        return CS_REFUSED;
    }
    return make_kernel(f, f->lifeboat, kernel_p, workspace_p);
}

static inline void fake_destroy(void *kernel)
{
    kernels -= kernel != NULL;
    free(kernel);
}

static const struct cs_vendor vendor = {
    .ctx = &fake, .build = fake_build, .lifeboat = fake_lifeboat, .destroy = fake_destroy};

static inline struct cs *new_instance(const char *policy)
{
    struct cs *cs = calloc(1, sizeof *cs);
    if (!cs) {
        printf("Bail out! out of memory\n");
        exit(1);
    }
    cs_memo_init(&cs->memo);
    cs_account_init(&cs->account);
    cs_exec_init(&cs->exec, NULL, CS_BACKING_AUTO, 0);
    cs->policy = cs_policy_find(policy);
    cs->limits = (struct cs_limits){.workspace = LIMIT, .threshold = LIMIT, .tiles = 4, .lanes = 1};
    memset(&fake, 0, sizeof fake);
    return cs;
}

/* Two images of 64 x 64, 16 channels, 3 x 3: wants a little more than 1 MiB, each image a little
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
    request.wanted = workspace_of(&request.problem);
    return request;
}

/* What every verdict has in common, whatever went wrong. */
static inline void check_verdict(struct cs *cs, const struct cs_request *request,
                                 const struct cs_verdict *verdict)
{
    int64_t limit = request->limit > 0 ? request->limit : cs->limits.workspace;
    const struct cs_rewrite *rewrite = verdict->rewrite;
    struct cs_site_facts facts;
    CHECK(cs_account_facts(&cs->account, &verdict->site, &facts));
    CHECK_INT(facts.reason, verdict->reason);
    CHECK_INT(facts.wanted, request->wanted);
    CHECK_INT(rewrite != NULL, verdict->reason == CS_REASON_NONE);
    if (!rewrite) {
        CHECK_INT(verdict->told, request->wanted);
        CHECK_INT(kernels, 0);
        return;
    }
    CHECK(verdict->told <= limit && verdict->told < request->wanted);
    CHECK_INT(facts.told, verdict->told);
    if (rewrite->plan.tiles == 0) {
        CHECK(rewrite->lifeboat != NULL);
        CHECK_INT(kernels, 1);
        return;
    }
    CHECK_INT(cs_plan_validate(&rewrite->plan, verdict->told), CS_OK);
    CHECK(rewrite->plan.tiles > 1);
    CHECK_INT(kernels, rewrite->plan.kinds + 1);
    for (int64_t i = 0; i < rewrite->plan.kinds; i++) {
        struct cs_problem kind;
        cs_plan_problem(&rewrite->plan, i, &kind);
        CHECK_INT(rewrite->plan.kind[i].workspace, workspace_of(&kind));
    }
}

/* Prepares, checks what is common and discards; `tiles` of the answer is 0 if it was not rewritten.
 */
struct answer {
    enum cs_reason reason;
    int64_t told, tiles, kinds;
    struct cs_tiling tiling;
    int calls;
};

static inline struct answer prepare(struct cs *cs, const struct cs_request *request)
{
    fake.calls = 0;
    struct cs_verdict verdict = cs_flow_prepare(cs, request, &vendor);
    struct answer answer = {.reason = verdict.reason, .told = verdict.told, .calls = fake.calls};
    check_verdict(cs, request, &verdict);
    if (verdict.rewrite) {
        answer.tiling = verdict.rewrite->plan.tiling;
        answer.tiles = verdict.rewrite->plan.tiles;
        answer.kinds = verdict.rewrite->plan.kinds;
    }
    cs_rewrite_discard(verdict.rewrite);
    CHECK_INT(kernels, 0);
    return answer;
}

static inline void check_same(struct answer a, struct answer b)
{
    CHECK_INT(a.reason, b.reason);
    CHECK_INT(a.told, b.told);
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        CHECK_INT(a.tiling.axis[c], b.tiling.axis[c]);
        CHECK_INT(a.tiling.step[c], b.tiling.step[c]);
    }
    CHECK_INT(a.tiles, b.tiles);
    CHECK_INT(a.kinds, b.kinds);
}

static inline int64_t told(struct cs *cs, const struct cs_request *request)
{
    fake.calls = 0;
    int64_t bytes = cs_flow_told(cs, request, &vendor);
    CHECK_INT(kernels, 0);
    return bytes;
}

#endif
