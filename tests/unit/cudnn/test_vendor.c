/* One suite for every implementation of struct cs_vendor: cuDNN's execution plans, and the tests'
 * own vendor. */
#include "cudnn/plan/execution_plan.h"
#include "fake_vendor.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

/* A plan's workspace, -1 if the vendor refuses it. The plan is destroyed. */
static int64_t workspace_of(const struct cs_vendor *planner, const struct cs_problem *problem,
                            enum cs_relaxation relaxation)
{
    void *plan = NULL;
    int64_t workspace = -1;
    enum cs_status status = planner->build(planner->ctx, problem, relaxation, &plan, &workspace);
    CHECK(status == CS_OK || status == CS_REFUSED);
    if (status != CS_OK)
        return -1;
    CHECK(workspace >= 0);
    if (planner->ready)
        CHECK_INT(planner->ready(planner->ctx, plan), CS_OK);
    planner->destroy(plan);
    return workspace;
}

/* A plan depends on its problem and on the relaxation alone. A rigid vendor accepts none. */
static void check_builds(const struct cs_vendor *planner, const struct cs_problem *problem)
{
    CHECK(workspace_of(planner, problem, CS_SAME_KNOBS) >= 0);
    for (enum cs_relaxation relaxation = 0; relaxation < CS_RELAXATIONS; relaxation++) {
        int64_t workspace = workspace_of(planner, problem, relaxation);
        CHECK_INT(workspace_of(planner, problem, relaxation), workspace);
        CHECK(workspace < 0 || !planner->rigid || relaxation == CS_SAME_KNOBS);
    }
    planner->destroy(NULL);
}

/* The fallback plan runs within its limit, now or later, or there is none. */
static void check_fallback(const struct cs_vendor *planner, int64_t least)
{
    const int64_t limits[] = {INT64_MAX, least, least - 1};
    for (int i = 0; i < (least > 0 ? 3 : 2); i++) {
        void *plan = NULL;
        int64_t workspace = -1;
        CASE("fallback within %lld", (long long)limits[i]);
        enum cs_status status = planner->fallback(planner->ctx, limits[i], &plan, &workspace);
        CHECK_INT(status, i < 2 ? CS_OK : CS_REFUSED);
        if (status != CS_OK)
            continue;
        CHECK_INT(workspace, least);
        planner->destroy(plan);
        if (planner->fallback_later &&
            planner->fallback_later(planner->ctx, limits[i], &plan) == CS_OK)
            planner->destroy(plan);
    }
}

struct others {
    const struct cs_problem *problem;
    int seen, stop_at;
};

static bool look(void *to, const struct cs_engine *engine, int64_t required,
                 const struct cs_vendor *planner)
{
    struct others *others = to;
    CHECK(engine->knobs >= 0 && required >= 0);
    CHECK_INT(workspace_of(planner, others->problem, CS_SAME_KNOBS), required);
    return ++others->seen == others->stop_at;
}

/* Each other engine is offered with its vendor, until one is taken. */
static void check_others(const struct cs_vendor *planner, const struct cs_problem *problem,
                         int offered)
{
    struct others all = {.problem = problem}, first = {.problem = problem, .stop_at = 1};
    if (!planner->others)
        return;
    CHECK(!planner->others(planner->ctx, look, &all));
    CHECK_INT(all.seen, offered);
    CHECK_INT(planner->others(planner->ctx, look, &first), offered > 0);
    CHECK_INT(first.seen, offered > 0);
}

/* A plan outlives the value of its vendor. */
static void check_lifetime(struct cs_vendor planner, const struct cs_problem *problem)
{
    void (*destroy)(void *) = planner.destroy;
    void *plan = NULL;
    int64_t workspace;
    CHECK_INT(planner.build(planner.ctx, problem, CS_SAME_KNOBS, &plan, &workspace), CS_OK);
    memset(&planner, 0xff, sizeof planner);
    destroy(plan);
}

static void check_conforms(const struct cs_vendor *planner, const struct cs_problem *problem,
                           int64_t least, int offered)
{
    check_builds(planner, problem);
    check_fallback(planner, least);
    check_others(planner, problem, offered);
    check_lifetime(*planner, problem);
    if (planner->profile && planner->profile(planner->ctx))
        CHECK(planner->profile(planner->ctx)->capability >= 0);
}

static void cudnn_conforms(void)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_engine_choice choice;
    recorded_start();
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)&choice,
                          (struct cs_handle_id){0});
    choice.engine = (struct cs_engine){.index = 34, .knobs = 1, .knob_type = {2}};
    choice.known = true;
    cudnn.own.workspace = 70;
    for (int i = 0; i < 2; i++)
        cudnn.offer[0][cudnn.offers[0]++] = (struct offer){.engine.index = 50 + i, .workspace = 70};
    const struct cs_vendor planner = cs_execution_plan_vendor(&choice);
    check_conforms(&planner, &problem, 70, 2);
    CHECK_INT(cudnn.alive, 0);
    cs_engine_choice_fini(&choice);
}

static void the_tests_own_vendor_conforms(void)
{
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    struct fake fake = {.fallback = 12, .stubborn = 5000, .helps = CS_SIMILAR_ENGINE, .alike = 300};
    const struct cs_vendor planner = fake_vendor(&fake);
    check_conforms(&planner, &problem, 12, 0);
    CHECK_INT(fake.live, 0);
}

int main(void)
{
    TEST(cudnn_conforms);
    TEST(the_tests_own_vendor_conforms);
    return REPORT();
}
