/* Every way to tile along one axis or two, by the workspace and the time that it is guessed to
 * take. Pure. */
#ifndef CS_DECIDE_FORMS_H
#define CS_DECIDE_FORMS_H

#include "decide/guess.h"

/* The cost of a tiling: its seconds, and a price for each byte of scratch that is not free. */
struct cs_goal {
    double limit;   /* bytes of scratch that are allowed */
    double free;    /* bytes of scratch that cost nothing */
    double price;   /* seconds for each byte beyond */
    double slowest; /* seconds that are allowed */
};

/* In seconds. Infinite beyond the limits. */
double cs_goal_cost(const struct cs_goal *goal, double workspace, double seconds);

enum {
    CS_SINGLE_FORMS = 9,            /* of one axis: the first ones */
    CS_FORMS = CS_SINGLE_FORMS + 20 /* and pairs of them */
};

/* The tiles that are looked for. */
struct cs_forms {
    int lanes; /* 0: one or two */
    bool staged;
    enum cs_relaxation relaxation;
    unsigned skipped; /* a bit for each form that is left out, and one for uneven phases */
};

/* The forms to exclude after a guess of one is refused: for a single axis all that have this axis,
 * for a pair all pairs. For phases only those with phases, and for uneven forms only uneven ones.
 */
unsigned cs_forms_without(int form, const struct cs_guess *guess);

/* The guess of least cost of all forms, and the form's number. Pairs of axes are examined only if
 * no single axis costs about as little as the untiled time. Returns the cost, infinite without a
 * guess. */
double cs_forms_best(struct cs_guesser *guesser, const struct cs_goal *goal,
                     const struct cs_forms *forms, struct cs_guess *best, int *form_p);

#endif
