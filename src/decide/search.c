#include "decide/search.h"

#include "base/checked.h"

enum {
    MOST_TURNS = 16, /* probes of one axis */
    MOST_HOLES = 4,  /* refused or illegal cuts before an axis without a fit is given up */
    EARLY_TURNS = 6  /* probes that follow the model; the others halve */
};

enum outcome {
    FITS, /* every kind was asked; listed */
    OVER, /* some kind needs more than the limit */
    HOLE  /* illegal, refused, or no asks left */
};

/* What is known of one axis. Fewer tiles mean a larger step, so the step sought is the largest that
 * fits. */
struct bracket {
    int64_t extent;
    int64_t smallest; /* no smaller step is tried */
    int64_t over;     /* the smallest step known not to fit */
    int64_t fits;     /* the largest step known to fit, or 0 */
    int holes;
    double step[2], bytes[2]; /* the last two answers: a line through them tells where to look */
};

static enum cs_status ask(struct cs_search *search, struct cs_kind *kind)
{
    const struct cs_vendor *vendor = search->vendor;
    void *kernel = NULL;
    int64_t workspace = 0;
    if (search->asks_left == 0)
        return CS_REFUSED;
    search->asks_left--;
    search->asked++;
    enum cs_status status = vendor->build(vendor->ctx, &kind->problem, &kernel, &workspace);
    if (status != CS_OK)
        return status == CS_NOMEM ? CS_NOMEM : CS_REFUSED;
    vendor->destroy(kernel);
    if (workspace < 0)
        return CS_REFUSED;
    search->answered++;
    kind->workspace = workspace;
    return CS_OK;
}

static int64_t largest_kind(const struct cs_plan *plan, enum cs_axis axis, unsigned asked)
{
    int64_t largest = -1;
    enum cs_dim dim = cs_axis_dim(axis);
    for (int64_t i = 0; i < plan->kinds; i++) {
        if (asked >> i & 1)
            continue;
        if (largest < 0) {
            largest = i;
            continue;
        }
        const struct cs_tensor *new = plan->kind[i].problem.tensor;
        const struct cs_tensor *old = plan->kind[largest].problem.tensor;
        int64_t more = new[CS_Y].dims[dim] - old[CS_Y].dims[dim];
        if (more > 0 || (more == 0 && new[CS_X].dims[dim] > old[CS_X].dims[dim]))
            largest = i;
    }
    return largest;
}

static void list(struct cs_search *search)
{
    const struct cs_plan *plan = &search->plan;
    search->candidate[search->candidates++] = (struct cs_candidate){
        .axis = plan->axis,
        .step = plan->step,
        .tiles = plan->tiles,
        .kinds = plan->kinds,
        .workspace = plan->workspace,
        .halo = plan->halo,
    };
}

/* The kind that looks largest is asked first: mostly it settles that a cut does not fit. *bytes_p
 * is what that kind needs, or a kind that needs more than the limit. */
static enum cs_status probe(struct cs_search *search, enum cs_axis axis, int64_t step,
                            enum outcome *outcome_p, int64_t *bytes_p)
{
    struct cs_plan *plan = &search->plan;
    enum cs_status status = cs_plan_cut(search->problem, axis, step, plan);
    *outcome_p = HOLE;
    if (status != CS_OK) {
        search->overflowed |= status == CS_OVERFLOW;
        return CS_OK;
    }
    unsigned asked = 0;
    for (int64_t i = 0; i < plan->kinds; i++) {
        int64_t kind = largest_kind(plan, axis, asked);
        status = ask(search, &plan->kind[kind]);
        if (status != CS_OK)
            return status == CS_NOMEM ? CS_NOMEM : CS_OK;
        asked |= 1u << kind;
        if (i == 0 || plan->kind[kind].workspace > search->limit)
            *bytes_p = plan->kind[kind].workspace;
        if (plan->kind[kind].workspace > search->limit) {
            *outcome_p = OVER;
            return CS_OK;
        }
    }
    cs_plan_settle(plan);
    list(search);
    *outcome_p = FITS;
    return CS_OK;
}

enum cs_status cs_search_step(struct cs_search *search, enum cs_axis axis, int64_t step)
{
    enum outcome outcome;
    int64_t bytes = 0;
    return probe(search, axis, step, &outcome, &bytes);
}

/* Small steps are illegal where they give too many tiles or kinds; found without asking. 0 if every
 * step is illegal. */
static int64_t smallest_step(struct cs_search *search, enum cs_axis axis, int64_t extent,
                             int64_t most)
{
    int64_t illegal = cs_ceil_div(extent, most) - 1, legal = illegal + 1;
    while (cs_plan_cut(search->problem, axis, legal, &search->plan) != CS_OK) {
        illegal = legal;
        if (legal > extent / 2)
            return 0;
        legal *= 2;
    }
    while (legal - illegal > 1) {
        int64_t middle = illegal + (legal - illegal) / 2;
        if (cs_plan_cut(search->problem, axis, middle, &search->plan) == CS_OK)
            legal = middle;
        else
            illegal = middle;
    }
    return legal;
}

/* The most even cut into as many tiles as `step` gives: the smallest step of that count. */
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

/* The step to probe next, or 0: nothing is left between what fits and what does not. */
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

static void learn(struct bracket *bracket, int64_t step, enum outcome outcome, int64_t bytes)
{
    if (outcome == HOLE) {
        bracket->holes++;
        if (step == bracket->smallest)
            bracket->smallest++;
        else
            bracket->over = step;
        return;
    }
    if (outcome == FITS)
        bracket->fits = step;
    else
        bracket->over = step;
    bracket->step[0] = bracket->step[1];
    bracket->bytes[0] = bracket->bytes[1];
    bracket->step[1] = (double)step;
    bracket->bytes[1] = (double)bytes;
}

enum cs_status cs_search_fewest(struct cs_search *search, enum cs_axis axis, int64_t most,
                                int64_t wanted)
{
    int64_t extent = cs_axis_extent(search->problem, axis);
    int64_t limit = search->limit;
    if (extent < 2 || most < 2)
        return CS_OK;
    struct bracket bracket = {
        .extent = extent,
        .smallest = smallest_step(search, axis, extent, most < CS_MAX_TILES ? most : CS_MAX_TILES),
        .over = extent,
        .step = {0, (double)extent},
        .bytes = {0, (double)wanted},
    };
    if (bracket.smallest == 0)
        return CS_OK;
    /* Under a bound from another axis the first question is whether this one can keep up at all. */
    int64_t step = most < CS_MAX_TILES ? bracket.smallest : next_step(&bracket, limit, 0);
    for (int turn = 1; turn <= MOST_TURNS && step > 0; turn++) {
        enum outcome outcome;
        int64_t bytes = 0;
        enum cs_status status = probe(search, axis, step, &outcome, &bytes);
        if (status != CS_OK)
            return status;
        learn(&bracket, step, outcome, bytes);
        if (bracket.holes > MOST_HOLES && !bracket.fits)
            return CS_OK;
        step = next_step(&bracket, limit, turn);
    }
    return CS_OK;
}
