/* Guesses tilings of least cost, queries the vendor about them, and learns from the answers. */
#include "decide/price.h"

#include "base/checked.h"

enum {
    MOST_TURNS = 5,    /* guesses of one mode that are queried */
    MOST_COARSER = 48, /* cuts that are tried until one is legal */
    COARSER = 12       /* each is coarser by this part: 48 steps reach 40 times the first */
};

/* As a multiple of the guessed cost: an answer that costs at most this confirms the guess. */
static const double HELD = 1.01;

/* The finest tiles of a dilated axis may have more shapes than a plan holds, which a guess does not
 * detect. Then coarser ones along the inner cut are tried until they are legal. */
static void make_legal(struct cs_search *search, struct cs_guesser *guesser, struct cs_guess *guess)
{
    struct cs_guess coarser = *guess;
    int64_t *step = &coarser.tiling.step[coarser.tiling.axis[1] != CS_AXIS_NONE];
    for (int turn = 0; turn < MOST_COARSER; turn++) {
        if (cs_plan_cut(search->question->problem, &coarser.tiling, &search->plan) == CS_OK) {
            *guess = coarser;
            return;
        }
        *step += cs_ceil_div(*step, COARSER);
        const struct cs_tiling tiling = coarser.tiling;
        if (!cs_guess_tiles(guesser, &tiling, &coarser))
            return;
    }
}

/* Queries the vendor about a guess and learns from the answer. A tiling that fits becomes the last
 * listed one. */
static enum cs_status confirm(struct cs_search *search, struct cs_guesser *guesser,
                              struct cs_guess *guess, enum cs_probed *probed_p)
{
    make_legal(search, guesser, guess);
    const struct cs_mode mode = {.relaxation = guess->tiling.relaxation,
                                 .lanes = guess->tiling.lanes,
                                 .staged = guess->tiling.staged};
    int lanes = mode.lanes > 1 ? mode.lanes : 1;
    int64_t bytes = 0;
    enum cs_status status = cs_search_probe(search, mode, &guess->tiling, probed_p, &bytes);
    if (status != CS_OK)
        return status;
    if (*probed_p == CS_FITS)
        cs_guess_learn(guesser, &search->list.candidate[search->list.count - 1]);
    else if (*probed_p == CS_OVER)
        cs_guess_learn_tile(guesser, guess, (double)bytes / lanes);
    return CS_OK;
}

/* The guesses of one search. */
struct turns {
    struct cs_search *search;
    const struct cs_goal *goal;
    struct cs_guesser guesser;
    struct cs_forms forms;
    double least; /* cost of the best known choice: the untiled call or a listed tiling */
    int asked;
    struct cs_tiling tiling[MOST_TURNS]; /* queried already */
    bool refused, listed;
};

static struct turns turns_of(struct cs_search *search, const struct cs_goal *goal,
                             struct cs_mode mode)
{
    struct turns turns = {.search = search,
                          .goal = goal,
                          .forms = {.lanes = search->question->vendor->compiles ? 1 : mode.lanes,
                                    .staged = mode.staged,
                                    .relaxation = mode.relaxation}};
    cs_guess_start(&turns.guesser, search->question);
    turns.least =
        cs_goal_cost(goal, (double)search->list.candidate[0].workspace, turns.guesser.seconds);
    return turns;
}

static bool is_new(struct turns *turns, const struct cs_tiling *tiling)
{
    for (int i = 0; i < turns->asked; i++)
        if (cs_cut_tiling_equal(&turns->tiling[i], tiling))
            return false;
    turns->tiling[turns->asked++] = *tiling;
    return true;
}

/* The cost of a listed tiling. */
static double cost_at(const struct turns *turns, int index)
{
    const struct cs_candidate *listed = &turns->search->list.candidate[index];
    return cs_goal_cost(turns->goal, (double)listed->workspace, listed->seconds);
}

/* Queries the vendor about the best guess. False if no further guess is worth a query. */
static bool take_turn(struct turns *turns, enum cs_status *status_p)
{
    struct cs_guess guess;
    enum cs_probed probed;
    int form = 0;
    double cost = cs_forms_best(&turns->guesser, turns->goal, &turns->forms, &guess, &form);
    if (!(cost < turns->least) || !is_new(turns, &guess.tiling))
        return false;
    *status_p = confirm(turns->search, &turns->guesser, &guess, &probed);
    if (*status_p != CS_OK)
        return false;
    turns->refused |= probed != CS_FITS;
    turns->search->refused |= probed == CS_HOLE;
    if (probed == CS_HOLE)
        turns->forms.skipped |= cs_forms_without(form, &guess);
    if (probed != CS_FITS)
        return true;
    double true_cost = cost_at(turns, turns->search->list.count - 1);
    turns->listed = true;
    if (true_cost < turns->least)
        turns->least = true_cost;
    return true_cost > HELD * cost;
}

/* True if a tiling fits the limit, regardless of its time. */
static bool has_guess(struct turns *turns)
{
    struct cs_goal goal = *turns->goal;
    struct cs_guess guess;
    int form;
    goal.slowest = __builtin_inf();
    return cs_forms_best(&turns->guesser, &goal, &turns->forms, &guess, &form) < __builtin_inf();
}

enum cs_status cs_price_search(struct cs_search *search, const struct cs_goal *goal,
                               struct cs_mode mode, enum cs_priced *priced_p)
{
    struct turns turns = turns_of(search, goal, mode);
    enum cs_status status = CS_OK;
    for (int i = 1; i < search->list.count; i++) {
        const double cost = cost_at(&turns, i);
        turns.least = cost < turns.least ? cost : turns.least;
    }
    while (turns.asked < MOST_TURNS && search->purse.left > 0 && take_turn(&turns, &status))
        continue;
    *priced_p = turns.listed                          ? CS_PRICED
                : turns.refused || !has_guess(&turns) ? CS_UNPRICED
                                                      : CS_DEAR;
    return status;
}

enum cs_status cs_price_each(struct cs_search *search, const struct cs_goal *goal,
                             struct cs_mode mode)
{
    enum cs_status status = CS_OK;
    for (int form = 0; form < CS_SINGLE_FORMS && status == CS_OK; form++) {
        struct turns turns = turns_of(search, goal, mode);
        turns.forms.skipped = ~(1u << form);
        while (turns.asked < 2 && search->purse.left > 0 && take_turn(&turns, &status))
            continue;
    }
    return status;
}
