/* Queries the vendor about tilings. */
#include "decide/probe.h"

#include "base/checked.h"
#include "decide/cost.h"
#include <string.h>

enum {
    MOST_UNEQUAL = 3 /* refusals of equal padding before it is abandoned */
};

void cs_probe_begin(struct cs_search *search, const struct cs_question *question,
                    struct cs_candidate untiled)
{
    *search = (struct cs_search){
        .question = question, .best = untiled, .least = cs_question_cost(question, &untiled)};
}

/* Builds a plan of a shape to learn its workspace. CS_REFUSED also if no queries are left. */
static enum cs_status query_shape(struct cs_search *search, int64_t shape)
{
    const struct cs_vendor *vendor = search->question->vendor;
    void *execution_plan = NULL;
    int64_t workspace = 0;
    struct cs_problem problem;
    if (search->budget.left <= 0)
        return CS_REFUSED;
    search->budget.left--;
    search->budget.queries++;
    cs_plan_problem(&search->plan, shape, &problem);
    enum cs_status status = vendor->build(
        vendor->ctx, &problem, search->plan.shape[shape].relaxation, &execution_plan, &workspace);
    if (status != CS_OK)
        return status == CS_NOMEM ? CS_NOMEM : CS_REFUSED;
    vendor->destroy(execution_plan);
    if (workspace < 0)
        return CS_REFUSED;
    search->budget.answered++;
    search->plan.shape[shape].workspace = workspace;
    return CS_OK;
}

/* The product of a shape's extents along the cuts. */
struct extent {
    int64_t count, in_count;
};

static struct extent extent_of(const struct cs_plan *plan, int64_t shape)
{
    int64_t inner = plan->cuts > 1 ? plan->cut[1].slices : 1;
    const int64_t at[CS_MAX_CUTS] = {shape / inner, shape % inner};
    struct extent extent = {1, 1};
    for (int c = 0; c < CS_MAX_CUTS && c < plan->cuts; c++) {
        const struct cs_slice *slice = &plan->cut[c].slice[at[c]];
        if (!cs_mul(extent.count, slice->count, &extent.count))
            extent.count = INT64_MAX;
        if (!cs_mul(extent.in_count, slice->in_count, &extent.in_count))
            extent.in_count = INT64_MAX;
    }
    return extent;
}

/* The shape of most elements among those without a bit in `skipped`; -1 if each has one. */
static int64_t largest_shape(const struct cs_plan *plan, unsigned skipped)
{
    int64_t largest = -1;
    struct extent most = {0, 0};
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct extent extent = extent_of(plan, i);
        if (skipped >> i & 1)
            continue;
        if (largest < 0 || extent.count > most.count ||
            (extent.count == most.count && extent.in_count > most.in_count)) {
            largest = i;
            most = extent;
        }
    }
    return largest;
}

static struct cs_candidate candidate_of(const struct cs_search *search)
{
    const struct cs_plan *plan = &search->plan;
    return (struct cs_candidate){
        .tiling = plan->tiling,
        .tiles = plan->tiles,
        .shapes = plan->shapes,
        .workspace = plan->workspace,
        .halo = plan->halo,
        .required = search->question->required,
        .seconds = cs_cost_of(plan, search->question->required, search->question->profile).decided,
        .copied = plan->copied,
    };
}

static void keep_best(struct cs_search *search, const struct cs_candidate *candidate)
{
    double cost = cs_question_cost(search->question, candidate);
    search->found |= cost < __builtin_inf();
    if (cost < search->least) {
        search->best = *candidate;
        search->least = cost;
    }
}

/* Queries the vendor for each shape of a tiling; see cs_probe. The shape that looks largest is
 * queried first, because it usually shows that a tiling does not fit. Shapes that were not queried
 * yet count as 0 bytes. *refused_p is the refused shape, or -1. */
static enum cs_status probe_shapes(struct cs_search *search, const struct cs_tiling *tiling,
                                   enum cs_probed *probed_p, struct cs_candidate *candidate_p,
                                   int64_t *refused_p)
{
    struct cs_plan *plan = &search->plan;
    enum cs_status status = cs_plan_cut(search->question->problem, tiling, plan);
    *probed_p = CS_HOLE;
    *refused_p = -1;
    if (status != CS_OK) {
        search->overflowed |= status == CS_OVERFLOW;
        return CS_OK;
    }
    unsigned queried = 0;
    for (int64_t i = 0; i < plan->shapes; i++) {
        int64_t shape = largest_shape(plan, queried);
        status = query_shape(search, shape);
        if (status != CS_OK) {
            *refused_p = shape;
            return status == CS_NOMEM ? CS_NOMEM : CS_OK;
        }
        queried |= 1u << shape;
        cs_plan_settle(plan);
        if (plan->workspace > search->question->limit) {
            candidate_p->workspace = plan->workspace;
            *probed_p = CS_OVER;
            return CS_OK;
        }
    }
    *candidate_p = candidate_of(search);
    keep_best(search, candidate_p);
    *probed_p = CS_FITS;
    return CS_OK;
}

/* True if a refused tiling may be queried again with equal padding. Many engines accept only equal
 * padding, and only the first and last tiles lack it. */
static bool may_equalise(const struct cs_search *search, int64_t refused)
{
    struct cs_problem problem;
    if (refused < 0 || !search->question->copies || search->equal_padding ||
        search->unequal == MOST_UNEQUAL)
        return false;
    cs_plan_problem(&search->plan, refused, &problem);
    return memcmp(problem.pre, problem.post, sizeof problem.pre) != 0;
}

enum cs_status cs_probe(struct cs_search *search, struct cs_mode mode,
                        const struct cs_tiling *tiling, enum cs_probed *probed_p,
                        struct cs_candidate *candidate_p)
{
    struct cs_tiling changed = *tiling;
    int64_t refused;
    changed.lanes = mode.lanes;
    changed.relaxation = mode.relaxation;
    changed.staged = mode.staged;
    changed.equal_padding = search->equal_padding;
    enum cs_status status = probe_shapes(search, &changed, probed_p, candidate_p, &refused);
    if (status != CS_OK || !may_equalise(search, refused))
        return status;
    changed.equal_padding = true;
    status = probe_shapes(search, &changed, probed_p, candidate_p, &refused);
    search->equal_padding = *probed_p != CS_HOLE;
    search->unequal += *probed_p == CS_HOLE;
    return status;
}
