/* Two GPU models in one process: each gets the answers that it gets alone. */
#include "flow_fixture.h"

enum {
    PROBLEMS = 60,
    MODELS = 2
};

/* Of one problem on one GPU. */
struct answers {
    int64_t configuration; /* the reported size of an engine configuration, */
    struct answer plan;
};

static const struct cs_profile profile[MODELS] = {
    {.name = "NVIDIA H200",
     .capability = 900,
     .multiprocessors = 132,
     .clock = 1980000,
     .memory_clock = 3201000,
     .bus_width = 6144,
     .l2 = 60 << 20},
    {.name = "Tesla T4", .capability = 750, .multiprocessors = 40, .clock = 1590000}};

static uint64_t current_model; /* of the calling thread's context */

static const struct cs_profile *current_profile(void *ctx)
{
    (void)ctx;
    return &profile[current_model];
}

/* The older GPU's engine requires twice the workspace for tiles. */
static enum cs_status build_on_model(void *ctx, const struct cs_problem *problem,
                                     enum cs_relaxation relaxation, void **execution_plan_p,
                                     int64_t *workspace_p)
{
    enum cs_status status = fake_build(ctx, problem, relaxation, execution_plan_p, workspace_p);
    *workspace_p *= 1 + (int64_t)current_model;
    return status;
}

static struct cs *new_process(void)
{
    struct cs *cs = new_instance(default_policy());
    cs->limits = (struct cs_limits){.workspace = -1, .price = 15000, .threshold = -1, .lanes = 1};
    return cs;
}

static struct answers answers_of(struct cs *cs, uint64_t model, uint64_t seed)
{
    struct cs_vendor by = vendor;
    struct cs_request request = ordinary();
    struct rng rng = {seed};
    request.problem = random_large(&rng);
    by.build = build_on_model;
    by.profile = current_profile;
    current_model = model;
    request.required = MODELS * workspace_of(&request.problem);
    request.scope = 1 + (int64_t)model; /* two handles */
    struct answers answers = {.configuration = cs_flow_reported(cs, &request, &by)};
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &by);
    answers.plan = (struct answer){.reason = verdict.reason, .reported = verdict.reported};
    if (verdict.rewrite) {
        answers.plan.tiles = verdict.rewrite->plan.tiles;
        answers.plan.shapes = verdict.rewrite->plan.shapes;
        answers.plan.tiling = verdict.rewrite->plan.tiling;
    }
    cs_rewrite_discard(verdict.rewrite);
    return answers;
}

static void two_models_in_one_process_get_the_answers_that_each_gets_alone(void)
{
    struct cs *both = new_process(), *alone[MODELS] = {new_process(), new_process()};
    int tiled = 0, different = 0;
    for (uint64_t seed = 1; seed <= PROBLEMS; seed++) {
        struct answers expected[MODELS];
        for (uint64_t model = 0; model < MODELS; model++) {
            const struct answers answers = answers_of(both, model, seed);
            expected[model] = answers_of(alone[model], model, seed);
            CHECK_INT(answers.configuration, expected[model].configuration);
            check_same(answers.plan, expected[model].plan);
            tiled += answers.plan.tiles > 1;
        }
        different += expected[0].configuration != expected[1].configuration;
    }
    CHECK(tiled > 0);
    CHECK(different > 0);
    for (int model = 0; model < MODELS; model++)
        free(alone[model]);
    free(both);
}

int main(void)
{
    TEST(two_models_in_one_process_get_the_answers_that_each_gets_alone);
    return REPORT();
}
