/* Finds the tilings that cost no more than they may, by guesses that the vendor confirms. */
#include "decide/price.h"

#include "base/checked.h"
#include "decide/forms.h"

enum {
    MOST_TURNS = 5,    /* guesses that are asked about */
    AUTO_LANES = 2,    /* where the user leaves it to us */
    MOST_COARSER = 48, /* cuts that are tried until one is legal */
    COARSER = 12,      /* each by this part coarser: 48 steps reach 40 times the first */
    HARDLY = 16        /* this part more than the least scratch is as good */
};

/* Of the operands, that tiles of one axis may read again before they are compared with others. */
static const double MUCH = 0.05;
/* Of the price of what is listed: a guess that gains less is not asked about. */
static const double CHEAPER = 0.97;

/* Of the least scratch that is known: a guess of more is not asked about. */
static const double WORTHWHILE = 0.98;

/* As many times the untiled time may be spent to save scratch of the operands' size: 1.5 % of the
 * time for 1 % of the operands. Of larger ones, which make a program's peak, not for a part of them
 * but for as many bytes. Choices: see docs/results/prices.md. */
static const double WORTH_TIME = 1.5;
static const double LARGE = 256 << 20;

/* Of what limits->aim asks for: less by so much, so that it is reached though counts of tiles are
 * whole and guesses a little off. */
static const double AIM = 5.0 / 6;

static double read_part(const struct cs_search *search, const struct cs_candidate *candidate)
{
    return (double)candidate->halo / cs_search_size(search->question->problem);
}

double cs_price_of(const struct cs_search *search, const struct cs_candidate *candidate)
{
    double untiled = search->list.candidate[0].seconds;
    double time = untiled > 0 && candidate->seconds > 0 ? candidate->seconds / untiled : 0;
    double bytes = 1 + read_part(search, candidate);
    return time > bytes ? time : bytes;
}

/* What the user allows as a price; 0: anything. */
static double most_price(const struct cs_limits *limits)
{
    return limits->max_slowdown > 0 ? (double)limits->max_slowdown / 1000 : 0;
}

/* Than another one that may be taken. */
static bool is_dearer(const struct cs_search *search, const struct cs_candidate *candidate,
                      const struct cs_limits *limits)
{
    for (int i = 1; i < search->list.count; i++) {
        const struct cs_candidate *other = &search->list.candidate[i];
        if (other->workspace <= limits->workspace &&
            cs_price_of(search, other) < cs_price_of(search, candidate))
            return true;
    }
    return false;
}

void cs_price_mark(struct cs_search *search, const struct cs_limits *limits)
{
    double most = most_price(limits);
    for (int i = 1; i < search->list.count; i++) {
        struct cs_candidate *candidate = &search->list.candidate[i];
        candidate->dear = (most > 0 && cs_price_of(search, candidate) > most) ||
                          (!search->question->thorough && read_part(search, candidate) > MUCH &&
                           candidate->seconds > 0 && is_dearer(search, candidate, limits));
    }
}

/* The finest tiles of a dilated axis may be of more shapes than a plan holds, which a guess does
 * not see: coarser ones along the inner cut until they are legal. */
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

/* Asks about a guess and learns from the answer. What fits is the last that is listed. *bytes_p as
 * cs_search_probe. */
static enum cs_status confirm(struct cs_search *search, struct cs_guesser *guesser,
                              struct cs_guess *guess, enum cs_probed *probed_p, int64_t *bytes_p)
{
    make_legal(search, guesser, guess);
    const struct cs_mode mode = {.relaxation = guess->tiling.relaxation,
                                 .lanes = guess->tiling.lanes};
    int lanes = mode.lanes > 1 ? mode.lanes : 1;
    *bytes_p = 0;
    enum cs_status status = cs_search_probe(search, mode, &guess->tiling, probed_p, bytes_p);
    if (status != CS_OK)
        return status;
    if (*probed_p == CS_FITS)
        cs_guess_learn(guesser, &search->list.candidate[search->list.count - 1]);
    else if (*probed_p == CS_OVER)
        cs_guess_learn_tile(guesser, guess, (double)*bytes_p / lanes);
    return CS_OK;
}

/* What is reported whatever tiles need (limits->least) is not worth saving. */
static struct cs_goal goal_of(const struct cs_search *search, const struct cs_limits *limits)
{
    double limit = (double)limits->workspace, least = (double)limits->least;
    double aim = limits->aim > 0 ? AIM * (double)limits->aim : limit;
    double size = cs_search_size(search->question->problem);
    return (struct cs_goal){.limit = limit,
                            .aim = aim > least ? aim : least,
                            .most = (double)search->question->limit,
                            .worth = WORTH_TIME / (size < LARGE ? size : LARGE),
                            .dear = most_price(limits)};
}

static enum cs_grade grade_of(const struct cs_search *search, const struct cs_goal *goal,
                              const struct cs_candidate *candidate)
{
    return cs_forms_grade(goal, (double)candidate->workspace, cs_price_of(search, candidate));
}

/* The best guess on as many lanes as the user says, or on one or two. */
static enum cs_grade best_guess(struct cs_guesser *guesser, const struct cs_goal *goal,
                                const struct cs_limits *limits, unsigned skipped,
                                struct cs_guess *best, int *form_p)
{
    bool compiles = guesser->question->vendor->compiles;
    int lanes = compiles ? 1 : limits->lanes > 0 ? limits->lanes : AUTO_LANES, form;
    struct cs_forms forms = {.lanes = lanes, .skipped = skipped};
    enum cs_grade grade = cs_forms_best(guesser, goal, &forms, best, form_p), alone;
    struct cs_guess other;
    forms.lanes = 1;
    if (lanes == 1 || (limits->lanes > 0 && grade != CS_GRADE_NONE))
        return grade;
    alone = cs_forms_best(guesser, goal, &forms, &other, &form);
    if (alone != CS_GRADE_NONE && cs_forms_better(goal, alone, &other, grade, best)) {
        *best = other;
        *form_p = form;
        return alone;
    }
    return grade;
}

/* What was asked in a search. */
struct asked {
    int count;
    struct cs_tiling tiling[MOST_TURNS];
    unsigned skipped; /* forms that the vendor refused */
    bool listed;      /* some tiling is, or would be if it were not dear */
};

static bool is_new(struct asked *asked, const struct cs_tiling *tiling)
{
    for (int i = 0; i < asked->count; i++)
        if (cs_cut_tiling_equal(&asked->tiling[i], tiling))
            return false;
    asked->tiling[asked->count++] = *tiling;
    return true;
}

static struct cs_guess guess_of(const struct cs_search *search,
                                const struct cs_candidate *candidate)
{
    return (struct cs_guess){.workspace = (double)candidate->workspace,
                             .price = cs_price_of(search, candidate)};
}

/* The best of what is listed; NULL if none is of any grade. */
static const struct cs_candidate *best_listed(const struct cs_search *search,
                                              const struct cs_goal *goal)
{
    const struct cs_candidate *best = NULL;
    enum cs_grade least = CS_GRADE_NONE;
    for (int i = 1; i < search->list.count; i++) {
        const struct cs_candidate *candidate = &search->list.candidate[i];
        enum cs_grade grade = grade_of(search, goal, candidate);
        const struct cs_guess guess = guess_of(search, candidate);
        const struct cs_guess other = best ? guess_of(search, best) : guess;
        if (grade == CS_GRADE_NONE ||
            (best && !cs_forms_better(goal, grade, &guess, least, &other)))
            continue;
        best = candidate;
        least = grade;
    }
    return best;
}

/* Asks about guesses until one holds. */
static enum cs_status ask_for_best(struct cs_search *search, const struct cs_goal *goal,
                                   const struct cs_limits *limits, struct asked *asked)
{
    struct cs_guesser guesser;
    const struct cs_goal any = {
        .limit = goal->most, .aim = goal->most, .most = goal->most, .dear = 1e300};
    cs_guess_start(&guesser, search->question);
    while (asked->count < MOST_TURNS) {
        struct cs_guess guess;
        enum cs_probed probed;
        int64_t bytes;
        int form = 0;
        enum cs_grade grade = best_guess(&guesser, goal, limits, asked->skipped, &guess, &form);
        if (grade == CS_GRADE_NONE && asked->count == 0)
            asked->listed = best_guess(&guesser, &any, limits, 0, &guess, &form) != CS_GRADE_NONE;
        if (grade == CS_GRADE_NONE || !is_new(asked, &guess.tiling))
            return CS_OK;
        enum cs_status status = confirm(search, &guesser, &guess, &probed, &bytes);
        if (status != CS_OK)
            return status;
        if (probed == CS_HOLE)
            asked->skipped |= cs_forms_without(form, &guess);
        if (probed != CS_FITS)
            continue;
        asked->listed = true;
        if (grade_of(search, goal, &search->list.candidate[search->list.count - 1]) <= grade)
            return CS_OK;
    }
    return CS_OK;
}

enum cs_status cs_price_search(struct cs_search *search, const struct cs_limits *limits,
                               enum cs_priced *priced_p, int64_t *workspace_p)
{
    const struct cs_goal goal = goal_of(search, limits);
    struct asked asked = {.count = 0};
    enum cs_status status = ask_for_best(search, &goal, limits, &asked);
    const struct cs_candidate *best = best_listed(search, &goal);
    *priced_p = best ? CS_PRICED : asked.listed ? CS_DEAR : CS_UNPRICED;
    *workspace_p = best ? best->workspace : 0;
    return status;
}

static double least_price(const struct cs_search *search)
{
    double least = cs_price_of(search, &search->list.candidate[1]);
    for (int i = 2; i < search->list.count; i++) {
        double price = cs_price_of(search, &search->list.candidate[i]);
        least = price < least ? price : least;
    }
    return least;
}

enum cs_status cs_price_compare(struct cs_search *search, struct cs_mode mode,
                                const struct cs_candidate *known)
{
    struct cs_guesser guesser;
    struct asked asked = {.count = 0};
    const double limit = (double)search->question->limit;
    const struct cs_goal goal = {.limit = limit, .aim = limit, .most = limit, .dear = 1e300};
    struct cs_forms forms = {.lanes = mode.lanes, .relaxation = mode.relaxation};
    if (!search->question->profile || read_part(search, known) <= MUCH || mode.staged)
        return CS_OK;
    cs_guess_start(&guesser, search->question);
    cs_guess_learn(&guesser, known);
    while (asked.count < MOST_TURNS && search->purse.left > 0) {
        struct cs_guess guess;
        enum cs_probed probed;
        int64_t bytes;
        int form = 0;
        if (cs_forms_best(&guesser, &goal, &forms, &guess, &form) == CS_GRADE_NONE ||
            guess.price > CHEAPER * least_price(search) || !is_new(&asked, &guess.tiling))
            return CS_OK;
        enum cs_status status = confirm(search, &guesser, &guess, &probed, &bytes);
        if (status != CS_OK)
            return status;
        if (probed == CS_HOLE)
            forms.skipped |= cs_forms_without(form, &guess);
    }
    return CS_OK;
}

/* The least scratch that the vendor told of. */
struct least {
    int64_t bytes; /* INT64_MAX: it told of none */
    struct cs_guess guess;
};

/* Asks about the finest tiles of a form; false if there is nothing more to ask about. */
static bool ask_for_least(struct cs_search *search, struct cs_guesser *guesser,
                          struct cs_forms *forms, struct asked *asked, struct least *least,
                          enum cs_status *status_p)
{
    const double most = cs_guess_whole(guesser) * 1e3;
    const struct cs_goal goal = {.limit = most, .most = most, .least = true, .dear = 1e300};
    struct cs_guess guess;
    enum cs_probed probed;
    int64_t bytes;
    int form = 0;
    if (cs_forms_best(guesser, &goal, forms, &guess, &form) == CS_GRADE_NONE ||
        guess.workspace > WORTHWHILE * (double)least->bytes || !is_new(asked, &guess.tiling))
        return false;
    *status_p = confirm(search, guesser, &guess, &probed, &bytes);
    if (*status_p != CS_OK)
        return false;
    if (probed == CS_HOLE)
        forms->skipped |= cs_forms_without(form, &guess);
    else if (bytes < least->bytes)
        *least = (struct least){bytes, guess};
    return true;
}

/* First with the whole filter, which tells what images need, then with any tile. */
static enum cs_status find_least(struct cs_search *search, struct cs_guesser *guesser,
                                 struct cs_forms *forms, struct least *least)
{
    struct asked asked = {.count = 0};
    enum cs_status status = CS_OK;
    unsigned skipped = forms->skipped;
    least->bytes = INT64_MAX;
    forms->skipped |= cs_forms_of_filter();
    (void)ask_for_least(search, guesser, forms, &asked, least, &status);
    forms->skipped = skipped;
    while (status == CS_OK && asked.count < MOST_TURNS && cs_shortlist_empty(&search->list) &&
           ask_for_least(search, guesser, forms, &asked, least, &status))
        continue;
    return status;
}

/* The fastest of what needs hardly more than the least; at least that one. */
static enum cs_status list_least(struct cs_search *search, struct cs_guesser *guesser,
                                 struct cs_forms *forms, const struct least *least)
{
    struct asked asked = {.count = 0};
    const double limit = (double)search->question->limit;
    const struct cs_goal goal = {.limit = limit, .aim = limit, .most = limit, .dear = 1e300};
    cs_guess_learn_tile(guesser, &least->guess, (double)least->bytes);
    while (asked.count < MOST_TURNS && cs_shortlist_empty(&search->list)) {
        struct cs_guess guess;
        enum cs_probed probed;
        int64_t bytes;
        int form = 0;
        bool last = cs_forms_best(guesser, &goal, forms, &guess, &form) == CS_GRADE_NONE ||
                    asked.count == MOST_TURNS - 1;
        if (last)
            guess = least->guess;
        if (!is_new(&asked, &guess.tiling))
            return CS_OK;
        enum cs_status status = confirm(search, guesser, &guess, &probed, &bytes);
        if (status != CS_OK || last)
            return status;
        if (probed == CS_HOLE)
            forms->skipped |= cs_forms_without(form, &guess);
    }
    return CS_OK;
}

enum cs_status cs_price_least(struct cs_search *search, int64_t most, int64_t *limit_p)
{
    struct cs_guesser guesser;
    struct cs_forms forms = {.lanes = 1, .all = true};
    struct least least;
    int64_t before = *limit_p;
    cs_guess_start(&guesser, search->question);
    enum cs_status status = find_least(search, &guesser, &forms, &least);
    if (status != CS_OK || !cs_shortlist_empty(&search->list) || least.bytes >= most)
        return status;
    *limit_p =
        least.bytes < most - least.bytes / HARDLY ? least.bytes + least.bytes / HARDLY : most;
    status = list_least(search, &guesser, &forms, &least);
    if (cs_shortlist_empty(&search->list))
        *limit_p = before;
    return status;
}
