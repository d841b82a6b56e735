/* Every way to tile along one axis or two, by what it is guessed to need and to cost. Pure. */
#ifndef CS_DECIDE_FORMS_H
#define CS_DECIDE_FORMS_H

#include "decide/guess.h"

/* What is looked for. Bytes of scratch and prices (struct cs_guess). */
struct cs_goal {
    double limit; /* bytes that are allowed */
    double aim;   /* no less is asked for */
    double most;  /* bytes that are allowed rather than a price above `dear` */
    double worth; /* price that may be paid for a byte less of scratch, down to `aim` */
    double dear;  /* beyond this price nothing is taken */
    bool least;   /* the least scratch, whatever it costs */
};

enum cs_grade {
    CS_GRADE_WITHIN, /* within limit and price: the least of price and scratch together */
    CS_GRADE_RAISED, /* beyond the limit, within the price: the less scratch the better */
    CS_GRADE_NONE
};

enum cs_grade cs_forms_grade(const struct cs_goal *goal, double workspace, double price);

/* The forms that are out of question where a guess of one is refused: of a single axis all that
 * have this axis, of two axes all that have two; of phases only what has these, and of uneven ones
 * only what is uneven. */
unsigned cs_forms_without(int form, const struct cs_guess *guess);

/* The forms that cut the filter. */
unsigned cs_forms_of_filter(void);

/* True if a guess is better than another one. */
bool cs_forms_better(const struct cs_goal *goal, enum cs_grade grade, const struct cs_guess *guess,
                     enum cs_grade than, const struct cs_guess *best);

/* How tiles are to be; which forms are left out. */
struct cs_forms {
    int lanes;
    enum cs_relaxation relaxation;
    unsigned skipped; /* a bit for each number of a form; see cs_forms_without */
    bool all;         /* pairs, too, whatever single axes do */
};

/* The best guess of all forms, and the form's number. Pairs of axes are looked at only if one axis
 * alone reaches no better grade than CS_GRADE_RAISED, or reads more than a twentieth of the
 * operands again, or if all are asked for. CS_GRADE_NONE if there is none. */
enum cs_grade cs_forms_best(struct cs_guesser *guesser, const struct cs_goal *goal,
                            const struct cs_forms *forms, struct cs_guess *best, int *form_p);

#endif
