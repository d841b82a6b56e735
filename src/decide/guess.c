/* Guesses workspace, time and bytes of tiles from a few answers of the vendor. */
#include "decide/guess.h"

#include "decide/cost.h"

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

double cs_guess_whole(const struct cs_guesser *guesser)
{
    return guesser->images + guesser->filter;
}

void cs_guess_start(struct cs_guesser *guesser, const struct cs_question *question)
{
    static const struct cs_profile typical = {.capability = 0};
    const struct cs_problem *problem = question->problem;
    guesser->question = question;
    guesser->profile = question->profile ? question->profile : &typical;
    guesser->images = images_of(problem);
    guesser->filter = bytes_of(&problem->tensor[CS_FILTER]);
    guesser->per_image = guesser->per_filter = (double)question->required / cs_guess_whole(guesser);
    guesser->scale = guesser->bias = 1;
    guesser->tile = *problem;
    const struct cs_cost_tiles untiled = {.count = 1, .workspace = (double)question->required};
    guesser->seconds =
        cs_cost_of_tiles(problem, &guesser->tile, &untiled, guesser->profile).seconds;
}

/* Slices of the filter along C are copied. */
static double staged_of(const struct cs_guesser *guesser, const struct cs_tiling *tiling)
{
    bool cut = tiling->axis[0] == CS_AXIS_C || tiling->axis[1] == CS_AXIS_C;
    return cut ? bytes_of(&guesser->tile.tensor[CS_FILTER]) : 0;
}

static double read_again(const struct cs_guesser *guesser, double tiles)
{
    const struct cs_problem *problem = guesser->question->problem;
    enum cs_operand result = cs_result(problem->direction);
    double again = 0;
    for (int i = CS_X; i <= CS_Y; i++)
        if (i != (int)result && i != CS_FILTER)
            again += larger(
                tiles * bytes_of(&guesser->tile.tensor[i]) - bytes_of(&problem->tensor[i]), 0);
    return again;
}

static int lanes_of(const struct cs_guesser *guesser, const struct cs_tiling *tiling)
{
    const struct cs_problem *problem = guesser->question->problem;
    bool sums = problem->direction == CS_BACKWARD_FILTER &&
                (tiling->axis[0] < CS_AXIS_K ||
                 (tiling->axis[1] != CS_AXIS_NONE && tiling->axis[1] < CS_AXIS_K));
    return tiling->lanes > 1 && !sums ? tiling->lanes : 1;
}

static double workspace_of(const struct cs_guesser *guesser, const struct cs_guess *guess)
{
    return guesser->scale *
           (guesser->per_image * guess->images + guesser->per_filter * guess->filter);
}

bool cs_guess_tiles(struct cs_guesser *guesser, const struct cs_tiling *tiling,
                    struct cs_guess *guess)
{
    const struct cs_problem *problem = guesser->question->problem;
    struct cs_cost_tiles tiles = {.lanes = lanes_of(guesser, tiling),
                                  .relaxation = tiling->relaxation};
    if (cs_typical_tile(problem, tiling, &guesser->tile, &tiles.count) != CS_OK)
        return false;
    *guess = (struct cs_guess){.tiling = *tiling,
                               .tiles = tiles.count,
                               .images = images_of(&guesser->tile),
                               .filter = bytes_of(&guesser->tile.tensor[CS_FILTER])};
    tiles.workspace = workspace_of(guesser, guess) + staged_of(guesser, tiling);
    guess->workspace = tiles.workspace * tiles.lanes;
    guess->read_again = read_again(guesser, (double)tiles.count);
    guess->seconds =
        guesser->bias * cs_cost_of_tiles(problem, &guesser->tile, &tiles, guesser->profile).seconds;
    guess->price =
        larger(guess->seconds / guesser->seconds, 1 + guess->read_again / cs_guess_whole(guesser));
    return true;
}

void cs_guess_learn_tile(struct cs_guesser *guesser, const struct cs_guess *guess, double bytes)
{
    double required = (double)guesser->question->required;
    if (guess->images < guesser->images && !(guess->filter < guesser->filter)) {
        guesser->scale = 1;
        guesser->per_image = larger((required - bytes) / (guesser->images - guess->images), 0);
        guesser->per_filter = (bytes - guesser->per_image * guess->images) / guesser->filter;
        if (guesser->per_filter < 0) {
            guesser->per_filter = 0;
            guesser->per_image = bytes / guess->images;
        }
        return;
    }
    double guessed = workspace_of(guesser, guess);
    if (guessed > 0)
        guesser->scale *= bytes / guessed;
}

void cs_guess_learn(struct cs_guesser *guesser, const struct cs_candidate *candidate)
{
    struct cs_guess guess;
    int lanes = lanes_of(guesser, &candidate->tiling);
    if (!cs_guess_tiles(guesser, &candidate->tiling, &guess))
        return;
    double staged = staged_of(guesser, &candidate->tiling);
    cs_guess_learn_tile(guesser, &guess, (double)candidate->workspace / lanes - staged);
    guesser->bias = 1;
    if (candidate->seconds > 0 && cs_guess_tiles(guesser, &candidate->tiling, &guess))
        guesser->bias = candidate->seconds / guess.seconds;
}
