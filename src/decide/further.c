/* Tilings beside the fewest tiles on one lane: packed copies and two lanes. */
#include "decide/further.h"

#include "base/checked.h"
#include "decide/staged_search.h"

enum {
    AUTO_LANES = 2,     /* where the user leaves it to us */
    LANE_TILES = 5,     /* what each of them may have to run, less than so many ... */
    LANE_TILES_OF = 4,  /* ... of these parts of the tiles alone: policy fit counts a tile on two
                           lanes as four fifths of one, so that beyond it nothing is gained */
    LANE_HALO_PART = 16 /* of the operands, that may be read once more for it. A choice; no GPU has
                           confirmed it */
};

/* Two lanes overlap the layout conversions of one tile with the arithmetic of another and fill the
 * device where a tile alone does not. They are worth a look where each has not more than a quarter
 * more tiles to run than one lane alone, and where the halo does not grow by more than a sixteenth
 * of the operands. */
static enum cs_status list_beside(struct cs_search *search, struct cs_mode mode,
                                  const struct cs_candidate *alone)
{
    int64_t most = AUTO_LANES * ((LANE_TILES * alone->tiles - 1) / LANE_TILES_OF);
    int64_t halo = alone->halo, bytes = 0;
    struct cs_shortlist *list = &search->list;
    int first = list->count;
    for (int i = 0; i < CS_OPERANDS; i++) {
        int64_t operand;
        if (cs_problem_tensor_bytes(&search->question->problem->tensor[i], &operand) != CS_OK ||
            !cs_add(bytes, operand, &bytes))
            return CS_OK;
    }
    mode.lanes = AUTO_LANES;
    search->purse.left = CS_LANE_ASKS;
    search->purse.kept = 0;
    enum cs_status status = cs_search_fewest(search, mode, alone->tiling.axis[0], most);
    for (int i = list->count - 1; i >= first; i--)
        if (list->candidate[i].halo - halo > bytes / LANE_HALO_PART ||
            list->candidate[i].tiling.lanes < 2)
            list->candidate[i] = list->candidate[--list->count];
    return status;
}

/* True if the user leaves the lanes to us and a cut along one axis was chosen. */
static bool may_gain(const struct cs_search *search, struct cs_mode mode,
                     const struct cs_candidate *best, int64_t tiles, const struct cs_limits *limits)
{
    return limits->lanes == 0 && tiles == 0 && !search->question->vendor->compiles &&
           mode.relaxation != CS_SIMILAR_ENGINE && best->tiling.axis[0] != CS_AXIS_NONE &&
           best->tiling.axis[1] == CS_AXIS_NONE;
}

/* Packed copies beside the fewest views, where those look wasteful. */
static enum cs_status look_at_staged(struct cs_search *search, const struct cs_limits *limits,
                                     struct cs_mode *mode)
{
    const struct cs_candidate *known = cs_shortlist_fewest(&search->list);
    if (!known || limits->staging != CS_STAGING_AUTO || !cs_staged_search_may_gain(search, known))
        return CS_OK;
    const struct cs_candidate views = *known;
    enum cs_status status = cs_staged_search_list(search, mode->relaxation, &views);
    mode->staged = cs_shortlist_fewest(&search->list)->tiling.staged;
    return status;
}

static enum cs_status look_at_lanes(struct cs_search *search, struct cs_mode mode, int64_t tiles,
                                    const struct cs_limits *limits)
{
    const struct cs_candidate *known = cs_shortlist_fewest(&search->list);
    if (!known || !may_gain(search, mode, known, tiles, limits))
        return CS_OK;
    const struct cs_candidate alone = *known;
    return list_beside(search, mode, &alone);
}

enum cs_status cs_further_list(struct cs_search *search, struct cs_mode mode, int64_t tiles,
                               const struct cs_limits *limits)
{
    enum cs_status status = look_at_staged(search, limits, &mode);
    if (status == CS_OK)
        status = look_at_lanes(search, mode, tiles, limits);
    return status;
}
