/* A plan against its problem by brute force: a convolution is a list of terms, each an element of x
 * and one of w that go into an element of y, whichever of the three is computed. The tiles' lists,
 * by byte address, must be the whole's, cut up. */
#ifndef PLAN_TERMS_H
#define PLAN_TERMS_H

#include "check.h"
#include "convshim/plan.h"

enum {
    BRUTE_TERMS = 6000, /* most terms that are visited */
    BRUTE_SPAN = 10000  /* most elements that an operand may span */
};

__extension__ typedef __int128 wide;

static inline wide wide_span(const struct cs_tensor *tensor)
{
    wide elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements += (wide)(tensor->dims[dim] - 1) * tensor->strides[dim];
    return elements * cs_problem_dtype_size(tensor->dtype);
}

/* Element number `index` of a tensor in the order of its dimensions, as coordinates. */
static inline void coordinates(const struct cs_tensor *tensor, int64_t index, int64_t at[CS_DIMS])
{
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        at[dim] = index % tensor->dims[dim];
        index /= tensor->dims[dim];
    }
}

static inline int64_t byte_of(const struct cs_tensor *tensor, const int64_t at[CS_DIMS])
{
    int64_t element = 0;
    for (int dim = 0; dim < CS_DIMS; dim++)
        element += at[dim] * tensor->strides[dim];
    return element * cs_problem_dtype_size(tensor->dtype);
}

static inline int64_t elements_of(const struct cs_tensor *tensor)
{
    int64_t elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements *= tensor->dims[dim];
    return elements;
}

/* The whole convolution as a list of terms: elements of y, channels and taps of the filter. */
static struct {
    int owner[CS_OPERANDS][BRUTE_SPAN]; /* number of the element that lies there, or -1 */
    int hits[BRUTE_TERMS];
    int first[BRUTE_SPAN]; /* tiles that set an element of the result */
    int added[BRUTE_SPAN]; /* tiles that add to it */
} brute;

static inline bool map_operand(const struct cs_tensor *tensor, int *owner)
{
    int64_t size = cs_problem_dtype_size(tensor->dtype);
    if (wide_span(tensor) / size > BRUTE_SPAN)
        return false;
    memset(owner, -1, (size_t)(wide_span(tensor) / size) * sizeof *owner);
    for (int64_t i = 0; i < elements_of(tensor); i++) {
        int64_t at[CS_DIMS];
        coordinates(tensor, i, at);
        owner[byte_of(tensor, at) / size] = (int)i;
    }
    return true;
}

/* Where in the whole the element `local` of a tile's operand lies; false if nowhere. */
static inline bool whole_place(const struct cs_plan *plan, int operand, const struct cs_tile *tile,
                               const int64_t local[CS_DIMS], int64_t at[CS_DIMS])
{
    const struct cs_tensor *untiled = &plan->problem.tensor[operand];
    int64_t byte = tile->offset[operand] + byte_of(untiled, local);
    int64_t size = cs_problem_dtype_size(untiled->dtype);
    int index = byte < 0 || byte >= wide_span(untiled) ? -1 : brute.owner[operand][byte / size];
    if (index < 0)
        return false;
    coordinates(untiled, index, at);
    return true;
}

/* The elements of x and w at tap `w` of element `y`, w's channel counted within its group; false in
 * the padding. */
static inline bool term_of(const struct cs_problem *problem, const int64_t y[CS_DIMS],
                           const int64_t w[CS_DIMS], int64_t x[CS_DIMS])
{
    int64_t outputs = problem->tensor[CS_FILTER].dims[CS_N] / problem->groups;
    x[CS_N] = y[CS_N];
    x[CS_C] = y[CS_C] / outputs * problem->tensor[CS_FILTER].dims[CS_C] + w[CS_C];
    for (int i = 0; i < CS_SPATIAL; i++) {
        x[CS_D + i] =
            y[CS_D + i] * problem->stride[i] - problem->pre[i] + w[CS_D + i] * problem->dilation[i];
        if (x[CS_D + i] < 0 || x[CS_D + i] >= problem->tensor[CS_X].dims[CS_D + i])
            return false;
    }
    return true;
}

/* The filter of one output channel. */
static inline struct cs_tensor one_filter(const struct cs_problem *problem)
{
    struct cs_tensor filter = problem->tensor[CS_FILTER];
    filter.dims[CS_N] = 1;
    return filter;
}

static inline int64_t number_of(const struct cs_tensor *tensor, const int64_t at[CS_DIMS])
{
    int64_t number = 0;
    for (int dim = 0; dim < CS_DIMS; dim++)
        number = number * tensor->dims[dim] + at[dim];
    return number;
}

/* Every term of a tile is one of the whole: the same elements of x, w and y. */
static inline int foreign_terms(const struct cs_plan *plan, const struct cs_tile *tile,
                                const struct cs_problem *part)
{
    struct cs_tensor filter = one_filter(part), untiled_filter = one_filter(&plan->problem);
    int64_t terms = elements_of(&filter);
    int foreign = 0;
    for (int64_t i = 0; i < elements_of(&part->tensor[CS_Y]) * terms; i++) {
        int64_t y[CS_DIMS], w[CS_DIMS], x[CS_DIMS];
        int64_t untiled_y[CS_DIMS], untiled_w[CS_DIMS], untiled_x[CS_DIMS], same_x[CS_DIMS];
        coordinates(&part->tensor[CS_Y], i / terms, y);
        coordinates(&filter, i % terms, w);
        w[CS_N] = y[CS_C];
        if (!term_of(part, y, w, x))
            continue;
        if (!whole_place(plan, CS_Y, tile, y, untiled_y) ||
            !whole_place(plan, CS_FILTER, tile, w, untiled_w) ||
            !whole_place(plan, CS_X, tile, x, untiled_x) || untiled_w[CS_N] != untiled_y[CS_C] ||
            !term_of(&plan->problem, untiled_y, untiled_w, same_x) ||
            memcmp(untiled_x, same_x, sizeof same_x) != 0) {
            foreign++;
            continue;
        }
        untiled_w[CS_N] = 0;
        brute
            .hits[number_of(&plan->problem.tensor[CS_Y], untiled_y) * elements_of(&untiled_filter) +
                  number_of(&untiled_filter, untiled_w)]++;
    }
    return foreign;
}

/* The elements of a further tensor that go with an operand's in a tile do so in the whole, too. */
static inline int strays(const struct cs_plan *plan, const struct cs_tile *tile,
                         const struct cs_problem *part, int tensor)
{
    const struct cs_tensor *untiled = &plan->problem.tensor[tensor], *own = &part->tensor[tensor];
    int stray = 0;
    for (int64_t i = 0; i < elements_of(&part->tensor[own->side]); i++) {
        int64_t local[CS_DIMS], at[CS_DIMS];
        coordinates(&part->tensor[own->side], i, local);
        if (!whole_place(plan, (int)own->side, tile, local, at)) {
            stray++;
            continue;
        }
        for (int dim = 0; dim < CS_DIMS; dim++) {
            local[dim] = own->dims[dim] == 1 ? 0 : local[dim];
            at[dim] = untiled->dims[dim] == 1 ? 0 : at[dim];
        }
        stray += tile->offset[tensor] + byte_of(untiled, local) != byte_of(untiled, at);
    }
    return stray;
}

/* Every element of the result is set once, before anything is added to it. */
static inline int wrong_writes(const struct cs_plan *plan, const struct cs_tile *tile,
                               const struct cs_problem *part, bool adds)
{
    enum cs_operand result = cs_result(plan->problem.direction);
    int wrong = 0;
    for (int64_t i = 0; i < elements_of(&part->tensor[result]); i++) {
        int64_t local[CS_DIMS], at[CS_DIMS];
        coordinates(&part->tensor[result], i, local);
        if (!whole_place(plan, (int)result, tile, local, at))
            return wrong + 1;
        int64_t number = number_of(&plan->problem.tensor[result], at);
        wrong += adds ? brute.first[number] != 1 : brute.first[number] != 0;
        brute.first[number] += !adds;
        brute.added[number] += adds;
    }
    return wrong;
}

/* Every term of the whole in one tile, every element of the result set once; `first_sums` and
 * `second_sums`: the cuts are of axes that are summed over. False if the problem is too large to
 * look. */
static inline bool every_term_once(const struct cs_plan *plan, bool first_sums, bool second_sums)
{
    const struct cs_problem *untiled = &plan->problem;
    const struct cs_tensor *result = &untiled->tensor[cs_result(untiled->direction)];
    struct cs_tensor filter = one_filter(untiled);
    int64_t elements = elements_of(&untiled->tensor[CS_Y]), terms = elements_of(&filter);
    if (elements * terms > BRUTE_TERMS || elements_of(result) > BRUTE_SPAN)
        return false;
    for (int i = 0; i < CS_OPERANDS; i++)
        if (!map_operand(&untiled->tensor[i], brute.owner[i]))
            return false;
    memset(brute.hits, 0, sizeof brute.hits);
    memset(brute.first, 0, sizeof brute.first);
    memset(brute.added, 0, sizeof brute.added);
    int foreign = 0, stray = 0, wrong = 0, misses = 0, unset = 0;
    int64_t inner = plan->cuts > 1 ? plan->cut[1].tiles : 1;
    for (int64_t t = 0; t < plan->tiles; t++) {
        static struct cs_problem part;
        struct cs_tile tile;
        cs_plan_tile(plan, t, &tile);
        cs_plan_problem(plan, tile.shape, &part);
        foreign += foreign_terms(plan, &tile, &part);
        for (int i = CS_OPERANDS; i < untiled->tensors; i++)
            stray += strays(plan, &tile, &part, i);
        bool adds = (first_sums && t / inner > 0) || (second_sums && t % inner > 0);
        wrong += wrong_writes(plan, &tile, &part, adds);
    }
    for (int64_t i = 0; i < elements * terms; i++) {
        int64_t y[CS_DIMS], w[CS_DIMS], x[CS_DIMS];
        coordinates(&untiled->tensor[CS_Y], i / terms, y);
        coordinates(&filter, i % terms, w);
        misses += brute.hits[i] != term_of(untiled, y, w, x);
    }
    for (int64_t i = 0; i < elements_of(result); i++)
        unset += brute.first[i] != 1;
    CHECK_INT(foreign, 0);
    CHECK_INT(stray, 0);
    CHECK_INT(wrong, 0);
    CHECK_INT(misses, 0);
    CHECK_INT(unset, 0);
    return true;
}

#endif
