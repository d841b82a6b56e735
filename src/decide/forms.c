/* Searches the forms of tilings. */
#include "decide/forms.h"

#include "base/checked.h"
#include "plan/axis.h"

enum {
    MOST_OUTER = 256, /* tiles along the outer one of two axes */
    FINER = 8,        /* an examined count is larger than the one before by about 1/8 */
    AUTO_LANES = 2    /* lanes that are tried in addition to one with lanes = auto */
};

/* The search ends at a form that costs at most as much as the untiled call would with this multiple
 * of its time and without scratch. */
static const double GOOD = 1.03;
/* The shortest time that a tiling is assumed to take, as a multiple of the untiled time. */
static const double FASTEST = 0.5;
/* The search for finer tiles ends at this part of the free bytes. Tiles below the free bytes save
 * no memory and add launches, but some fit into L2. */
static const double FINEST = 0.25;

/* The axes of each form, the outer first, in the order of the search. Slices along W are the least
 * contiguous, those along K and C read x or y again as a whole, and pairs make the smallest tiles.
 * Each stage is examined only if no earlier one is good enough. */
static const enum cs_axis axes[CS_FORMS][CS_MAX_CUTS] = {{CS_AXIS_N},
                                                         {CS_AXIS_D},
                                                         {CS_AXIS_H},
                                                         {CS_AXIS_D_PHASES},
                                                         {CS_AXIS_H_PHASES},
                                                         {CS_AXIS_W},
                                                         {CS_AXIS_W_PHASES},
                                                         {CS_AXIS_K},
                                                         {CS_AXIS_C},
                                                         {CS_AXIS_N, CS_AXIS_D_PHASES},
                                                         {CS_AXIS_N, CS_AXIS_H_PHASES},
                                                         {CS_AXIS_N, CS_AXIS_W_PHASES},
                                                         {CS_AXIS_K, CS_AXIS_H_PHASES},
                                                         {CS_AXIS_C, CS_AXIS_H_PHASES},
                                                         {CS_AXIS_N, CS_AXIS_D},
                                                         {CS_AXIS_N, CS_AXIS_H},
                                                         {CS_AXIS_D, CS_AXIS_H},
                                                         {CS_AXIS_H, CS_AXIS_W},
                                                         {CS_AXIS_K, CS_AXIS_N},
                                                         {CS_AXIS_K, CS_AXIS_H},
                                                         {CS_AXIS_K, CS_AXIS_C},
                                                         {CS_AXIS_C, CS_AXIS_N},
                                                         {CS_AXIS_C, CS_AXIS_H},
                                                         {CS_AXIS_N, CS_AXIS_W},
                                                         {CS_AXIS_D, CS_AXIS_W},
                                                         {CS_AXIS_K, CS_AXIS_W},
                                                         {CS_AXIS_C, CS_AXIS_W},
                                                         {CS_AXIS_K, CS_AXIS_D},
                                                         {CS_AXIS_C, CS_AXIS_D}};
static const int stage_end[] = {5, CS_SINGLE_FORMS, CS_FORMS};

/* The bit of a set of forms that stands for phases of unequal length. */
static const unsigned UNEVEN = 1u << 31;

/* A search over the number of tiles along the inner axis of a form. All other choices are fixed. */
struct line {
    struct cs_guesser *guesser;
    struct cs_tiling tiling;
    int cut;             /* the inner one */
    int64_t unit, units; /* along it */
    int64_t most;        /* tiles along it */
    bool even;           /* no uneven phases */
    int form;
    struct best {
        double cost;
        struct cs_guess guess;
        int form;
    } * best; /* the best tiling of all lines */
};

enum cs_axis cs_forms_axis(int form)
{
    return axes[form][0];
}

/* The cost of a guess that takes this long. */
static double cost_of(const struct line *line, const struct cs_guess *guess, double seconds)
{
    const struct cs_candidate candidate = cs_guess_candidate(line->guesser, guess, seconds);
    return cs_question_cost(line->guesser->question, &candidate);
}

/* Guesses the workspace of `count` tiles along the line, without their time. False if that count is
 * not possible. */
static bool guess_at(const struct line *line, int64_t count, struct cs_guess *guess)
{
    struct cs_tiling tiling = line->tiling;
    return cs_mul(cs_ceil_div(line->units, count), line->unit, &tiling.step[line->cut]) &&
           cs_guess_size(line->guesser, &tiling, guess) && !(line->even && guess->uneven);
}

/* The fewest tiles that need at most `bytes`, line->most + 1 if no number of tiles does. Smaller
 * tiles need less. */
static int64_t fewest_in(const struct line *line, double bytes)
{
    int64_t low = 1, high = line->most;
    struct cs_guess guess;
    if (!guess_at(line, high, &guess) || guess.workspace > bytes)
        return high + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (guess_at(line, middle, &guess) && guess.workspace <= bytes)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The next larger count that makes different tiles; `most` + 1 if there is none. */
static int64_t finer_count(int64_t units, int64_t most, int64_t count)
{
    int64_t step = cs_ceil_div(units, count) - 1;
    int64_t grown = cs_ceil_div(units, count + 1 + count / FINER);
    if (step < 1 || count >= most)
        return most + 1;
    int64_t next = cs_ceil_div(units, grown < step ? grown : step);
    return next < most ? next : most;
}

/* Keeps tiles of this count if they are the best so far. Returns the bytes that they need, 0 if the
 * count is not possible. */
static double examine_count(const struct line *line, int64_t count)
{
    struct cs_guess guess;
    struct best *best = line->best;
    if (!guess_at(line, count, &guess))
        return 0;
    double least = cost_of(line, &guess, FASTEST * line->guesser->seconds);
    if (!(least < best->cost)) /* its time, which takes longer to guess, does not matter */
        return guess.workspace;
    cs_guess_seconds(line->guesser, &guess);
    double cost = cost_of(line, &guess, guess.seconds);
    if (cost < best->cost)
        *best = (struct best){cost, guess, line->form};
    return guess.workspace;
}

/* Examines counts of phases. Every divisor of the dilation is examined: they are few, and some are
 * illegal. */
static void examine_phases(const struct line *line)
{
    for (int64_t count = 2; count <= line->most; count++)
        if (line->units % count == 0)
            (void)examine_count(line, count);
}

/* Examines counts in small steps, from the fewest within the limit on. The last wave of blocks
 * makes times rise and fall with the count, so one count does not predict the next. */
static void examine_counts(const struct line *line)
{
    const struct cs_question *question = line->guesser->question;
    const double free = (double)question->limits->free;
    int64_t fewest = fewest_in(line, (double)question->limit), enough = fewest_in(line, free);
    for (int64_t count = fewest > 2 ? fewest : 2; count <= line->most;
         count = finer_count(line->units, line->most, count))
        if (examine_count(line, count) <= FINEST * free)
            break;
    if (enough > 2 && enough <= line->most)
        (void)examine_count(line, enough);
}

/* Examines two counts of a line: the one that reaches the free bytes, and the fewest tiles under
 * the limit. More would take too long, because pairs of axes have many lines. */
static void examine_ends(const struct line *line)
{
    const struct cs_question *question = line->guesser->question;
    int64_t fewest = fewest_in(line, (double)question->limit);
    int64_t enough = fewest_in(line, (double)question->limits->free);
    if (fewest > 1 && fewest <= line->most)
        (void)examine_count(line, fewest);
    if (enough > fewest && enough <= line->most)
        (void)examine_count(line, enough);
    else if (enough > line->most && line->most >= 2)
        (void)examine_count(line, line->most);
}

/* The next count along the outer of two axes: powers of two, whose products with an inner count
 * reach the most tiles, a count between each two, and `most`. */
static int64_t next_outer(int64_t outer, int64_t most)
{
    bool power = (outer & (outer - 1)) == 0;
    int64_t next = outer + outer / (power ? 2 : 3);
    return next < most || outer == most ? next : most;
}

static int64_t units_of(const struct line *line, enum cs_axis axis)
{
    const struct cs_problem *problem = line->guesser->question->problem;
    return cs_ceil_div(cs_axis_extent(problem, axis), cs_axis_unit(problem, axis));
}

/* Sets the axis of the line's cut. `outer`: tiles along the outer axis, 1 without one. */
static void begin_line(struct line *line, int cut, enum cs_axis axis, int64_t outer)
{
    line->cut = cut;
    line->tiling.axis[cut] = axis;
    line->unit = cs_axis_unit(line->guesser->question->problem, axis);
    line->units = units_of(line, axis);
    line->most = CS_MAX_TILES / outer < line->units ? CS_MAX_TILES / outer : line->units;
}

static bool is_phases(enum cs_axis axis)
{
    return cs_phases_of(axis) != CS_AXIS_NONE;
}

/* Examines the tilings of a form with one axis. */
static void examine_single(struct line *line)
{
    begin_line(line, 0, axes[line->form][0], 1);
    if (is_phases(axes[line->form][0]))
        examine_phases(line);
    else
        examine_counts(line);
}

/* Examines the tilings of a form with two axes. */
static void examine_pair(struct line *line)
{
    const enum cs_axis *axis = axes[line->form];
    begin_line(line, 0, axis[0], 1);
    int64_t units = line->units, unit = line->unit;
    int64_t most = units < MOST_OUTER ? units : MOST_OUTER;
    for (int64_t outer = 2; outer <= most; outer = next_outer(outer, most)) {
        if (!cs_mul(cs_ceil_div(units, outer), unit, &line->tiling.step[0]))
            return;
        begin_line(line, 1, axis[1], outer);
        line->tiling.step[1] = 1;
        if (is_phases(axis[1]))
            examine_phases(line);
        else
            examine_ends(line);
    }
}

static bool is_scattered(const struct cs_guesser *guesser, enum cs_axis axis)
{
    return is_phases(axis) && cs_phases_scattered(guesser->question->problem, axis);
}

/* Examines the tilings of a form. It has none if an axis cannot be cut, or if its phases are
 * scattered and `forms` excludes those. */
static void examine_form(struct cs_guesser *guesser, const struct cs_forms *forms, int lanes,
                         int form, struct best *best)
{
    struct line line = {.guesser = guesser,
                        .tiling = {.step = {1, 1},
                                   .lanes = lanes,
                                   .relaxation = forms->relaxation,
                                   .staged = forms->staged},
                        .even = forms->skipped & UNEVEN,
                        .form = form,
                        .best = best};
    for (int c = 0; c < CS_MAX_CUTS && axes[form][c] != CS_AXIS_NONE; c++)
        if (units_of(&line, axes[form][c]) < 2 ||
            (!forms->scattered && is_scattered(guesser, axes[form][c])))
            return;
    if (axes[form][1] == CS_AXIS_NONE)
        examine_single(&line);
    else
        examine_pair(&line);
}

static bool has_axis(int form, enum cs_axis axis)
{
    return axes[form][0] == axis || axes[form][1] == axis;
}

unsigned cs_forms_without(int form, const struct cs_guess *guess)
{
    bool pair = axes[form][1] != CS_AXIS_NONE;
    enum cs_axis inner = axes[form][pair];
    bool all_pairs = pair && !is_phases(inner);
    unsigned skipped = 0;
    if (guess->uneven)
        return UNEVEN;
    for (int i = 0; i < CS_FORMS; i++) {
        if (pair && axes[i][1] == CS_AXIS_NONE)
            continue;
        if (all_pairs || has_axis(i, inner))
            skipped |= 1u << i;
    }
    return skipped;
}

/* With lanes = auto, examines the best form again on two lanes. They overlap the layout conversions
 * of one tile with the arithmetic of another, but need twice the scratch. */
static void examine_lanes(struct cs_guesser *guesser, const struct cs_forms *forms,
                          struct best *best)
{
    if (forms->lanes == 0 && best->cost < __builtin_inf())
        examine_form(guesser, forms, AUTO_LANES, best->form, best);
}

double cs_forms_best(struct cs_guesser *guesser, const struct cs_forms *forms,
                     struct cs_guess *best_p, int *form_p)
{
    struct best best = {.cost = __builtin_inf()};
    const int lanes = forms->lanes > 0 ? forms->lanes : 1;
    int form = 0;
    const struct cs_candidate ideal =
        cs_question_untiled(guesser->question, 0, GOOD * guesser->seconds);
    const double enough = cs_question_cost(guesser->question, &ideal);
    for (size_t stage = 0; stage < sizeof stage_end / sizeof *stage_end; stage++) {
        for (; form < stage_end[stage]; form++)
            if (!(forms->skipped >> form & 1))
                examine_form(guesser, forms, lanes, form, &best);
        if (best.cost <= enough)
            break;
    }
    examine_lanes(guesser, forms, &best);
    *best_p = best.guess;
    *form_p = best.form;
    return best.cost;
}
