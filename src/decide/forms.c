/* Looks through the forms that a tiling can have. */
#include "decide/forms.h"

#include "base/checked.h"
#include "plan/phases.h"

enum {
    FORMS = 9 + 20,   /* axes and pairs of them */
    MOST_OUTER = 256, /* tiles along the outer one of two axes */
    FINER = 16,       /* counts that are looked at grow by at most this part of them */
    FINER_OF_PAIR = 4 /* and by this along the inner one of two axes */
};

/* Of the operands, that may be read again before further forms are looked at. */
static const double MUCH = 0.05;
/* Less scratch by so much is worth more tiles, where nothing else says what it is worth. */
static const double WORTH = 0.98;

/* Axes to tile along, the outer first. Slices along W are the least contiguous, those along K and C
 * read x or y again as a whole, pairs make the smallest tiles: each stage is looked at if those
 * before it do not do. */
static const enum cs_axis axes[FORMS][CS_MAX_CUTS] = {{CS_AXIS_N},
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
static const int stage_end[] = {5, 9, FORMS};

/* Of a set of forms: phases that are not all as long. */
static const unsigned UNEVEN = 1u << 31;

struct found {
    enum cs_grade grade;
    struct cs_guess guess;
    int form;
};

/* Counts along the inner axis of a form, everything else being chosen. */
struct line {
    struct cs_guesser *guesser;
    struct cs_tiling tiling;
    int cut;                    /* the inner one */
    int64_t unit, units;        /* along it */
    int64_t most;               /* tiles along it */
    bool even;                  /* no uneven phases */
    const struct found *before; /* by the lines before this one */
};

enum cs_grade cs_forms_grade(const struct cs_goal *goal, double workspace, double price)
{
    if (!(price <= goal->dear) || workspace > goal->most)
        return CS_GRADE_NONE;
    if (workspace > goal->limit)
        return CS_GRADE_RAISED;
    return CS_GRADE_WITHIN;
}

/* How much they need, without their price. */
static bool guess_at(const struct line *line, int64_t count, struct cs_guess *guess)
{
    struct cs_tiling tiling = line->tiling;
    return cs_mul(cs_ceil_div(line->units, count), line->unit, &tiling.step[line->cut]) &&
           cs_guess_size(line->guesser, &tiling, guess) && !(line->even && guess->uneven);
}

/* The fewest tiles that do with so many bytes; more than there may be if none do. The finer the
 * tiles, the less they need. */
static int64_t fewest_in(const struct line *line, double bytes)
{
    int64_t low = 1, high = line->most;
    struct cs_guess guess;
    if (!guess_at(line, high, &guess) || guess.workspace > bytes)
        return high + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        bool good = guess_at(line, middle, &guess) && guess.workspace <= bytes;
        *(good ? &high : &low) = middle;
    }
    return high;
}

/* The next count that makes other tiles. */
static int64_t finer(const struct line *line, int64_t count)
{
    int64_t part = line->cut == 0 ? FINER : FINER_OF_PAIR;
    int64_t step = cs_ceil_div(line->units, count) - 1;
    int64_t grown = cs_ceil_div(line->units, count + 1 + count / part);
    if (step < 1 || count == line->most)
        return line->most + 1;
    int64_t next = cs_ceil_div(line->units, grown < step ? grown : step);
    return next < line->most ? next : line->most;
}

/* A grade and the best guess that has it. */
struct graded {
    enum cs_grade grade;
    struct cs_guess *best;
};

static bool wins(const struct cs_goal *goal, const struct cs_guess *guess, enum cs_grade than,
                 const struct cs_guess *best)
{
    enum cs_grade grade = cs_forms_grade(goal, guess->workspace, guess->price);
    return grade != CS_GRADE_NONE && cs_forms_better(goal, grade, guess, than, best);
}

/* What is within limit and price is compared by one number, so that what is worse than some of it
 * is worse than the best. */
static bool is_within(const struct cs_goal *goal, const struct found *found)
{
    return found->grade == CS_GRADE_WITHIN && !goal->least;
}

/* False for what cannot become the best, whatever time it takes: most guesses end here. */
static bool may_win(const struct line *line, const struct cs_goal *goal,
                    const struct cs_guess *guess, const struct graded *graded)
{
    const struct found *before = line->before;
    return wins(goal, guess, graded->grade, graded->best) &&
           (!is_within(goal, before) || wins(goal, guess, before->grade, &before->guess));
}

/* Bytes that tiles of this count need; more than any limit if there are none. */
static double look_at_count(const struct line *line, const struct cs_goal *goal, int64_t count,
                            struct graded *graded)
{
    struct cs_guess guess;
    if (!guess_at(line, count, &guess))
        return 1e300;
    cs_guess_bytes(line->guesser, &guess);
    if (!may_win(line, goal, &guess, graded))
        return guess.workspace;
    cs_guess_seconds(line->guesser, &guess);
    if (wins(goal, &guess, graded->grade, graded->best)) {
        graded->grade = cs_forms_grade(goal, guess.workspace, guess.price);
        *graded->best = guess;
    }
    return guess.workspace;
}

/* Of phases each number that divides the dilation is looked at: there are few, and not all are
 * legal. */
static enum cs_grade best_phases(const struct line *line, const struct cs_goal *goal,
                                 struct cs_guess *best)
{
    struct graded graded = {CS_GRADE_NONE, best};
    for (int64_t count = 2; count <= line->most; count++)
        if (line->units % count == 0)
            (void)look_at_count(line, goal, count, &graded);
    return graded.grade;
}

/* The best count of a line. The last wave of blocks makes prices rise and fall with the count, so
 * that none between the fewest tiles under the limit and those that need no more than the aim says
 * anything of the next; beyond the limit likewise. */
static enum cs_grade best_count(const struct line *line, const struct cs_goal *goal,
                                struct cs_guess *best)
{
    struct graded graded = {CS_GRADE_NONE, best};
    if (cs_phases_of(line->tiling.axis[line->cut]) != CS_AXIS_NONE)
        return best_phases(line, goal, best);
    int64_t fewest = fewest_in(line, goal->limit);
    if (goal->least)
        fewest = line->most;
    for (int64_t count = fewest; count <= line->most; count = finer(line, count))
        if (look_at_count(line, goal, count, &graded) <= goal->aim)
            break;
    if (graded.grade != CS_GRADE_NONE || goal->most <= goal->limit || is_within(goal, line->before))
        return graded.grade;
    for (int64_t count = 2; count < fewest && count <= line->most; count = finer(line, count))
        (void)look_at_count(line, goal, count, &graded);
    return graded.grade;
}

bool cs_forms_better(const struct cs_goal *goal, enum cs_grade grade, const struct cs_guess *guess,
                     enum cs_grade than, const struct cs_guess *best)
{
    if (grade != than)
        return grade < than;
    double bytes = guess->workspace > goal->aim ? guess->workspace : goal->aim;
    double other = best->workspace > goal->aim ? best->workspace : goal->aim;
    if (grade == CS_GRADE_WITHIN && !goal->least)
        return guess->price + goal->worth * bytes < best->price + goal->worth * other;
    return bytes < WORTH * other || (bytes * WORTH <= other && guess->price < best->price);
}

static int64_t units_of(const struct line *line, enum cs_axis axis)
{
    const struct cs_problem *problem = line->guesser->question->problem;
    return cs_ceil_div(cs_axis_extent(problem, axis), cs_axis_unit(problem, axis));
}

static void begin(struct line *line, int cut, enum cs_axis axis, int64_t outer)
{
    line->cut = cut;
    line->tiling.axis[cut] = axis;
    line->unit = cs_axis_unit(line->guesser->question->problem, axis);
    line->units = units_of(line, axis);
    line->most = CS_MAX_TILES / outer < line->units ? CS_MAX_TILES / outer : line->units;
}

/* The next count that is really made: a sixth more, or the next step. The finer the cut, the less
 * one more tile changes. */
static int64_t next_outer(int64_t outer, int64_t units)
{
    int64_t step = cs_ceil_div(units, outer + (outer + 5) / 6);
    int64_t next = cs_ceil_div(units, step);
    while (next <= outer && step > 1)
        next = cs_ceil_div(units, --step);
    return next > outer ? next : outer + 1;
}

static void take_better(struct found *found, const struct cs_goal *goal, enum cs_grade grade,
                        const struct cs_guess *guess, int form)
{
    if (grade != CS_GRADE_NONE && cs_forms_better(goal, grade, guess, found->grade, &found->guess))
        *found = (struct found){grade, *guess, form};
}

static void look_at_pair(struct line *line, const struct cs_goal *goal, int form,
                         struct found *found)
{
    struct cs_guess guess;
    const enum cs_axis *axis = axes[form];
    begin(line, 0, axis[0], 1);
    int64_t units = line->units, unit = line->unit;
    for (int64_t outer = 2; outer <= units && outer <= MOST_OUTER;
         outer = next_outer(outer, units)) {
        if (!cs_mul(cs_ceil_div(units, outer), unit, &line->tiling.step[0]))
            return;
        begin(line, 1, axis[1], outer);
        line->tiling.step[1] = 1;
        if (line->most >= 2)
            take_better(found, goal, best_count(line, goal, &guess), &guess, form);
    }
}

static bool is_scattered(const struct cs_guesser *guesser, enum cs_axis axis)
{
    return cs_phases_of(axis) != CS_AXIS_NONE &&
           cs_phases_scattered(guesser->question->problem, axis);
}

static void look_at(struct cs_guesser *guesser, const struct cs_goal *goal,
                    const struct cs_forms *forms, int form, struct found *found)
{
    struct cs_guess guess;
    struct line line = {
        .guesser = guesser,
        .tiling = {.step = {1, 1}, .lanes = forms->lanes, .relaxation = forms->relaxation},
        .even = forms->skipped & UNEVEN,
        .before = found};
    for (int c = 0; c < CS_MAX_CUTS && axes[form][c] != CS_AXIS_NONE; c++)
        if (units_of(&line, axes[form][c]) < 2 || is_scattered(guesser, axes[form][c]))
            return;
    if (axes[form][1] != CS_AXIS_NONE) {
        look_at_pair(&line, goal, form, found);
        return;
    }
    begin(&line, 0, axes[form][0], 1);
    take_better(found, goal, best_count(&line, goal, &guess), &guess, form);
}

static bool has_axis(int form, enum cs_axis axis)
{
    return axes[form][0] == axis || axes[form][1] == axis;
}

unsigned cs_forms_without(int form, const struct cs_guess *guess)
{
    bool pair = axes[form][1] != CS_AXIS_NONE;
    enum cs_axis inner = axes[form][pair];
    bool phases = cs_phases_of(inner) != CS_AXIS_NONE;
    unsigned skipped = 0;
    if (guess->uneven)
        return UNEVEN;
    for (int i = 0; i < FORMS; i++)
        if ((!pair || axes[i][1] != CS_AXIS_NONE) && ((pair && !phases) || has_axis(i, inner)))
            skipped |= 1u << i;
    return skipped;
}

unsigned cs_forms_of_filter(void)
{
    unsigned forms = 0;
    for (int i = 0; i < FORMS; i++)
        if (has_axis(i, CS_AXIS_K) || has_axis(i, CS_AXIS_C))
            forms |= 1u << i;
    return forms;
}

enum cs_grade cs_forms_best(struct cs_guesser *guesser, const struct cs_goal *goal,
                            const struct cs_forms *forms, struct cs_guess *best, int *form_p)
{
    struct found found = {.grade = CS_GRADE_NONE};
    int form = 0;
    for (size_t stage = 0; stage < sizeof stage_end / sizeof *stage_end; stage++) {
        for (; form < stage_end[stage]; form++)
            if (!(forms->skipped >> form & 1))
                look_at(guesser, goal, forms, form, &found);
        if (!forms->all && found.grade < CS_GRADE_RAISED &&
            found.guess.read_again <= MUCH * cs_guess_whole(guesser))
            break;
    }
    *best = found.guess;
    *form_p = found.form;
    return found.grade;
}
