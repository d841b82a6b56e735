/* Which tilings are looked for, and in which order: along one axis as the application's engine
 * takes them, in products of two, with other knobs or another engine, as packed copies. */
#include "decide/tilings.h"

#include "base/checked.h"
#include "decide/price.h"
#include "plan/phases.h"

enum {
    PRODUCT_ASKS = 28, /* kept for products of two cuts */
    MOST_ASKS = CS_MAX_ASKS - CS_PRICE_ASKS - CS_LEAST_ASKS - CS_RELAXATION_ASKS - CS_LANE_ASKS -
                -CS_STAGED_ASKS - CS_FALLBACK_ASKS
};

static enum cs_status list_count(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                                 int64_t tiles)
{
    int64_t extent = cs_axis_extent(search->question->problem, axis), bytes;
    enum cs_probed probed;
    if (tiles > CS_MAX_TILES)
        tiles = CS_MAX_TILES;
    if (tiles > extent)
        tiles = extent;
    struct cs_tiling tiling = {.axis = {axis},
                               .step = {tiles > 1 ? cs_ceil_div(extent, tiles) : 1, 1}};
    return tiles > 1 ? cs_search_probe(search, mode, &tiling, &probed, &bytes) : CS_OK;
}

static enum cs_status list_axis(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                                int64_t tiles)
{
    return tiles > 0 ? list_count(search, mode, axis, tiles)
                     : cs_search_fewest(search, mode, axis, cs_search_most(search));
}

/* Phases whose elements lie apart are moved with all that lies between: they are left to the last
 * stage. */
static bool is_of_stage(const struct cs_search *search, enum cs_axis axis, bool last)
{
    return cs_phases_of(axis) == CS_AXIS_NONE ||
           cs_phases_scattered(search->question->problem, axis) == last;
}

/* Slices along W are the least contiguous, those along K and C read x or y again as a whole, and
 * products make the smallest tiles: each only for problems that nothing before helps. */
static enum cs_status list_tilings(struct cs_search *search, struct cs_mode mode, int64_t tiles)
{
    static const enum cs_axis stages[][CS_AXES] = {
        {CS_AXIS_N, CS_AXIS_D, CS_AXIS_H, CS_AXIS_D_PHASES, CS_AXIS_H_PHASES},
        {CS_AXIS_W, CS_AXIS_W_PHASES},
        {CS_AXIS_K, CS_AXIS_C},
        {CS_AXIS_D_PHASES, CS_AXIS_H_PHASES, CS_AXIS_W_PHASES}};
    const size_t count = sizeof stages / sizeof *stages;
    for (size_t stage = 0; stage < count; stage++) {
        for (int i = 0; stages[stage][i] != CS_AXIS_NONE; i++) {
            enum cs_status status = CS_OK;
            if (is_of_stage(search, stages[stage][i], stage == count - 1))
                status = list_axis(search, mode, stages[stage][i], tiles);
            if (status != CS_OK)
                return status;
        }
        if (!cs_shortlist_empty(&search->list))
            return CS_OK;
    }
    return tiles > 0 ? CS_OK : cs_product_search(search, mode);
}

/* Slices of some engines want as much as the whole, with the application's knobs or with any. Then
 * other knobs are next to what it chose, and after them another engine, for the whole problem. */
static enum cs_status list_elsewhere(struct cs_search *search, struct cs_mode *mode)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    const struct cs_vendor *vendor = search->question->vendor;
    enum cs_probed probed;
    int64_t bytes;
    if (vendor->rigid || vendor->compiles)
        return CS_OK;
    *mode = (struct cs_mode){.relaxation = CS_DEFAULT_KNOBS, .lanes = 1, .staged = mode->staged};
    search->purse.left += CS_RELAXATION_ASKS;
    search->purse.kept = 1;
    enum cs_status status = list_tilings(search, *mode, 0);
    if (status != CS_OK || !cs_shortlist_empty(&search->list))
        return status;
    mode->relaxation = CS_SIMILAR_ENGINE;
    search->purse.left = 1;
    return cs_search_probe(search, *mode, &untiled, &probed, &bytes);
}

/* Staged tilings, with what the application chose. */
static enum cs_status list_staged(struct cs_search *search, struct cs_mode *mode)
{
    if (search->question->vendor->compiles)
        return CS_OK;
    *mode = (struct cs_mode){.relaxation = CS_SAME_KNOBS, .lanes = 1, .staged = true};
    search->purse.left += CS_STAGED_ASKS;
    search->purse.kept = 1;
    return list_tilings(search, *mode, 0);
}

static bool lists_lanes(const struct cs_shortlist *list)
{
    for (int i = 1; i < list->count; i++)
        if (list->candidate[i].tiling.lanes > 1)
            return true;
    return false;
}

/* On as many lanes as the user says; if nothing fits that, on fewer. On one lane the search is as
 * long as for a user who says nothing of lanes: what they ask for must not cost them a rewriting.
 */
static enum cs_status list_lanes(struct cs_search *search, int64_t tiles,
                                 const struct cs_limits *limits, struct cs_mode *mode)
{
    bool compiles = search->question->vendor->compiles;
    search->purse.left = CS_LANE_ASKS;
    mode->lanes = compiles ? 1 : limits->lanes;
    for (; mode->lanes > 1 && search->purse.left > 0; mode->lanes /= 2) {
        enum cs_status status = list_tilings(search, *mode, tiles);
        if (status != CS_OK || lists_lanes(&search->list))
            return status;
        cs_shortlist_clear(&search->list);
    }
    mode->lanes = 1;
    search->equal_padding = false;
    search->unequal = 0;
    search->purse.left = compiles ? CS_COMPILED_ASKS : MOST_ASKS;
    search->purse.kept = compiles ? 0 : PRODUCT_ASKS;
    return list_tilings(search, *mode, tiles);
}

/* The fewest tiles may read much again. */
static enum cs_status look_at_others(struct cs_search *search, struct cs_mode mode)
{
    const struct cs_candidate *known = cs_shortlist_fewest(&search->list);
    if (!known || search->question->vendor->compiles)
        return CS_OK;
    const struct cs_candidate read = *known;
    return cs_price_compare(search, mode, &read);
}

enum cs_status cs_tilings_list(struct cs_search *search, int64_t tiles,
                               const struct cs_limits *limits, struct cs_mode *mode)
{
    enum cs_status status = list_lanes(search, tiles, limits, mode);
    if (status == CS_OK && cs_shortlist_empty(&search->list) && tiles == 0)
        status = list_elsewhere(search, mode);
    if (status == CS_OK && cs_shortlist_empty(&search->list) && tiles == 0 &&
        limits->staging == CS_STAGING_AUTO)
        status = list_staged(search, mode);
    if (status == CS_OK && tiles == 0)
        status = look_at_others(search, *mode);
    return status;
}

enum cs_status cs_tilings_list_huge(struct cs_search *search, struct cs_mode *mode)
{
    if (search->question->vendor->rigid)
        return CS_OK;
    *mode = (struct cs_mode){.relaxation = CS_TILE_HEURISTICS, .lanes = 1, .staged = true};
    search->purse.left = MOST_ASKS;
    search->purse.kept = PRODUCT_ASKS;
    return list_tilings(search, *mode, 0);
}
