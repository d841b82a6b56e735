/* Guesses workspace, time and bytes of tiles from a few answers of the vendor. */
#include "decide/guess.h"

#include "base/checked.h"
#include "decide/cost.h"
#include "plan/axis.h"

/* The most bytes of workspace that a byte of the filter is assumed to need: it is converted, to
 * wider numbers or by Winograd's transforms. The rest does not depend on the filter. */
static const double MOST_PER_FILTER = 4;

/* From this multiple of the untiled time, the time that tiles add is large enough to learn from. */
static const double HARDLY_LONGER = 1.005;

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
    const double part = (double)question->required / (guesser->images + guesser->filter);
    for (int kind = 0; kind < CS_GUESS_KINDS; kind++)
        guesser->model[kind] = (struct cs_guess_model){.per_image = part,
                                                       .per_filter = part,
                                                       .workspace_factor = 1,
                                                       .added_time_factor = 1,
                                                       .time_factor = 1};
    guesser->tile = *problem;
    guesser->seconds = cs_cost_untiled(problem, question->required, guesser->profile).decided;
}

/* Bytes of one tile's packed copies: of the filter if C is cut, and of x and y if the tiling is
 * staged. */
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

/* The kind of a tiling's tiles (CS_GUESS_...), which selects its model. */
static int kind_of(const struct cs_tiling *tiling)
{
    if (tiling->axis[1] != CS_AXIS_NONE)
        return CS_GUESS_PARTS;
    switch (tiling->axis[0]) {
    case CS_AXIS_N:
        return CS_GUESS_IMAGES;
    case CS_AXIS_K:
    case CS_AXIS_C:
        return CS_GUESS_CHANNELS;
    default:
        return CS_GUESS_PARTS;
    }
}

static const struct cs_guess_model *model_of(const struct cs_guesser *guesser,
                                             const struct cs_tiling *tiling)
{
    return &guesser->model[kind_of(tiling)];
}

static double workspace_of(const struct cs_guess_model *model, const struct cs_guess *guess)
{
    return model->workspace_factor *
           (model->per_image * guess->images + model->per_filter * guess->filter + model->fixed);
}

/* Corrects predicted seconds: the time that tiles add to the untiled call by one factor, then all
 * of it by another. */
static double corrected_seconds(const struct cs_guesser *guesser,
                                const struct cs_guess_model *model, double seconds)
{
    double added = seconds - guesser->seconds;
    double correction = added > 0 ? added * (model->added_time_factor - 1) : 0;
    return model->time_factor * (seconds + correction);
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

/* True if the tiling has phases of unequal length. */
static bool is_uneven(const struct cs_problem *problem, const struct cs_tiling *tiling)
{
    for (int c = 0; c < CS_MAX_CUTS; c++) {
        enum cs_axis axis = tiling->axis[c];
        if (cs_phases_of(axis) == CS_AXIS_NONE)
            continue;
        int64_t spacing =
            cs_axis_extent(problem, axis) / cs_phases_step(problem, axis, tiling->step[c]);
        if (spacing > 1 && (problem->tensor[CS_X].dims[cs_axis_dim(axis, CS_X)] % spacing != 0 ||
                            problem->tensor[CS_Y].dims[cs_axis_dim(axis, CS_Y)] % spacing != 0))
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
    guess->each = workspace_of(model_of(guesser, tiling), guess) + guess->staged;
    guess->workspace = guess->each * lanes_of(guesser, tiling);
    guess->halo = cs_larger(parts_of(problem, tiling) * guess->images - guesser->images, 0);
    guess->copied = (double)count * guess->staged;
    return true;
}

/* Converts bytes to an integer, at most 2^62. */
static int64_t bytes_at(double bytes)
{
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_C(1) << 62;
}

struct cs_candidate cs_guess_candidate(const struct cs_guesser *guesser,
                                       const struct cs_guess *guess, double seconds)
{
    return (struct cs_candidate){
        .tiling = guess->tiling,
        .tiles = guess->tiles,
        .workspace = bytes_at(guess->workspace),
        .halo = bytes_at(guess->halo),
        .copied = bytes_at(guess->copied),
        .required = guesser->question->required,
        .seconds = seconds,
    };
}

void cs_guess_seconds(const struct cs_guesser *guesser, struct cs_guess *guess)
{
    const struct cs_problem *problem = guesser->question->problem;
    const struct cs_cost_tiles tiles = {.count = parts_of(problem, &guess->tiling),
                                        .launched = (double)guess->tiles,
                                        .workspace = guess->each,
                                        .staged = guess->staged,
                                        .required = (double)guesser->question->required,
                                        .lanes = lanes_of(guesser, &guess->tiling),
                                        .relaxation = guess->tiling.relaxation};
    guess->seconds = corrected_seconds(
        guesser, model_of(guesser, &guess->tiling),
        cs_cost_of_tiles(problem, &guesser->tile, &tiles, guesser->profile).decided);
}

bool cs_guess_tiles(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                    struct cs_guess *guess)
{
    if (!cs_guess_size(guesser, tiling, guess))
        return false;
    cs_guess_seconds(guesser, guess);
    return true;
}

/* Fits a line to the workspace over the bytes of images or of the filter: `required` for all
 * `untiled` of them, and `bytes` for the `tile` bytes of one tile. Returns the slope. *rest_p is
 * the part of the workspace that does not depend on them. */
static double slope_of(double required, double bytes, double untiled, double tile, double *rest_p)
{
    double slope = cs_larger((required - bytes) / (untiled - tile), 0);
    if (slope * tile > bytes)
        slope = bytes / tile;
    *rest_p = bytes - slope * tile;
    return slope;
}

/* Corrects the model by the `bytes` of workspace that the vendor reported for a tile. Tiles of
 * fewer channels set the part that grows with the filter, tiles of smaller images the part that
 * grows with images. All others only scale the model. */
static void learn_workspace(const struct cs_guesser *guesser, const struct cs_guess *guess,
                            double bytes, struct cs_guess_model *model)
{
    double required = (double)guesser->question->required, rest;
    bool channels = kind_of(&guess->tiling) == CS_GUESS_CHANNELS;
    bool less_filter = guess->filter < guesser->filter;
    bool smaller_images = guess->images < guesser->images;
    if (channels && less_filter) {
        model->workspace_factor = 1;
        model->per_image = 0;
        model->per_filter =
            slope_of(required, bytes, guesser->filter, guess->filter, &model->fixed);
    } else if (!smaller_images || less_filter) {
        double guessed = workspace_of(model, guess);
        model->workspace_factor *= guessed > 0 ? bytes / guessed : 1;
    } else {
        model->workspace_factor = 1;
        model->per_image = slope_of(required, bytes, guesser->images, guess->images, &rest);
        model->per_filter = rest / guesser->filter;
        if (model->per_filter > MOST_PER_FILTER)
            model->per_filter = MOST_PER_FILTER;
        model->fixed = rest - model->per_filter * guesser->filter;
    }
}

/* Corrects the model's time factors by the `answered` seconds of a confirmed tiling. `guessed`: its
 * seconds by the model without time factors. */
static void learn_seconds(const struct cs_guesser *guesser, double guessed, double answered,
                          struct cs_guess_model *model)
{
    if (guessed > HARDLY_LONGER * guesser->seconds && answered > guesser->seconds)
        model->added_time_factor = (answered - guesser->seconds) / (guessed - guesser->seconds);
    else
        model->time_factor = answered / guessed;
}

void cs_guess_learn_tile(struct cs_guesser *guesser, const struct cs_guess *guess, double bytes)
{
    learn_workspace(guesser, guess, cs_larger(bytes - guess->staged, 0),
                    &guesser->model[kind_of(&guess->tiling)]);
}

void cs_guess_learn(struct cs_guesser *guesser, const struct cs_candidate *candidate)
{
    const struct cs_tiling *tiling = &candidate->tiling;
    struct cs_guess_model *model = &guesser->model[kind_of(tiling)];
    struct cs_guess guess;
    if (!cs_guess_tiles(guesser, tiling, &guess))
        return;
    cs_guess_learn_tile(guesser, &guess, (double)candidate->workspace / lanes_of(guesser, tiling));
    model->added_time_factor = 1;
    model->time_factor = 1;
    if (candidate->seconds > 0 && cs_guess_tiles(guesser, tiling, &guess))
        learn_seconds(guesser, guess.seconds, candidate->seconds, model);
}
