/* Decides when tiles on packed copies are worth looking at, and lists them. */
#include "decide/staged_search.h"

enum {
    FEW = 4 /* tiles: fewer are not worth copies */
};

bool cs_staged_search_is_huge(const struct cs_problem *problem, int64_t elements)
{
    for (int i = 0; elements > 0 && i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        int64_t bytes;
        if (cs_tensor_span(tensor, &bytes) == CS_OK &&
            bytes / cs_dtype_size(tensor->dtype) >= elements)
            return true;
    }
    return false;
}

static double bytes_of(const struct cs_problem *problem, enum cs_operand operand)
{
    int64_t bytes;
    return cs_tensor_bytes(&problem->tensor[operand], &bytes) == CS_OK ? (double)bytes : 1e19;
}

bool cs_staged_search_may_gain(struct cs_search *search, const struct cs_candidate *views)
{
    struct cs_problem shape;
    if (views->tiles < FEW || views->tiling.staged || views->tiling.axis[1] != CS_AXIS_NONE ||
        views->tiling.axis[0] == CS_AXIS_NONE || search->vendor->compiles ||
        cs_plan_cut(search->problem, &views->tiling, &search->plan) != CS_OK)
        return false;
    int lanes = views->tiling.lanes > 1 ? views->tiling.lanes : 1;
    cs_plan_problem(&search->plan, cs_search_largest(&search->plan, 0), &shape);
    double part = bytes_of(&shape, CS_X) + bytes_of(&shape, CS_Y);
    double untiled = bytes_of(search->problem, CS_X) + bytes_of(search->problem, CS_Y);
    double share =
        (double)search->required * (part / untiled) + bytes_of(search->problem, CS_FILTER);
    return (double)views->workspace > 1.5 * lanes * share;
}

enum cs_status cs_staged_search_list(struct cs_search *search, const struct cs_candidate *views)
{
    search->staged = true;
    search->lanes = views->tiling.lanes;
    search->asks_left = CS_STAGED_ASKS;
    search->asks_kept = 0;
    return cs_search_fewest(search, views->tiling.axis[0], views->tiles / 2);
}
