/* Finds the fewest phases of a dilated axis that come under the limit: one of the few numbers that
 * divide the dilation. */
#include "decide/phase_search.h"

#include "plan/phases.h"

enum {
    MOST_PROBES = 8 /* along one axis, for views and for packed copies each */
};

/* Times what a tile would need if workspaces were in proportion: whatever needs more than so many
 * limits by that is not worth an ask. */
static const double HOPELESS = 1.5;

static bool is_hopeless(const struct cs_search *search, int lanes, int64_t phases)
{
    double share = (double)search->question->required * (lanes > 1 ? lanes : 1) / (double)phases;
    return share > HOPELESS * (double)search->question->limit;
}

/* Whether a number of phases is taken depends on more than their size: engines take some views
 * where the phases are all as long, and refuse others. So all of them are tried, the fewest first.
 */
static enum cs_status list_fewest(struct cs_search *search, struct cs_mode mode, enum cs_axis axis,
                                  int64_t most, bool *found_p)
{
    int64_t dilation = cs_axis_extent(search->question->problem, axis);
    int probes = 0;
    most = most < CS_MAX_TILES ? most : CS_MAX_TILES;
    most = most < dilation ? most : dilation;
    *found_p = false;
    for (int64_t phases = 2; phases <= most && probes < MOST_PROBES && !*found_p; phases++) {
        const struct cs_tiling tiling = {.axis = {axis}, .step = {dilation / phases, 1}};
        enum cs_probed probed;
        int64_t bytes;
        if (dilation % phases != 0 || is_hopeless(search, mode.lanes, phases))
            continue;
        probes++;
        enum cs_status status = cs_search_probe(search, mode, &tiling, &probed, &bytes);
        if (status != CS_OK)
            return status;
        *found_p = probed == CS_FITS;
    }
    return CS_OK;
}

enum cs_status cs_phase_search_fewest(struct cs_search *search, struct cs_mode mode,
                                      enum cs_axis axis, int64_t most)
{
    const struct cs_problem *problem = search->question->problem;
    bool found = false, scattered = cs_phases_scattered(problem, axis);
    enum cs_status status = CS_OK;
    if (!mode.staged || !scattered)
        status = list_fewest(search, mode, axis, most, &found);
    if (status != CS_OK || found || mode.staged || scattered || !search->question->copies)
        return status;
    int listed = search->list.count;
    if (cs_axis_extent(problem, CS_AXIS_N) > 1)
        status = cs_product_of_images(search, mode, axis);
    if (status != CS_OK || search->list.count > listed)
        return status;
    mode.staged = true;
    return list_fewest(search, mode, axis, most, &found);
}
