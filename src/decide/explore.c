/* Candidates beyond the fewest tiles: finer tiles, more lanes, tiles of several sizes. */
#include "decide/explore.h"

#include "base/checked.h"
#include "decide/division.h"
#include "plan/phases.h"
#include <string.h>

/* Times the untiled call's predicted seconds beyond which another engine is worth its ask. A
 * choice: a smaller excess is within what the cost model is wrong by. No GPU has confirmed it. */
static const double MUCH_LONGER = 1.25;

enum {
    PROPOSALS = 3, /* asked of the vendor at most */
    FINEST = 8     /* times as many tiles as the fewest, at most */
};

/* What a tile needs, by the size of its operands: a line through the whole and a tile that was
 * asked. */
struct workspace_line {
    double size, bytes, slope;
};

struct proposal {
    struct cs_tiling tiling;
    int64_t tiles;
    double cost;
};

struct exploration {
    struct cs_search *search;
    struct cs_mode mode; /* of the tilings that are proposed */
    const struct cs_policy *policy;
    const struct cs_limits *limits;
    struct workspace_line line;
    int proposals;
    struct proposal proposal[PROPOSALS]; /* the cheapest first */
};

static double shape_size(const struct cs_plan *plan, int64_t shape)
{
    struct cs_problem problem;
    cs_plan_problem(plan, shape, &problem);
    return cs_search_size(&problem);
}

/* Of a tiling that is listed the workspace of one lane is that of its largest tile. */
static bool draw_line(struct cs_search *search, const struct cs_candidate *known,
                      struct workspace_line *line)
{
    struct cs_plan *plan = &search->plan;
    double full = cs_search_size(search->question->problem);
    int lanes = known->tiling.lanes > 1 ? known->tiling.lanes : 1;
    if (cs_plan_cut(search->question->problem, &known->tiling, plan) != CS_OK)
        return false;
    line->size = shape_size(plan, cs_search_largest(plan, 0));
    int64_t each = known->workspace / lanes - plan->staged;
    line->bytes = (double)each;
    line->slope = ((double)search->question->required - line->bytes) / (full - line->size);
    return full > line->size && line->slope >= 0;
}

static int64_t predict_workspace(const struct workspace_line *line, double size)
{
    double bytes = line->bytes + line->slope * (size - line->size);
    return bytes <= 0 ? 0 : bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

/* The tiling as a candidate, as far as it can be predicted; false if it is illegal or needs more
 * than the limit. It stays in search->plan. */
static bool imagine(const struct exploration *exploration, const struct cs_tiling *tiling,
                    struct cs_candidate *candidate)
{
    struct cs_search *search = exploration->search;
    struct cs_plan *plan = &search->plan;
    if (cs_plan_cut(search->question->problem, tiling, plan) != CS_OK)
        return false;
    for (int64_t i = 0; i < plan->shapes; i++)
        plan->shape[i].workspace = predict_workspace(&exploration->line, shape_size(plan, i));
    cs_plan_settle(plan);
    *candidate = cs_search_candidate(search);
    return plan->workspace <= search->question->limit;
}

static bool is_listed(const struct cs_shortlist *list, const struct cs_candidate *candidate)
{
    for (int i = 0; i < list->count; i++)
        if (cs_cut_tiling_equal(&list->candidate[i].tiling, &candidate->tiling))
            return true;
    return false;
}

static bool is_proposed(const struct exploration *exploration, const struct cs_candidate *candidate)
{
    for (int i = 0; i < exploration->proposals; i++)
        if (cs_cut_tiling_equal(&exploration->proposal[i].tiling, &candidate->tiling))
            return true;
    return false;
}

static void propose(struct exploration *exploration, const struct cs_tiling *tiling)
{
    struct cs_candidate candidate;
    if (!imagine(exploration, tiling, &candidate) ||
        is_listed(&exploration->search->list, &candidate) || is_proposed(exploration, &candidate))
        return;
    const struct proposal made = {candidate.tiling, candidate.tiles,
                                  exploration->policy->cost(&candidate, exploration->limits)};
    if (!__builtin_isfinite(made.cost))
        return;
    int place = exploration->proposals;
    while (place > 0 && made.cost < exploration->proposal[place - 1].cost)
        place--;
    if (place == PROPOSALS)
        return;
    if (exploration->proposals < PROPOSALS)
        exploration->proposals++;
    for (int i = exploration->proposals - 1; i > place; i--)
        exploration->proposal[i] = exploration->proposal[i - 1];
    exploration->proposal[place] = made;
}

static int64_t units_of(const struct cs_search *search, enum cs_axis axis)
{
    return cs_ceil_div(cs_axis_extent(search->question->problem, axis),
                       cs_axis_unit(search->question->problem, axis));
}

/* A cut into tiles of so many units; false if that leaves 64 bits. */
static bool cut_by(const struct exploration *exploration, enum cs_axis axis, int64_t units,
                   struct cs_tiling *tiling)
{
    *tiling = (struct cs_tiling){.axis = {axis},
                                 .step = {1, 1},
                                 .lanes = exploration->mode.lanes,
                                 .relaxation = exploration->mode.relaxation,
                                 .staged = exploration->mode.staged,
                                 .equal_padding = exploration->search->equal_padding};
    return cs_mul(units, cs_axis_unit(exploration->search->question->problem, axis),
                  &tiling->step[0]);
}

/* An even cut into about so many tiles; false if that is none. */
static bool even_cut(const struct exploration *exploration, enum cs_axis axis, int64_t tiles,
                     struct cs_tiling *tiling)
{
    int64_t units = units_of(exploration->search, axis);
    return tiles >= 2 && tiles <= units && tiles <= CS_MAX_TILES &&
           cut_by(exploration, axis, cs_ceil_div(units, tiles), tiling);
}

/* The fewest tiles along an axis that are predicted to come under the limit on so many lanes; 0 if
 * no number does. */
static int64_t fewest(const struct exploration *exploration, enum cs_axis axis)
{
    int64_t none = 1, tiles = units_of(exploration->search, axis);
    struct cs_tiling tiling;
    struct cs_candidate candidate;
    tiles = tiles < CS_MAX_TILES ? tiles : CS_MAX_TILES;
    if (!even_cut(exploration, axis, tiles, &tiling) || !imagine(exploration, &tiling, &candidate))
        return 0;
    while (tiles - none > 1) {
        int64_t middle = none + (tiles - none) / 2;
        if (even_cut(exploration, axis, middle, &tiling) &&
            imagine(exploration, &tiling, &candidate))
            tiles = middle;
        else
            none = middle;
    }
    return tiles;
}

static void propose_even(struct exploration *exploration, enum cs_axis axis, int64_t from)
{
    static const int quarters[] = {4, 5, 6, 8, 12, 16, 24, 4 * FINEST};
    struct cs_tiling tiling;
    for (size_t i = 0; i < sizeof quarters / sizeof *quarters; i++)
        if (even_cut(exploration, axis, from * quarters[i] / 4, &tiling))
            propose(exploration, &tiling);
}

/* The sizes that tiles along an axis may have, in grains of so many units, and what one of each
 * costs. */
static int list_shares(const struct exploration *exploration, enum cs_axis axis, int64_t grain,
                       int64_t from, struct cs_portion *share)
{
    struct cs_search *search = exploration->search;
    int64_t units = units_of(search, axis), last = 0;
    int shares = 0;
    for (int64_t tiles = from; shares < CS_MAX_PORTIONS && tiles <= FINEST * from; tiles++) {
        static const struct cs_tiling uncut = {.step = {1, 1}};
        struct cs_tiling tiling;
        struct cs_candidate candidate;
        struct cs_problem shape;
        int64_t extent = units / tiles / grain;
        if (extent < 1 || extent == last)
            continue;
        last = extent;
        if (!cut_by(exploration, axis, extent * grain, &tiling) ||
            !imagine(exploration, &tiling, &candidate))
            continue;
        int64_t largest = cs_search_largest(&search->plan, 0);
        int64_t bytes = search->plan.shape[largest].workspace;
        cs_plan_problem(&search->plan, largest, &shape);
        if (cs_plan_cut(&shape, &uncut, &search->plan) != CS_OK)
            continue;
        search->plan.shape[0].workspace = bytes;
        cs_plan_settle(&search->plan);
        share[shares++] = (struct cs_portion){extent, cs_search_seconds(search)};
    }
    return shares;
}

/* The largest tiles first; false if they are of more sizes than a tiling holds. */
static bool runs_of(const struct exploration *exploration, enum cs_axis axis, int64_t grain,
                    const struct cs_portion *share, const int64_t *count, int shares,
                    struct cs_tiling *tiling)
{
    struct cs_tiling next;
    int sizes = 0;
    for (int i = 0; i < shares; i++) {
        if (count[i] == 0)
            continue;
        if (sizes == CS_MAX_RUNS || !cut_by(exploration, axis, share[i].extent * grain, &next))
            return false;
        memcpy(next.run, tiling->run, sizeof next.run);
        if (sizes < CS_MAX_RUNS - 1)
            next.run[sizes] = (struct cs_run){next.step[0], count[i], next.relaxation};
        next.runs = sizes++; /* the last size is the step */
        *tiling = next;
    }
    return sizes > 0;
}

/* Tiles of several sizes: full waves for most of them, the rest as it comes. */
static void propose_division(struct exploration *exploration, enum cs_axis axis, int64_t from)
{
    struct cs_portion share[CS_MAX_PORTIONS];
    int64_t count[CS_MAX_PORTIONS];
    int64_t units = units_of(exploration->search, axis);
    int64_t grain = cs_ceil_div(units, CS_MAX_UNITS);
    int shares = list_shares(exploration, axis, grain, from, share);
    struct cs_tiling tiling = {.step = {1, 1}};
    if (cs_division_best(cs_ceil_div(units, grain), share, shares, count) == CS_OK &&
        runs_of(exploration, axis, grain, share, count, shares, &tiling))
        propose(exploration, &tiling);
}

/* Most lanes that exploring may use. */
static int most_lanes(const struct exploration *exploration)
{
    int lanes = exploration->limits->lanes;
    return lanes > 0 ? lanes : 2;
}

static void propose_axis(struct exploration *exploration, enum cs_axis axis)
{
    struct cs_search *search = exploration->search;
    if (units_of(search, axis) < 2)
        return;
    for (exploration->mode.lanes = 1; exploration->mode.lanes <= most_lanes(exploration);
         exploration->mode.lanes *= 2) {
        int64_t from = fewest(exploration, axis);
        if (from < 2)
            continue;
        propose_even(exploration, axis, from);
        if (exploration->mode.lanes == 1 && search->question->profile)
            propose_division(exploration, axis, from);
    }
}

/* On the axes of the stage that helped first: the others read more again, or in smaller pieces. */
static void propose_all(struct exploration *exploration, const struct cs_candidate *known)
{
    enum cs_axis axis = known->tiling.axis[0];
    if (known->tiling.axis[1] != CS_AXIS_NONE)
        return;
    if (axis > CS_AXIS_H) {
        propose_axis(exploration, axis);
        return;
    }
    for (axis = CS_AXIS_N; axis <= CS_AXIS_H; axis++)
        propose_axis(exploration, axis);
    for (axis = CS_AXIS_D_PHASES; axis <= CS_AXIS_H_PHASES; axis++)
        if (!cs_phases_scattered(exploration->search->question->problem, axis))
            propose_axis(exploration, axis);
}

const struct cs_candidate *cs_explore_best(const struct cs_shortlist *list,
                                           const struct cs_policy *policy,
                                           const struct cs_limits *limits)
{
    const struct cs_candidate *best = NULL;
    double least = 0;
    for (int i = 0; i < list->count; i++) {
        double cost = cs_shortlist_cost(&list->candidate[i], policy, limits);
        if (__builtin_isfinite(cost) && (!best || cost < least)) {
            best = &list->candidate[i];
            least = cost;
        }
    }
    return best;
}

static enum cs_status ask_for(struct exploration *exploration)
{
    struct cs_search *search = exploration->search;
    for (int i = 0; i < exploration->proposals; i++) {
        const struct proposal *proposal = &exploration->proposal[i];
        const struct cs_candidate *best =
            cs_explore_best(&search->list, exploration->policy, exploration->limits);
        enum cs_probed probed;
        int64_t bytes;
        if (best && exploration->policy->cost(best, exploration->limits) <= proposal->cost)
            return CS_OK;
        exploration->mode.lanes = proposal->tiling.lanes;
        enum cs_status status =
            cs_search_probe(search, exploration->mode, &proposal->tiling, &probed, &bytes);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

/* Where tiles are predicted to take much longer than the whole, another engine that requires less
 * for the whole is worth a look, which costs as much as many other asks. */
static enum cs_status ask_for_another(struct exploration *exploration)
{
    static const struct cs_tiling full = {.step = {1, 1}};
    struct cs_search *search = exploration->search;
    const struct cs_candidate *untiled = &search->list.candidate[0],
                              *best = cs_explore_best(&search->list, exploration->policy,
                                                      exploration->limits);
    struct cs_mode mode = exploration->mode;
    enum cs_probed probed;
    int64_t bytes;
    if (search->question->vendor->rigid || mode.relaxation == CS_SIMILAR_ENGINE ||
        search->purse.left < 1 || (best && best->seconds <= MUCH_LONGER * untiled->seconds))
        return CS_OK;
    mode.relaxation = CS_SIMILAR_ENGINE;
    mode.lanes = 1;
    return cs_search_probe(search, mode, &full, &probed, &bytes);
}

/* Where nothing is tiled whatever it costs, the untiled call is the best, which says nothing of
 * tiles. Tilings of one axis are looked beyond, also where there are others beside them. */
static const struct cs_candidate *best_tiling(const struct cs_shortlist *list)
{
    const struct cs_candidate *best = NULL;
    bool pair = true;
    for (int i = 1; i < list->count; i++) {
        bool two = list->candidate[i].tiling.axis[1] != CS_AXIS_NONE;
        if (!best || (pair == two ? list->candidate[i].tiles < best->tiles : pair)) {
            best = &list->candidate[i];
            pair = two;
        }
    }
    return best && best->tiling.axis[0] != CS_AXIS_NONE ? best : NULL;
}

enum cs_status cs_explore(struct cs_search *search, const struct cs_policy *policy,
                          const struct cs_limits *limits)
{
    struct exploration exploration = {.search = search, .policy = policy, .limits = limits};
    const struct cs_candidate *known = best_tiling(&search->list);
    if (!known || !draw_line(search, known, &exploration.line))
        return CS_OK;
    exploration.mode =
        (struct cs_mode){.relaxation = known->tiling.relaxation, .staged = known->tiling.staged};
    search->purse.left = CS_EXPLORE_ASKS;
    search->purse.kept = 0;
    propose_all(&exploration, known);
    enum cs_status status = ask_for(&exploration);
    return status == CS_OK ? ask_for_another(&exploration) : status;
}
