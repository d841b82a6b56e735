/* The candidates of a decision with their scores, for the summary. A pure value of fixed size. No
 * decision depends on it. */
#ifndef CONVSHIM_CHOICES_H
#define CONVSHIM_CHOICES_H

#include "convshim/plan.h"

enum {
    CS_MAX_CHOICES = 8
};

/* One candidate. No axis: the problem whole, as the application's plan has it or
 * (CS_SIMILAR_ENGINE) on another engine. */
struct cs_choice {
    double score;              /* the policy's cost, least is best; infinite or NaN: vetoed */
    int64_t workspace;         /* bytes on all lanes */
    int64_t step[CS_MAX_CUTS]; /* elements a tile; 1 without an axis */
    int16_t tiles;             /* launches, at most CS_MAX_TILES */
    uint8_t axis[CS_MAX_CUTS]; /* enum cs_axis */
    uint8_t lanes;             /* at least 1 */
    uint8_t relaxation;        /* enum cs_relaxation */
    uint8_t runs;              /* of other sizes at the beginning of the first cut */
    bool staged : 1;
    bool picked : 1; /* chosen by the policy or by measuring; at most one */
};

struct cs_choices {
    int listed; /* candidates that the policy scored; 0: no candidates were listed */
    int count;  /* of them, in `choice` */
    /* The best first, vetoed ones last. The untiled and the picked candidate are always included.
     */
    struct cs_choice choice[CS_MAX_CHOICES];
};

_Static_assert(CS_MAX_TILES <= INT16_MAX && CS_MAX_LANES <= UINT8_MAX, "a choice holds less");

#endif
