/* Queries the vendor about tilings. If guesses fail, it finds, for each axis, the fewest tiles
 * whose workspace fits a limit. */
#include "decide/search.h"

#include "base/checked.h"
#include "decide/cost.h"
#include "decide/forms.h"
#include "plan/phases.h"
#include <string.h>

enum {
    MOST_TURNS = 16, /* probes of one axis */
    MOST_HOLES = 4,  /* refused or illegal cuts before an axis without a fit is abandoned */
    EARLY_TURNS = 6, /* probes that follow the model; later ones halve the interval */
    MOST_PHASES = 8, /* numbers of phases that are queried */
    MOST_UNEQUAL = 3 /* refusals of equal padding before it is abandoned */
};

/* The search interval of one axis. Fewer tiles have a larger step, so the search is for the largest
 * step that fits. */
struct bracket {
    int64_t extent;
    int64_t smallest; /* smallest step that is tried */
    int64_t over;     /* the smallest step known not to fit */
    int64_t fits;     /* the largest step known to fit, or 0 */
    int holes;
    double step[2], bytes[2]; /* the last two answers; a line through them predicts the next step */
};

static enum cs_status query_shape(struct cs_search *search, int64_t shape)
{
    const struct cs_vendor *vendor = search->question->vendor;
    void *execution_plan = NULL;
    int64_t workspace = 0;
    struct cs_problem problem;
    if (search->purse.left <= 0)
        return CS_REFUSED;
    search->purse.left--;
    search->purse.asked++;
    cs_plan_problem(&search->plan, shape, &problem);
    enum cs_status status = vendor->build(
        vendor->ctx, &problem, search->plan.shape[shape].relaxation, &execution_plan, &workspace);
    if (status != CS_OK)
        return status == CS_NOMEM ? CS_NOMEM : CS_REFUSED;
    vendor->destroy(execution_plan);
    if (workspace < 0)
        return CS_REFUSED;
    search->purse.answered++;
    search->plan.shape[shape].workspace = workspace;
    return CS_OK;
}

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

static int64_t largest_of(const struct cs_plan *plan, unsigned skipped)
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

static double seconds_of(const struct cs_search *search)
{
    return cs_cost_of(&search->plan, search->question->profile).most;
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
        .seconds = seconds_of(search),
        .copied = plan->copied,
    };
}

/* The shape that looks largest is queried first, because it usually shows that a tiling does not
 * fit. Shapes that were not queried yet count as 0 bytes. *refused_p is the refused shape, or -1.
 */
static enum cs_status probe(struct cs_search *search, const struct cs_tiling *tiling,
                            enum cs_probed *probed_p, int64_t *bytes_p, int64_t *refused_p)
{
    struct cs_plan *plan = &search->plan;
    enum cs_status status = cs_plan_cut(search->question->problem, tiling, plan);
    *probed_p = CS_HOLE;
    *refused_p = -1;
    if (status != CS_OK) {
        search->overflowed |= status == CS_OVERFLOW;
        return CS_OK;
    }
    unsigned asked = 0;
    for (int64_t i = 0; i < plan->shapes; i++) {
        int64_t shape = largest_of(plan, asked);
        status = query_shape(search, shape);
        if (status != CS_OK) {
            *refused_p = shape;
            return status == CS_NOMEM ? CS_NOMEM : CS_OK;
        }
        asked |= 1u << shape;
        cs_plan_settle(plan);
        if (i == 0 || plan->workspace > search->question->limit)
            *bytes_p = plan->workspace;
        if (plan->workspace > search->question->limit) {
            *probed_p = CS_OVER;
            return CS_OK;
        }
    }
    if (search->list.count == CS_MAX_CANDIDATES)
        return CS_OK;
    search->list.candidate[search->list.count++] = candidate_of(search);
    *probed_p = CS_FITS;
    return CS_OK;
}

/* True if a refused tiling may be queried with equal padding: many engines accept only that, and
 * only the first and last tiles lack it. */
static bool may_equalise(const struct cs_search *search, int64_t refused)
{
    struct cs_problem problem;
    if (refused < 0 || !search->question->copies || search->equal_padding ||
        search->unequal == MOST_UNEQUAL)
        return false;
    cs_plan_problem(&search->plan, refused, &problem);
    return memcmp(problem.pre, problem.post, sizeof problem.pre) != 0;
}

enum cs_status cs_search_probe(struct cs_search *search, struct cs_mode mode,
                               const struct cs_tiling *tiling, enum cs_probed *probed_p,
                               int64_t *bytes_p)
{
    struct cs_tiling beside = *tiling;
    int64_t refused;
    beside.lanes = mode.lanes;
    beside.relaxation = mode.relaxation;
    beside.staged = mode.staged;
    beside.equal_padding = search->equal_padding;
    enum cs_status status = probe(search, &beside, probed_p, bytes_p, &refused);
    if (status != CS_OK || !may_equalise(search, refused))
        return status;
    beside.equal_padding = true;
    status = probe(search, &beside, probed_p, bytes_p, &refused);
    search->equal_padding = *probed_p != CS_HOLE;
    search->unequal += *probed_p == CS_HOLE;
    return status;
}

/* A cut of one axis. Steps are counted in the axis's units. */
static struct cs_tiling along(const struct cs_search *search, struct cs_mode mode,
                              enum cs_axis axis, int64_t step)
{
    int64_t unit = cs_axis_unit(search->question->problem, axis);
    struct cs_tiling tiling = {.axis = {axis},
                               .step = {step, 1},
                               .staged = mode.staged,
                               .equal_padding = search->equal_padding};
    if (!cs_mul(step, unit, &tiling.step[0]))
        tiling.step[0] = INT64_MAX;
    return tiling;
}

static bool legal_step(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                       int64_t step)
{
    struct cs_tiling tiling = along(search, mode, axis, step);
    return cs_plan_cut(search->question->problem, &tiling, &search->plan) == CS_OK;
}

/* The smallest legal step, found without a query: smaller ones give too many tiles or shapes. 0 if
 * every step is illegal. */
static int64_t smallest_step(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                             int64_t extent)
{
    int64_t illegal = cs_ceil_div(extent, CS_MAX_TILES) - 1, legal = illegal + 1;
    while (!legal_step(search, mode, axis, legal)) {
        illegal = legal;
        if (legal > extent / 2)
            return 0;
        legal *= 2;
    }
    while (legal - illegal > 1) {
        int64_t middle = illegal + (legal - illegal) / 2;
        *(legal_step(search, mode, axis, middle) ? &legal : &illegal) = middle;
    }
    return legal;
}

/* The most even cut into the number of tiles that `step` gives: the smallest step with that number.
 */
static int64_t even_step(int64_t extent, int64_t step)
{
    return cs_ceil_div(extent, cs_ceil_div(extent, step));
}

static int64_t model_step(const struct bracket *bracket, int64_t limit)
{
    double slope = (bracket->bytes[1] - bracket->bytes[0]) / (bracket->step[1] - bracket->step[0]);
    double step = bracket->step[1] + ((double)limit - bracket->bytes[1]) / slope;
    if (!(slope > 0) || !(step < (double)bracket->over))
        return bracket->over / 2;
    return step > (double)bracket->smallest ? (int64_t)step : bracket->smallest;
}

static int64_t middle_step(const struct bracket *bracket)
{
    int64_t low = bracket->fits ? bracket->fits : bracket->smallest;
    int64_t tiles =
        (cs_ceil_div(bracket->extent, low) + cs_ceil_div(bracket->extent, bracket->over)) / 2;
    return cs_ceil_div(bracket->extent, tiles);
}

/* The step to probe next. 0: no step is left between those that fit and those that do not. */
static int64_t next_step(const struct bracket *bracket, int64_t limit, int turn)
{
    if (bracket->over <= bracket->smallest)
        return 0;
    int64_t step = turn < EARLY_TURNS ? model_step(bracket, limit) : middle_step(bracket);
    if (step >= bracket->over)
        step = bracket->over - 1;
    step = even_step(bracket->extent, step > 0 ? step : 1);
    if (step < bracket->smallest)
        step = bracket->smallest;
    if (bracket->fits && step <= bracket->fits) {
        int64_t tiles = cs_ceil_div(bracket->extent, bracket->fits);
        step = cs_ceil_div(bracket->extent, tiles - 1);
    }
    return step < bracket->over ? step : 0;
}

static void learn(struct bracket *bracket, int64_t step, enum cs_probed outcome, int64_t bytes)
{
    if (outcome == CS_HOLE) {
        bracket->holes++;
        if (step == bracket->smallest)
            bracket->smallest++;
        else
            bracket->over = step;
        return;
    }
    if (outcome == CS_FITS)
        bracket->fits = step;
    else
        bracket->over = step;
    bracket->step[0] = bracket->step[1];
    bracket->bytes[0] = bracket->bytes[1];
    bracket->step[1] = (double)step;
    bracket->bytes[1] = (double)bytes;
}

/* Engines accept some phases and refuse others, so each divisor of the dilation is queried, the
 * smallest first. */
static enum cs_status list_phases(struct cs_search *search, struct cs_mode mode, enum cs_axis axis)
{
    int64_t dilation = cs_axis_extent(search->question->problem, axis);
    int64_t most = dilation < CS_MAX_TILES ? dilation : CS_MAX_TILES;
    int probes = 0;
    for (int64_t phases = 2; phases <= most && probes < MOST_PHASES; phases++) {
        const struct cs_tiling tiling = {.axis = {axis}, .step = {dilation / phases, 1}};
        enum cs_probed probed;
        int64_t bytes;
        if (dilation % phases != 0)
            continue;
        probes++;
        enum cs_status status = cs_search_probe(search, mode, &tiling, &probed, &bytes);
        if (status != CS_OK || probed == CS_FITS)
            return status;
    }
    return CS_OK;
}

static enum cs_status list_fewest(struct cs_search *search, struct cs_mode mode, enum cs_axis axis)
{
    int64_t extent = cs_ceil_div(cs_axis_extent(search->question->problem, axis),
                                 cs_axis_unit(search->question->problem, axis));
    int64_t limit = search->question->limit;
    if (extent < 2)
        return CS_OK;
    if (cs_phases_of(axis) != CS_AXIS_NONE)
        return list_phases(search, mode, axis);
    struct bracket bracket = {
        .extent = extent,
        .smallest = smallest_step(search, mode, axis, extent),
        .over = extent,
        .step = {0, (double)extent},
        .bytes = {0, (double)search->question->required * (mode.lanes > 1 ? mode.lanes : 1)},
    };
    if (bracket.smallest == 0)
        return CS_OK;
    int64_t step = next_step(&bracket, limit, 0);
    for (int turn = 1; turn <= MOST_TURNS && step > 0; turn++) {
        enum cs_probed outcome;
        int64_t bytes = 0;
        struct cs_tiling tiling = along(search, mode, axis, step);
        enum cs_status status = cs_search_probe(search, mode, &tiling, &outcome, &bytes);
        if (status != CS_OK)
            return status;
        learn(&bracket, step, outcome, bytes);
        if (bracket.holes > MOST_HOLES && !bracket.fits)
            return CS_OK;
        step = next_step(&bracket, limit, turn);
    }
    return CS_OK;
}

static enum cs_status list_count(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                                 int64_t tiles)
{
    int64_t extent = cs_axis_extent(search->question->problem, axis), bytes;
    enum cs_probed probed;
    tiles = tiles < CS_MAX_TILES ? tiles : CS_MAX_TILES;
    tiles = tiles < extent ? tiles : extent;
    const struct cs_tiling tiling = {.axis = {axis},
                                     .step = {tiles > 1 ? cs_ceil_div(extent, tiles) : 1, 1}};
    return tiles > 1 ? cs_search_probe(search, mode, &tiling, &probed, &bytes) : CS_OK;
}

/* Phases with short, separated elements come last, because the gaps between their elements are
 * moved too. */
static bool is_of_stage(const struct cs_search *search, enum cs_axis axis, bool last)
{
    bool scattered =
        cs_phases_of(axis) != CS_AXIS_NONE && cs_phases_scattered(search->question->problem, axis);
    return scattered == last;
}

/* Slices along W are the least contiguous. Slices along K and C read x or y again as a whole. Each
 * stage is for problems without a fit in earlier stages. */
enum cs_status cs_search_axes(struct cs_search *search, struct cs_mode mode, int64_t tiles)
{
    static const struct {
        int begin, end; /* forms */
    } stages[] = {{0, 5}, {5, 7}, {7, CS_SINGLE_FORMS}, {0, CS_SINGLE_FORMS}};
    const size_t count = sizeof stages / sizeof *stages;
    for (size_t stage = 0; stage < count; stage++) {
        for (int form = stages[stage].begin; form < stages[stage].end; form++) {
            enum cs_axis axis = cs_forms_axis(form);
            enum cs_status status = CS_OK;
            if (is_of_stage(search, axis, stage == count - 1))
                status = tiles > 0 ? list_count(search, mode, axis, tiles)
                                   : list_fewest(search, mode, axis);
            if (status != CS_OK)
                return status;
        }
        if (!cs_shortlist_empty(&search->list))
            return CS_OK;
    }
    return CS_OK;
}
