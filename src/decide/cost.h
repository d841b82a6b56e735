/* Predicts the time of a plan on a device, from the plan alone. It is for comparing ways to run one
 * problem, because all predictions have the same errors. Pure. Any thread. No product can overflow,
 * because all numbers are double. */
#ifndef CS_DECIDE_COST_H
#define CS_DECIDE_COST_H

#include "convshim/plan.h"
#include "convshim/profile.h"

/* The predicted cost of a call. */
struct cs_cost {
    double seconds; /* predicted, of the whole call, with kernel_us_least for each kernel; above 0
                       and finite */
    double most;    /* the same with kernel_us_most: not below `seconds` */
    double decided; /* the same with kernel_us: the best estimate, by which tilings are compared */
    double memory;  /* seconds of all tiles' memory traffic alone, conversions included */
    double arithmetic; /* seconds of all tiles' waves alone */
};

/* Both ends of a predicted time, in seconds or as a multiple of another time: with kernel_us_least
 * and with kernel_us_most for each kernel. They are equal if the device's ladder is known. */
struct cs_times {
    double least, most;
};

/* Both ends of the predicted time of `cost`, in seconds. */
struct cs_times cs_cost_times(const struct cs_cost *cost);

/* Tiled times as multiples of untiled ones, of one call or of sums. `most` is not below `least`.
 * {0, 0} if `untiled` is 0. */
struct cs_times cs_cost_ratio(struct cs_times tiled, struct cs_times untiled);

/* Bytes that the device's memory can move in a second, at most. */
double cs_cost_bandwidth(const struct cs_profile *profile);

/* The coefficients of the cost model: one member for each row of cost.def. */
struct cs_coefficients {
#define CS_COST(name, value, least, most, unit, meaning) double name;
#include "decide/cost.def"
#undef CS_COST
};
extern const struct cs_coefficients cs_cost_defaults;

/* The predicted cost of a plan from cs_plan_cut whose shapes' workspaces are known. A plan without
 * cuts is the untiled call, which requires `required` bytes of workspace (0: unknown). The
 * profile's ladder replaces coefficients. */
struct cs_cost cs_cost_of(const struct cs_plan *plan, int64_t required,
                          const struct cs_profile *profile);

/* Like cs_cost_of, with other coefficients, each within its bounds, and without the ladder. */
struct cs_cost cs_cost_with(const struct cs_plan *plan, int64_t required,
                            const struct cs_profile *profile,
                            const struct cs_coefficients *coefficients);

/* The predicted cost of a call that is not tiled. Its plan requires `required` bytes of workspace.
 */
struct cs_cost cs_cost_untiled(const struct cs_problem *problem, int64_t required,
                               const struct cs_profile *profile);

/* Tiles of one extent. */
struct cs_cost_tiles {
    double count;     /* tiles; an incomplete one at the end of an axis counts as a fraction */
    double launched;  /* tiles; an incomplete one counts as one */
    double workspace; /* bytes of one, with `staged` */
    double staged;    /* bytes of the packed copies of one */
    double required;  /* bytes of workspace of the untiled call; 0: unknown */
    int lanes;        /* lanes that the tiles run on; 0 means 1 */
    enum cs_relaxation relaxation;
};

/* The predicted cost of `tiles` tiles of one extent (cs_typical_tile), without a plan. */
struct cs_cost cs_cost_of_tiles(const struct cs_problem *untiled, const struct cs_problem *tile,
                                const struct cs_cost_tiles *tiles,
                                const struct cs_profile *profile);

#endif
