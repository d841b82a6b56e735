/* Searches all ways to tile along one or two axes, by predicted workspace and time. A form is a
 * choice of one or two axes. Pure. */
#ifndef CS_DECIDE_FORMS_H
#define CS_DECIDE_FORMS_H

#include "decide/guess.h"

enum {
    CS_SINGLE_FORMS = 9,            /* forms with one axis, which come first */
    CS_FORMS = CS_SINGLE_FORMS + 20 /* single axes and pairs of axes */
};

/* The outer axis of a form. */
enum cs_axis cs_forms_axis(int form);

/* The set of tiles to search. */
struct cs_forms {
    int lanes; /* 0: one or two */
    bool staged;
    enum cs_relaxation relaxation;
    bool scattered;   /* phases with scattered elements are included */
    unsigned skipped; /* one bit for each excluded form, and one for uneven phases */
};

/* The forms to exclude after the vendor refused a guess of `form`:
 * - for uneven phases all uneven ones,
 * - for a single axis all forms with this axis,
 * - for a pair whose inner axis is cut by phase all pairs with this axis,
 * - for any other pair all pairs. */
unsigned cs_forms_without(int form, const struct cs_guess *guess);

/* Finds the form whose guess costs least, and that guess. Returns its cost, or infinity if no form
 * has a guess. Forms are examined in stages, pairs of axes last. The search ends after a stage in
 * which a form costs little more than the untiled call would without scratch. Costs of the policy
 * are assumed to rise with scratch and time. */
double cs_forms_best(struct cs_guesser *guesser, const struct cs_forms *forms,
                     struct cs_guess *best_p, int *form_p);

#endif
