/* Decides when tiles on packed copies are worth looking at, and lists them. */
#include "decide/staged_search.h"

enum {
    FEW = 4 /* tiles: fewer are not worth copies */
};

/* Times its share of the untiled workspace that a tile of views may require before packed copies
 * are looked at. A choice between 1, what an engine requires that takes views as they are, and 2,
 * what one requires that converts input and output; no GPU has confirmed it. */
static const double WASTE = 1.5;

bool cs_staged_search_is_huge(const struct cs_problem *problem, int64_t elements)
{
    for (int i = 0; elements > 0 && i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        int64_t bytes;
        if (cs_problem_tensor_span(tensor, &bytes) == CS_OK &&
            bytes / cs_problem_dtype_size(tensor->dtype) >= elements)
            return true;
    }
    return false;
}

static double bytes_of(const struct cs_problem *problem, enum cs_operand operand)
{
    int64_t bytes;
    return cs_problem_tensor_bytes(&problem->tensor[operand], &bytes) == CS_OK ? (double)bytes
                                                                               : 1e19;
}

bool cs_staged_search_may_gain(struct cs_search *search, const struct cs_candidate *views)
{
    struct cs_problem shape;
    if (views->tiles < FEW || views->tiling.staged || views->tiling.axis[1] != CS_AXIS_NONE ||
        views->tiling.axis[0] == CS_AXIS_NONE || search->question->vendor->compiles ||
        cs_plan_cut(search->question->problem, &views->tiling, &search->plan) != CS_OK)
        return false;
    int lanes = views->tiling.lanes > 1 ? views->tiling.lanes : 1;
    cs_plan_problem(&search->plan, cs_search_largest(&search->plan, 0), &shape);
    double part = bytes_of(&shape, CS_X) + bytes_of(&shape, CS_Y);
    double untiled =
        bytes_of(search->question->problem, CS_X) + bytes_of(search->question->problem, CS_Y);
    double share = (double)search->question->required * (part / untiled) +
                   bytes_of(search->question->problem, CS_FILTER);
    return (double)views->workspace > WASTE * lanes * share;
}

enum cs_status cs_staged_search_list(struct cs_search *search, enum cs_relaxation relaxation,
                                     const struct cs_candidate *views)
{
    const struct cs_mode mode = {
        .relaxation = relaxation, .lanes = views->tiling.lanes, .staged = true};
    search->purse.left = CS_STAGED_ASKS;
    search->purse.kept = 0;
    return cs_search_fewest(search, mode, views->tiling.axis[0], views->tiles / 2);
}
