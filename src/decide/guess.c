/* Guesses workspace, time and bytes of tiles from a few answers of the vendor. */
#include "decide/guess.h"

#include "base/checked.h"
#include "decide/cost.h"
#include "plan/axis.h"
#include "plan/phases.h"

/* The most bytes of workspace that a byte of the filter is assumed to need: it is converted, to
 * wider numbers or by Winograd's transforms. The rest does not depend on the filter. */
static const double MOST_PER_FILTER = 4;

/* A guess's excess is informative from this multiple of the untiled time. */
static const double HARDLY_LONGER = 1.005;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double bytes_of(const struct cs_tensor *tensor)
{
    int64_t bytes;
    return cs_problem_tensor_bytes(tensor, &bytes) == CS_OK ? (double)bytes : 1e19;
}

static double images_of(const struct cs_problem *problem)
{
    return bytes_of(&problem->tensor[CS_X]) + bytes_of(&problem->tensor[CS_Y]);
}

void cs_guess_start(struct cs_guesser *guesser, const struct cs_question *question)
{
    const struct cs_problem *problem = question->problem;
    guesser->question = question;
    guesser->profile = question->profile;
    guesser->images = images_of(problem);
    guesser->filter = bytes_of(&problem->tensor[CS_FILTER]);
    guesser->per_image = guesser->per_filter =
        (double)question->required / (guesser->images + guesser->filter);
    guesser->scale = guesser->excess = 1;
    guesser->fixed = guesser->late = 0;
    guesser->tile = *problem;
    const struct cs_cost_tiles untiled = {
        .count = 1, .launched = 1, .workspace = (double)question->required};
    guesser->seconds = cs_cost_of_tiles(problem, &guesser->tile, &untiled, guesser->profile).most;
}

/* Slices of the filter along C are copied, and images if the tiling is staged. */
static double staged_of(const struct cs_guesser *guesser, const struct cs_tiling *tiling)
{
    bool cut = tiling->axis[0] == CS_AXIS_C || tiling->axis[1] == CS_AXIS_C;
    return (cut ? bytes_of(&guesser->tile.tensor[CS_FILTER]) : 0) +
           (tiling->staged ? images_of(&guesser->tile) : 0);
}

/* The rounded step of a cut. 0: the tiling has no such cut. */
static int64_t step_of(const struct cs_problem *problem, const struct cs_tiling *tiling, int cut)
{
    enum cs_axis axis = tiling->axis[cut];
    int64_t unit = cs_axis_unit(problem, axis);
    if (cs_phases_of(axis) != CS_AXIS_NONE)
        return cs_phases_step(problem, axis, tiling->step[cut]);
    return axis == CS_AXIS_NONE ? 0 : cs_ceil_div(tiling->step[cut], unit) * unit;
}

static int lanes_of(const struct cs_guesser *guesser, const struct cs_tiling *tiling)
{
    const struct cs_problem *problem = guesser->question->problem;
    bool sums = cs_axis_accumulates(problem, tiling->axis[0]) ||
                cs_axis_accumulates(problem, tiling->axis[1]);
    return tiling->lanes > 1 && !sums ? tiling->lanes : 1;
}

static double workspace_of(const struct cs_guesser *guesser, const struct cs_guess *guess)
{
    return guesser->scale * (guesser->per_image * guess->images +
                             guesser->per_filter * guess->filter + guesser->fixed);
}

/* The time that tiles add to the untiled call is corrected by one factor. */
static double corrected(const struct cs_guesser *guesser, double seconds)
{
    double beyond = seconds - guesser->seconds;
    return seconds + (beyond > 0 ? beyond * (guesser->excess - 1) : 0) + guesser->late;
}

/* The number of tiles. An incomplete one at the end of an axis counts as a fraction. */
static double parts_of(const struct cs_problem *problem, const struct cs_tiling *tiling)
{
    double parts = 1;
    for (int c = 0; c < CS_MAX_CUTS && tiling->axis[c] != CS_AXIS_NONE; c++)
        parts *=
            (double)cs_axis_extent(problem, tiling->axis[c]) / (double)step_of(problem, tiling, c);
    return parts;
}

static bool is_uneven(const struct cs_problem *problem, const struct cs_tiling *tiling)
{
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        enum cs_axis axis = tiling->axis[c];
        if (cs_phases_of(axis) == CS_AXIS_NONE)
            continue;
        int64_t every =
            cs_axis_extent(problem, axis) / cs_phases_step(problem, axis, tiling->step[c]);
        if (every > 1 && (problem->tensor[CS_X].dims[cs_axis_dim(axis, CS_X)] % every != 0 ||
                          problem->tensor[CS_Y].dims[cs_axis_dim(axis, CS_Y)] % every != 0))
            return true;
    }
    return false;
}

bool cs_guess_size(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                   struct cs_guess *guess)
{
    const struct cs_problem *problem = guesser->question->problem;
    int64_t count;
    if (cs_typical_tile(problem, tiling, &guesser->tile, &count) != CS_OK)
        return false;
    *guess = (struct cs_guess){.tiling = *tiling,
                               .tiles = count,
                               .uneven = is_uneven(problem, tiling),
                               .images = images_of(&guesser->tile),
                               .filter = bytes_of(&guesser->tile.tensor[CS_FILTER]),
                               .staged = staged_of(guesser, tiling)};
    guess->each = workspace_of(guesser, guess) + guess->staged;
    guess->workspace = guess->each * lanes_of(guesser, tiling);
    return true;
}

void cs_guess_seconds(const struct cs_guesser *guesser, struct cs_guess *guess)
{
    const struct cs_problem *problem = guesser->question->problem;
    const struct cs_cost_tiles tiles = {.count = parts_of(problem, &guess->tiling),
                                        .launched = (double)guess->tiles,
                                        .workspace = guess->each,
                                        .lanes = lanes_of(guesser, &guess->tiling),
                                        .relaxation = guess->tiling.relaxation};
    guess->seconds = corrected(
        guesser, cs_cost_of_tiles(problem, &guesser->tile, &tiles, guesser->profile).most);
}

bool cs_guess_tiles(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                    struct cs_guess *guess)
{
    if (!cs_guess_size(guesser, tiling, guess))
        return false;
    cs_guess_seconds(guesser, guess);
    return true;
}

void cs_guess_learn_tile(struct cs_guesser *guesser, const struct cs_guess *guess, double bytes)
{
    double required = (double)guesser->question->required, rest;
    bytes = larger(bytes - guess->staged, 0);
    if (!(guess->images < guesser->images) || guess->filter < guesser->filter) {
        double guessed = workspace_of(guesser, guess);
        guesser->scale *= guessed > 0 ? bytes / guessed : 1;
        return;
    }
    guesser->scale = 1;
    guesser->per_image = larger((required - bytes) / (guesser->images - guess->images), 0);
    rest = bytes - guesser->per_image * guess->images;
    if (rest < 0) {
        guesser->per_image = bytes / guess->images;
        rest = 0;
    }
    guesser->per_filter = rest / guesser->filter;
    if (guesser->per_filter > MOST_PER_FILTER)
        guesser->per_filter = MOST_PER_FILTER;
    guesser->fixed = rest - guesser->per_filter * guesser->filter;
}

void cs_guess_learn(struct cs_guesser *guesser, const struct cs_candidate *candidate)
{
    struct cs_guess guess;
    int lanes = lanes_of(guesser, &candidate->tiling);
    if (!cs_guess_tiles(guesser, &candidate->tiling, &guess))
        return;
    cs_guess_learn_tile(guesser, &guess, (double)candidate->workspace / lanes);
    guesser->excess = 1;
    guesser->late = 0;
    if (!(candidate->seconds > 0) || !cs_guess_tiles(guesser, &candidate->tiling, &guess))
        return;
    if (guess.seconds > HARDLY_LONGER * guesser->seconds && candidate->seconds > guesser->seconds)
        guesser->excess =
            (candidate->seconds - guesser->seconds) / (guess.seconds - guesser->seconds);
    else
        guesser->late = candidate->seconds - guess.seconds;
}
