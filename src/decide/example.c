/* Queries one tiling that was found for the same problem with other knobs, instead of a search. */
#include "decide/example.h"

enum {
    FALLBACK_ASKS = 1 /* queries in a search whose first guess held: after other answers, other
                         knobs may get another tiling */
};

/* The workspace of a shape's tiles. Negative if the vendor refuses them. */
static int64_t query_workspace(const struct cs_vendor *vendor, const struct cs_plan *plan,
                               int64_t shape)
{
    struct cs_problem problem;
    void *execution_plan = NULL;
    int64_t workspace = 0;
    cs_plan_problem(plan, shape, &problem);
    if (vendor->build(vendor->ctx, &problem, plan->shape[shape].relaxation, &execution_plan,
                      &workspace) != CS_OK)
        return -1;
    vendor->destroy(execution_plan);
    return workspace;
}

static bool ask_all(const struct cs_vendor *vendor, struct cs_plan *plan)
{
    for (int64_t i = 0; i < plan->shapes; i++) {
        plan->shape[i].workspace = query_workspace(vendor, plan, i);
        if (plan->shape[i].workspace < 0)
            return false;
    }
    cs_plan_settle(plan);
    return true;
}

/* If the same tiles need less, they cost no more, and are chosen like the example's. The fallback
 * plan of a fused problem needs a search. */
static bool may_follow(const struct cs_decision *example, const struct cs_problem *problem,
                       int64_t scratch)
{
    return scratch == example->scratch || (scratch < example->scratch && problem->steps == 0);
}

bool cs_decide_by_example(const struct cs_decision *example, const struct cs_problem *problem,
                          const struct cs_vendor *vendor, struct cs_decision *decision)
{
    struct cs_plan plan;
    if (!cs_decide_tiles(example) || cs_plan_cut(problem, &example->tiling, &plan) != CS_OK ||
        example->asked > plan.shapes + FALLBACK_ASKS || !ask_all(vendor, &plan) ||
        !may_follow(example, problem, plan.workspace))
        return false;
    *decision = *example;
    decision->scratch = plan.workspace;
    if (example->reported == example->scratch)
        decision->reported = plan.workspace;
    decision->raised = example->raised && plan.workspace > example->limit;
    decision->asked = plan.shapes;
    decision->promised = false;
    decision->elsewhere = 0;
    return true;
}

bool cs_decide_is_better_example(const struct cs_decision *decision, const struct cs_decision *than)
{
    return decision->scratch > than->scratch &&
           cs_cut_tiling_equal(&decision->tiling, &than->tiling);
}
