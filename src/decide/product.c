/* Candidates that tile along two axes. */
#include "base/checked.h"
#include "decide/search.h"
#include "plan/phases.h"

enum {
    MOST_TURNS = 12, /* probes of one pair of axes */
    MOST_OUTER = 32, /* tiles along the outer axis: as many as a set of bits holds */
};

static const enum cs_axis pairs[][CS_MAX_CUTS] = {
    {CS_AXIS_N, CS_AXIS_D}, {CS_AXIS_N, CS_AXIS_H}, {CS_AXIS_D, CS_AXIS_H}, {CS_AXIS_H, CS_AXIS_W},
    {CS_AXIS_K, CS_AXIS_N}, {CS_AXIS_K, CS_AXIS_H}, {CS_AXIS_K, CS_AXIS_C}, {CS_AXIS_C, CS_AXIS_N},
    {CS_AXIS_C, CS_AXIS_H}, {CS_AXIS_N, CS_AXIS_W}, {CS_AXIS_D, CS_AXIS_W}, {CS_AXIS_K, CS_AXIS_W},
    {CS_AXIS_C, CS_AXIS_W}, {CS_AXIS_K, CS_AXIS_D}, {CS_AXIS_C, CS_AXIS_D}};

/* Of dilated problems: phases read nothing twice. */
static const enum cs_axis pairs_by_phase[][CS_MAX_CUTS] = {
    {CS_AXIS_N, CS_AXIS_D_PHASES},        {CS_AXIS_N, CS_AXIS_H_PHASES},
    {CS_AXIS_D_PHASES, CS_AXIS_H_PHASES}, {CS_AXIS_H_PHASES, CS_AXIS_W_PHASES},
    {CS_AXIS_K, CS_AXIS_H_PHASES},        {CS_AXIS_C, CS_AXIS_H_PHASES},
    {CS_AXIS_N, CS_AXIS_W_PHASES},        {CS_AXIS_K, CS_AXIS_W_PHASES},
    {CS_AXIS_C, CS_AXIS_W_PHASES}};

/* Bytes that the vendor asks for shapes by the size of their operands: a line through the last two
 * answers. What is staged is known and comes on top. */
struct model {
    double size[2], bytes[2];
};

/* A product that is predicted to fit. */
struct proposal {
    struct cs_tiling tiling;
    int64_t tiles, halo;
    double size, staged;
};

static double predict_bytes(const struct model *model, double size)
{
    double slope = (model->bytes[1] - model->bytes[0]) / (model->size[1] - model->size[0]);
    if (!(slope > 0))
        return model->bytes[1] * (size / model->size[1]);
    return model->bytes[1] + slope * (size - model->size[1]);
}

static void learn(struct model *model, double size, double bytes)
{
    model->size[0] = model->size[1];
    model->bytes[0] = model->bytes[1];
    model->size[1] = size;
    model->bytes[1] = bytes;
}

static int lanes_of(struct cs_mode mode)
{
    return mode.lanes > 1 ? mode.lanes : 1;
}

static int64_t units_of(const struct cs_search *search, enum cs_axis axis)
{
    return cs_ceil_div(cs_axis_extent(search->question->problem, axis),
                       cs_axis_unit(search->question->problem, axis));
}

static int64_t step_for(const struct cs_search *search, enum cs_axis axis, int64_t tiles)
{
    return cs_ceil_div(units_of(search, axis), tiles) *
           cs_axis_unit(search->question->problem, axis);
}

/* Worth a look are outer counts that leave no rest, and as many tiles as the step of a power of two
 * really makes: 12 units are cut into 2, 3, 4, 6 and 12. */
static bool looks_even(int64_t units, int64_t outer)
{
    if (outer > units)
        return false;
    bool even = units % outer == 0;
    for (int64_t power = 2; !even && power <= MOST_OUTER && power <= units; power *= 2)
        even = cs_ceil_div(units, cs_ceil_div(units, power)) == outer;
    return even;
}

/* The bit of an outer count in a set of those that are skipped. */
static unsigned bit_of(int64_t outer)
{
    return 1u << (outer - 1);
}

/* True if the product is legal and its largest shape predicted to fit. */
static bool predicted(struct cs_search *search, struct cs_mode mode, const struct model *model,
                      const struct cs_tiling *tiling, struct proposal *proposal)
{
    struct cs_plan *plan = &search->plan;
    struct cs_problem shape;
    struct cs_tiling cut = *tiling;
    cut.equal_padding = search->equal_padding;
    enum cs_status status = cs_plan_cut(search->question->problem, &cut, plan);
    search->overflowed |= status == CS_OVERFLOW;
    if (status != CS_OK)
        return false;
    cs_plan_problem(plan, cs_search_largest(plan, 0), &shape);
    *proposal = (struct proposal){*tiling, plan->tiles, plan->halo, cs_search_size(&shape),
                                  (double)plan->staged * lanes_of(mode)};
    return predict_bytes(model, proposal->size) + proposal->staged <=
           (double)search->question->limit;
}

/* The fewest inner tiles at this outer count, at most `most` in all. False if there are none. */
static bool propose_inner(struct cs_search *search, struct cs_mode mode, const struct model *model,
                          const enum cs_axis pair[CS_MAX_CUTS], int64_t outer, int64_t most,
                          struct proposal *proposal)
{
    struct cs_tiling tiling = {.axis = {pair[0], pair[1]},
                               .step = {step_for(search, pair[0], outer), 1}};
    int64_t none = 1, units = units_of(search, pair[1]), fits = most / outer;
    fits = fits < units ? fits : units;
    if (fits < 2)
        return false;
    tiling.step[1] = step_for(search, pair[1], fits);
    if (!predicted(search, mode, model, &tiling, proposal))
        return false;
    while (fits - none > 1) {
        struct proposal less;
        int64_t middle = none + (fits - none) / 2;
        tiling.step[1] = step_for(search, pair[1], middle);
        if (predicted(search, mode, model, &tiling, &less)) {
            fits = middle;
            *proposal = less;
        } else {
            none = middle;
        }
    }
    return true;
}

/* The best product of a pair with an outer count that is not in `skipped`, a set of bits. Returns
 * that count, 0 if none is predicted to fit. */
static int64_t propose(struct cs_search *search, struct cs_mode mode, const struct model *model,
                       const enum cs_axis pair[CS_MAX_CUTS], unsigned skipped,
                       struct proposal *proposal)
{
    int64_t best = 0, units = units_of(search, pair[0]), most = cs_search_most(search);
    most = most < CS_MAX_TILES ? most : CS_MAX_TILES;
    for (int64_t outer = 2; outer <= MOST_OUTER; outer++) {
        struct proposal found;
        if (skipped & bit_of(outer) || !looks_even(units, outer) ||
            !propose_inner(search, mode, model, pair, outer, most, &found))
            continue;
        if (best == 0 || found.tiles < proposal->tiles ||
            (found.tiles == proposal->tiles && found.halo < proposal->halo)) {
            best = outer;
            *proposal = found;
        }
    }
    return best;
}

/* The smallest tiles that a pair can make. Returns their outer count, 0 if there are none. */
static int64_t finest(struct cs_search *search, struct cs_mode mode,
                      const enum cs_axis pair[CS_MAX_CUTS], unsigned skipped,
                      struct proposal *proposal)
{
    const struct model free = {{0, 1}, {0, 0}};
    for (int64_t outer = MOST_OUTER; outer >= 2; outer--) {
        int64_t inner = units_of(search, pair[1]);
        inner = inner < CS_MAX_TILES / outer ? inner : CS_MAX_TILES / outer;
        if (skipped & bit_of(outer) || !looks_even(units_of(search, pair[0]), outer) || inner < 2)
            continue;
        struct cs_tiling tiling = {
            .axis = {pair[0], pair[1]},
            .step = {step_for(search, pair[0], outer), step_for(search, pair[1], inner)}};
        if (predicted(search, mode, &free, &tiling, proposal))
            return outer;
    }
    return 0;
}

/* Where nothing is predicted to fit, one answer about the smallest tiles says whether to go on. */
static enum cs_status search_pair(struct cs_search *search, struct cs_mode mode,
                                  const enum cs_axis pair[CS_MAX_CUTS])
{
    struct model model = {{0, cs_search_size(search->question->problem)},
                          {0, (double)search->question->required * lanes_of(mode)}};
    unsigned skipped = 0;
    bool smallest = false;
    for (int turn = 0; turn < MOST_TURNS && search->purse.left > 0; turn++) {
        struct proposal proposal;
        enum cs_probed probed;
        int64_t bytes = 0;
        int64_t count = propose(search, mode, &model, pair, skipped, &proposal);
        if (count == 0 && !smallest && cs_shortlist_empty(&search->list)) {
            smallest = true;
            count = finest(search, mode, pair, skipped, &proposal);
        }
        if (count == 0)
            return CS_OK;
        enum cs_status status = cs_search_probe(search, mode, &proposal.tiling, &probed, &bytes);
        if (status != CS_OK)
            return status;
        if (probed == CS_HOLE)
            skipped |= bit_of(count);
        else
            learn(&model, proposal.size, (double)bytes - proposal.staged);
    }
    return CS_OK;
}

/* Phases whose elements lie apart come last, and never as packed copies: those would be of single
 * elements. */
static bool is_scattered(const struct cs_search *search, const enum cs_axis pair[CS_MAX_CUTS])
{
    for (int c = 0; c < CS_MAX_CUTS; c++)
        if (cs_phases_of(pair[c]) != CS_AXIS_NONE &&
            cs_phases_scattered(search->question->problem, pair[c]))
            return true;
    return false;
}

static enum cs_status search_phases(struct cs_search *search, struct cs_mode mode, bool scattered)
{
    for (size_t i = 0; i < sizeof pairs_by_phase / sizeof *pairs_by_phase; i++) {
        enum cs_status status = CS_OK;
        if (cs_shortlist_empty(&search->list) &&
            is_scattered(search, pairs_by_phase[i]) == scattered)
            status = search_pair(search, mode, pairs_by_phase[i]);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

enum cs_status cs_product_search(struct cs_search *search, struct cs_mode mode)
{
    search->purse.kept = 0;
    enum cs_status status = search_phases(search, mode, false);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && status == CS_OK; i++)
        if (cs_shortlist_empty(&search->list))
            status = search_pair(search, mode, pairs[i]);
    return status == CS_OK && !mode.staged ? search_phases(search, mode, true) : status;
}

enum cs_status cs_product_of_images(struct cs_search *search, struct cs_mode mode,
                                    enum cs_axis axis)
{
    const enum cs_axis pair[CS_MAX_CUTS] = {CS_AXIS_N, axis};
    return search_pair(search, mode, pair);
}
