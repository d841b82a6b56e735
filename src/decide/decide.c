#include "decide/decide.h"

#include "base/checked.h"
#include "decide/search.h"

enum {
    LIFEBOAT_ASKS = 2
};

static bool within_threshold(int64_t wanted, int64_t tiles, const struct cs_limits *limits)
{
    int64_t threshold = limits->threshold;
    if (threshold < 0 || threshold > limits->workspace)
        threshold = limits->workspace;
    if (threshold == 0 && tiles > 0)
        return false;
    return wanted <= threshold;
}

static void list_untiled(struct cs_search *search, int64_t wanted)
{
    search->candidate[search->candidates++] = (struct cs_candidate){
        .axis = CS_AXIS_NONE,
        .step = 1,
        .tiles = 1,
        .kinds = 1,
        .workspace = wanted,
    };
}

static enum cs_status list_count(struct cs_search *search, enum cs_axis axis, int64_t tiles)
{
    int64_t extent = cs_axis_extent(search->problem, axis);
    if (tiles > CS_MAX_TILES)
        tiles = CS_MAX_TILES;
    if (tiles > extent)
        tiles = extent;
    return tiles > 1 ? cs_search_step(search, axis, cs_ceil_div(extent, tiles)) : CS_OK;
}

/* No later axis can beat what was found on an earlier one: fewer tiles, or as many with less halo.
 */
static int64_t most_tiles(const struct cs_search *search)
{
    int64_t most = INT64_MAX;
    for (int i = 1; i < search->candidates; i++) {
        const struct cs_candidate *candidate = &search->candidate[i];
        int64_t beaten_by = candidate->halo == 0 ? candidate->tiles - 1 : candidate->tiles;
        if (beaten_by < most)
            most = beaten_by;
    }
    return most;
}

static enum cs_status list_axes(struct cs_search *search, int64_t tiles, int64_t wanted)
{
    for (int axis = CS_AXIS_N; axis < CS_AXES; axis++) {
        /* Slices along W are the least contiguous: only for problems that nothing else helps. */
        if (axis == CS_AXIS_W && search->candidates > 1)
            break;
        enum cs_status status =
            tiles > 0 ? list_count(search, (enum cs_axis)axis, tiles)
                      : cs_search_fewest(search, (enum cs_axis)axis, most_tiles(search), wanted);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

static const struct cs_candidate *
pick(const struct cs_search *search, const struct cs_policy *policy, const struct cs_limits *limits)
{
    const struct cs_candidate *best = NULL;
    double least = 0;
    for (int i = 0; i < search->candidates; i++) {
        double cost = policy->cost(&search->candidate[i], limits);
        if (__builtin_isfinite(cost) && (!best || cost < least)) {
            best = &search->candidate[i];
            least = cost;
        }
    }
    return best;
}

static enum cs_reason reason_untiled(const struct cs_search *search,
                                     const struct cs_candidate *best, int64_t wanted,
                                     const struct cs_limits *limits)
{
    if (best && wanted <= limits->workspace)
        return CS_REASON_SMALL;
    if (search->candidates == 1 && search->asked > 0 && search->answered == 0)
        return CS_REASON_VENDOR;
    if (search->candidates == 1 && search->asked == 0 && search->overflowed)
        return CS_REASON_OVERFLOW;
    return CS_REASON_NO_TILING;
}

static enum cs_status try_lifeboat(struct cs_search *search, int64_t limit, int64_t *workspace_p)
{
    const struct cs_vendor *vendor = search->vendor;
    void *kernel = NULL;
    int64_t workspace = 0;
    search->asked++;
    enum cs_status status = vendor->lifeboat(vendor->ctx, limit, &kernel, &workspace);
    if (status != CS_OK)
        return status;
    vendor->destroy(kernel);
    if (workspace < 0 || workspace > limit)
        return CS_REFUSED;
    *workspace_p = workspace;
    return CS_OK;
}

/* First with what the tiles need anyway; a lifeboat that needs more may raise that within the
 * limit. */
static enum cs_reason find_lifeboat(struct cs_search *search, const struct cs_limits *limits,
                                    struct cs_decision *decision)
{
    int64_t most = decision->wanted < limits->workspace ? decision->wanted : limits->workspace;
    int64_t workspace = 0;
    enum cs_status status = try_lifeboat(search, decision->scratch, &workspace);
    if (status != CS_OK && status != CS_NOMEM && most > decision->scratch)
        status = try_lifeboat(search, most, &workspace);
    if (status == CS_NOMEM)
        return CS_REASON_HOST_MEMORY;
    if (status != CS_OK)
        return CS_REASON_NO_LIFEBOAT;
    decision->told = workspace > decision->scratch ? workspace : decision->scratch;
    return CS_REASON_NONE;
}

static struct cs_decision leave(enum cs_reason reason, int64_t wanted, int64_t asked)
{
    return (struct cs_decision){
        .reason = reason,
        .axis = CS_AXIS_NONE,
        .step = 1,
        .tiles = 1,
        .wanted = wanted,
        .told = wanted,
        .scratch = wanted,
        .asked = asked,
    };
}

struct cs_decision cs_decide(const struct cs_problem *problem, int64_t wanted,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor)
{
    int64_t tiles = policy->tiles(limits);
    if (within_threshold(wanted, tiles, limits))
        return leave(CS_REASON_SMALL, wanted, 0);

    struct cs_search search = {
        .problem = problem,
        .vendor = vendor,
        /* A policy of fixed counts may well exceed the limit, but nothing may exceed what was
           wanted. */
        .limit = tiles > 0 || wanted < limits->workspace ? wanted : limits->workspace,
        .asks_left = CS_MAX_ASKS - LIFEBOAT_ASKS,
    };
    list_untiled(&search, wanted);
    if (list_axes(&search, tiles, wanted) != CS_OK)
        return leave(CS_REASON_HOST_MEMORY, wanted, search.asked);

    const struct cs_candidate *best = pick(&search, policy, limits);
    if (!best || best->axis == CS_AXIS_NONE)
        return leave(reason_untiled(&search, best, wanted, limits), wanted, search.asked);

    struct cs_decision decision = {
        .reason = CS_REASON_REPORT_ONLY,
        .axis = best->axis,
        .step = best->step,
        .tiles = best->tiles,
        .wanted = wanted,
        .told = wanted,
        .scratch = best->workspace,
    };
    if (!policy->report_only) {
        decision.reason = find_lifeboat(&search, limits, &decision);
        if (decision.reason != CS_REASON_NONE)
            return leave(decision.reason, wanted, search.asked);
    }
    decision.asked = search.asked;
    return decision;
}
