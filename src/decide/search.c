/* Guesses tilings of least cost, queries the vendor about them, and learns from the answers. */
#include "decide/search.h"

#include "base/checked.h"
#include "decide/forms.h"
#include "plan/axis.h"

enum {
    MOST_GUESSES = 5, /* guesses that are queried in one mode */
    MOST_LEARNED = 3, /* further ones for each axis that was queried to learn from it */
    MOST_TURNS = MOST_GUESSES + MOST_LEARNED * CS_SINGLE_FORMS,
    MOST_COARSER = 48, /* cuts that are tried until one is legal */
    COARSER = 12       /* each is coarser by this part: 48 steps reach 40 times the first */
};

/* An answer confirms a guess if the larger of both costs is at most this times the smaller one.
 * Otherwise the guesses of other tilings may be as wrong. */
static const double SIMILAR = 1.01;

static void begin_mode(struct cs_search *search, int64_t queries)
{
    search->budget.left = queries;
    search->equal_padding = false;
    search->unequal = 0;
}

/* Makes a guess legal: tries coarser tiles along the inner cut until a plan holds their shapes. The
 * finest tiles of a dilated axis may have too many shapes, which a guess does not detect. Without a
 * legal cut, the guess stays as it is. */
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

/* The progress of the search in one mode: the tilings that were queried, and how many may be. */
struct turns {
    struct cs_search *search;
    struct cs_guesser guesser;
    struct cs_forms forms;
    int queried; /* tilings that were queried */
    int most;    /* most tilings to query; grows with each axis to learn from */
    struct cs_tiling tiling[MOST_TURNS]; /* queried already */
    unsigned seen;                       /* one bit for each form of one axis that was queried */
    bool contradicted;                   /* some answer was not as guessed */
    bool vetoed;                         /* the last best guess had no finite cost */
};

static bool is_new(const struct turns *turns, const struct cs_tiling *tiling)
{
    for (int i = 0; i < turns->queried; i++)
        if (cs_cut_tiling_equal(&turns->tiling[i], tiling))
            return false;
    return true;
}

/* Queries the vendor about a guess, and learns from the answer. *cost_p is the cost of the tiling,
 * infinite if it was not confirmed. */
static enum cs_status confirm_guess(struct turns *turns, int form, struct cs_guess *guess,
                                    double *cost_p)
{
    struct cs_search *search = turns->search;
    struct cs_candidate answer;
    enum cs_probed probed;
    turns->tiling[turns->queried++] = guess->tiling;
    turns->seen |= form < CS_SINGLE_FORMS ? 1u << form : 0;
    make_legal(search, &turns->guesser, guess);
    const struct cs_mode mode = {.relaxation = guess->tiling.relaxation,
                                 .lanes = guess->tiling.lanes,
                                 .staged = guess->tiling.staged};
    enum cs_status status = cs_probe(search, mode, &guess->tiling, &probed, &answer);
    *cost_p = __builtin_inf();
    if (status != CS_OK)
        return status;
    turns->contradicted |= probed != CS_FITS;
    if (probed == CS_FITS) {
        *cost_p = cs_question_cost(search->question, &answer);
        turns->contradicted |= !(*cost_p < __builtin_inf());
        cs_guess_learn(&turns->guesser, &answer);
    } else if (probed == CS_OVER) {
        cs_guess_learn_tile(&turns->guesser, guess,
                            (double)answer.workspace / (mode.lanes > 1 ? mode.lanes : 1));
    } else {
        search->refused = true;
        turns->forms.skipped |= cs_forms_without(form, guess);
    }
    return CS_OK;
}

/* The cost of a policy that takes the smallest workspace. */
static double workspace_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    (void)limits;
    return (double)candidate->workspace;
}

static const struct cs_policy smallest_policy = {.cost = workspace_cost};

/* The best guess for another question about the same call. Returns its cost. */
static double best_of(struct turns *turns, const struct cs_question *question,
                      struct cs_guess *guess, int *form)
{
    turns->guesser.question = question;
    double cost = cs_forms_best(&turns->guesser, &turns->forms, guess, form);
    turns->guesser.question = turns->search->question;
    return cost;
}

/* True if a guess is within all limits except that of time. */
static bool fits_at_any_time(struct turns *turns, const struct cs_policy *policy)
{
    struct cs_question question = *turns->search->question;
    struct cs_guess guess;
    int form;
    question.policy = policy;
    question.slowest = __builtin_inf();
    return best_of(turns, &question, &guess, &form) < __builtin_inf();
}

/* Queries the vendor about the tiling whose guessed workspace is smallest, after answers that were
 * larger than guessed. A workspace that does not grow with tiles as guessed may be small enough
 * there. False if it was queried before, or if the limit is not below the untiled workspace. */
static bool query_smallest(struct turns *turns, enum cs_status *status_p)
{
    struct cs_question question = *turns->search->question;
    struct cs_guess guess;
    int form;
    double answered;
    question.policy = &smallest_policy;
    question.limit = INT64_MAX;
    if (turns->search->question->limit >= question.required || turns->queried >= MOST_TURNS ||
        !(best_of(turns, &question, &guess, &form) < __builtin_inf()) ||
        !is_new(turns, &guess.tiling))
        return false;
    turns->most = turns->queried + 1 + MOST_LEARNED;
    *status_p = confirm_guess(turns, form, &guess, &answered);
    return *status_p == CS_OK;
}

/* Queries the vendor about the best guess, if it is new and cheaper than the best answer. False if
 * no further guess is worth a query. */
static bool query_best_guess(struct turns *turns, enum cs_status *status_p)
{
    struct cs_search *search = turns->search;
    struct cs_guess guess;
    int form = 0;
    double answered, cost = cs_forms_best(&turns->guesser, &turns->forms, &guess, &form);
    turns->vetoed = !(cost < __builtin_inf());
    search->slow = !turns->vetoed && guess.seconds > turns->guesser.seconds;
    const int most = turns->most < MOST_TURNS ? turns->most : MOST_TURNS;
    if (turns->queried >= most || !(cost < search->least) || !is_new(turns, &guess.tiling))
        return false;
    *status_p = confirm_guess(turns, form, &guess, &answered);
    bool confirmed = answered <= SIMILAR * cost && cost <= SIMILAR * answered;
    return *status_p == CS_OK && !confirmed;
}

/* Guesses the tiling along one axis whose tiles need the free bytes if workspaces are proportional
 * to tiles. False if it is not possible, or was queried already. */
static bool guess_proportional(struct turns *turns, int form, struct cs_guess *guess)
{
    const struct cs_question *question = turns->search->question;
    enum cs_axis axis = cs_forms_axis(form);
    int64_t unit = cs_axis_unit(question->problem, axis);
    int64_t units = cs_ceil_div(cs_axis_extent(question->problem, axis), unit);
    int64_t most = units < CS_MAX_TILES ? units : CS_MAX_TILES;
    int64_t free = question->limits->free > 0 ? question->limits->free : 1;
    int64_t count = cs_ceil_div(question->required, free);
    if (units < 2 || cs_phases_of(axis) != CS_AXIS_NONE)
        return false;
    count = count < 2 ? 2 : count;
    count = count < most ? count : most;
    struct cs_tiling tiling = {.axis = {axis},
                               .step = {cs_ceil_div(units, count) * unit, 1},
                               .lanes = 1,
                               .relaxation = turns->forms.relaxation,
                               .staged = turns->forms.staged};
    return cs_guess_tiles(&turns->guesser, &tiling, guess) && is_new(turns, &guess->tiling);
}

/* Queries the vendor about an axis from which no answer is known, so that guesses learn it. If no
 * axis is left, it allows phases whose elements are scattered. False if these are exhausted. */
static bool learn_axis(struct turns *turns, enum cs_status *status_p)
{
    double cost;
    struct cs_guess guess;
    for (int form = 0; form < CS_SINGLE_FORMS && turns->queried < MOST_TURNS; form++) {
        if ((turns->seen | turns->forms.skipped) >> form & 1 ||
            !guess_proportional(turns, form, &guess))
            continue;
        turns->most += MOST_LEARNED;
        *status_p = confirm_guess(turns, form, &guess, &cost);
        return *status_p == CS_OK;
    }
    bool more = !turns->forms.scattered;
    turns->forms.scattered = true;
    return more;
}

/* True if the vendor's answers leave no tiling, although another axis may have one. Sets
 * search->possible. */
static bool should_learn(struct turns *turns)
{
    struct cs_search *search = turns->search;
    if (search->found || search->question->vendor->compiles)
        return false;
    search->possible = !turns->contradicted && fits_at_any_time(turns, &smallest_policy);
    return !search->possible;
}

enum cs_status cs_search_guesses(struct cs_search *search, struct cs_mode mode, int64_t queries)
{
    const bool compiles = search->question->vendor->compiles;
    struct turns turns = {.search = search,
                          .forms = {.lanes = compiles ? 1 : mode.lanes,
                                    .staged = mode.staged,
                                    .relaxation = mode.relaxation},
                          .most = MOST_GUESSES};
    enum cs_status status = CS_OK;
    begin_mode(search, queries);
    cs_guess_start(&turns.guesser, search->question);
    do {
        while (search->budget.left > 0 && query_best_guess(&turns, &status))
            continue;
    } while (status == CS_OK && search->budget.left > 0 && should_learn(&turns) &&
             (query_smallest(&turns, &status) || learn_axis(&turns, &status)));
    if (turns.vetoed)
        search->slow = fits_at_any_time(&turns, search->question->policy);
    return status;
}

/* --- a fixed number of tiles, and none --- */

/* Queries the vendor about `tiles` tiles along an axis, or as many as the axis allows. */
static enum cs_status confirm_count(struct cs_search *search, struct cs_mode mode,
                                    enum cs_axis axis, int64_t tiles)
{
    int64_t extent = cs_axis_extent(search->question->problem, axis);
    struct cs_candidate answer;
    enum cs_probed probed;
    tiles = tiles < CS_MAX_TILES ? tiles : CS_MAX_TILES;
    tiles = tiles < extent ? tiles : extent;
    const struct cs_tiling tiling = {.axis = {axis},
                                     .step = {tiles > 1 ? cs_ceil_div(extent, tiles) : 1, 1}};
    return tiles > 1 ? cs_probe(search, mode, &tiling, &probed, &answer) : CS_OK;
}

/* Examines single axes in stages, each one only if no earlier stage fits. */
enum cs_status cs_search_count(struct cs_search *search, struct cs_mode mode, int64_t tiles,
                               int64_t queries)
{
    static const struct {
        int first, end; /* forms */
    } stages[] = {
        {0, 5},
        {5, 7},               /* along W: the least contiguous slices */
        {7, CS_SINGLE_FORMS}, /* along K and C: x or y is read again as a whole */
        {0, CS_SINGLE_FORMS}, /* scattered phases: the gaps between their elements are moved too */
    };
    const size_t count = sizeof stages / sizeof *stages;
    begin_mode(search, queries);
    for (size_t stage = 0; stage < count && !search->found; stage++) {
        for (int form = stages[stage].first; form < stages[stage].end; form++) {
            enum cs_axis axis = cs_forms_axis(form);
            bool scattered = cs_phases_of(axis) != CS_AXIS_NONE &&
                             cs_phases_scattered(search->question->problem, axis);
            if (scattered != (stage == count - 1))
                continue;
            enum cs_status status = confirm_count(search, mode, axis, tiles);
            if (status != CS_OK)
                return status;
        }
    }
    return CS_OK;
}

enum cs_status cs_search_similar(struct cs_search *search, int64_t queries)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    const struct cs_mode mode = {.relaxation = CS_SIMILAR_ENGINE, .lanes = 1};
    struct cs_candidate answer;
    enum cs_probed probed;
    begin_mode(search, queries);
    return cs_probe(search, mode, &untiled, &probed, &answer);
}
