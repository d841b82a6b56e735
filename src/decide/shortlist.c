/* Chooses among the listed candidates: by cost, or by a comparison of the best ones. Records them
 * with their scores for summary and report. */
#include "decide/shortlist.h"

#include <math.h>

const struct cs_candidate *cs_shortlist_best(const struct cs_shortlist *list,
                                             const struct cs_policy *policy,
                                             const struct cs_limits *limits)
{
    const struct cs_candidate *best = NULL;
    double least = 0;
    for (int i = 0; i < list->count; i++) {
        double cost = cs_shortlist_cost(&list->candidate[i], policy, limits);
        if (__builtin_isfinite(cost) && (!best || cost < least)) {
            best = &list->candidate[i];
            least = cost;
        }
    }
    return best;
}

/* --- the comparison of the best ones --- */

static bool same_way(const struct cs_tiling *a, const struct cs_tiling *b)
{
    int lanes_a = a->lanes > 1 ? a->lanes : 1, lanes_b = b->lanes > 1 ? b->lanes : 1;
    return a->axis[0] == b->axis[0] && a->axis[1] == b->axis[1] && lanes_a == lanes_b;
}

static bool is_new(const struct cs_candidate *candidate,
                   const struct cs_candidate *const contender[], int count)
{
    for (int i = 0; i < count; i++)
        if (same_way(&candidate->tiling, &contender[i]->tiling))
            return false;
    return true;
}

/* The policy's best candidate of each way to cut (axes and lanes), best first: at most `most`,
 * without candidates that the policy vetoes or that cost more than the untiled call. Returns how
 * many. */
static int contenders(const struct cs_shortlist *list, const struct cs_policy *policy,
                      const struct cs_limits *limits, int most,
                      const struct cs_candidate *contender[CS_MAX_CONTENDERS])
{
    int count = 0;
    for (; count < most && count < CS_MAX_CONTENDERS; count++) {
        double least = INFINITY;
        contender[count] = NULL;
        for (int i = 0; i < list->count; i++) {
            const struct cs_candidate *candidate = &list->candidate[i];
            double cost = cs_shortlist_cost(candidate, policy, limits);
            if (cost < least && is_new(candidate, contender, count)) {
                contender[count] = candidate;
                least = cost;
            }
        }
        if (!contender[count] || contender[count]->tiling.axis[0] == CS_AXIS_NONE)
            break;
    }
    return count;
}

const struct cs_candidate *cs_contest(const struct cs_shortlist *list,
                                      const struct cs_policy *policy,
                                      const struct cs_limits *limits,
                                      const struct cs_referee *referee,
                                      const struct cs_candidate *best)
{
    const struct cs_candidate *contender[CS_MAX_CONTENDERS];
    if (!referee || policy->contenders < 2 || !best || best->tiling.axis[0] == CS_AXIS_NONE)
        return best;
    int count = contenders(list, policy, limits, policy->contenders, contender);
    int chosen = count > 1 ? referee->choose(referee->ctx, contender, count) : 0;
    return count > 0 && chosen >= 0 && chosen < count ? contender[chosen] : best;
}

/* --- the record --- */

static bool is_better(double a, double b)
{
    return __builtin_isfinite(a) && (!__builtin_isfinite(b) || a < b);
}

/* The index of the best candidate that is not recorded yet, or -1. With `only`, candidates that
 * must be recorded. Vetoed ones come last. Among equals the first listed one wins. */
static int next_best(const struct cs_shortlist *list, const double score[],
                     const struct cs_candidate *picked, bool only, const bool taken[])
{
    int best = -1;
    for (int i = 0; i < list->count; i++) {
        bool kept = i == 0 || &list->candidate[i] == picked;
        if (taken[i] || (only && !kept))
            continue;
        if (best < 0 || is_better(score[i], score[best]))
            best = i;
    }
    return best;
}

static struct cs_choice choice_of(const struct cs_shortlist *list, int64_t required, int index,
                                  double score)
{
    const struct cs_candidate *candidate = &list->candidate[index];
    const struct cs_tiling *tiling = &candidate->tiling;
    return (struct cs_choice){.score = score,
                              .workspace = index == 0 ? required : candidate->workspace,
                              .step = {tiling->step[0], tiling->step[1]},
                              .tiles = (int16_t)candidate->tiles,
                              .axis = {(uint8_t)tiling->axis[0], (uint8_t)tiling->axis[1]},
                              .lanes = (uint8_t)(tiling->lanes > 1 ? tiling->lanes : 1),
                              .relaxation = (uint8_t)tiling->relaxation,
                              .runs = (uint8_t)tiling->runs,
                              .staged = tiling->staged};
}

void cs_choice_record_add(const struct cs_shortlist *list, int64_t required,
                          const struct cs_policy *policy, const struct cs_limits *limits,
                          const struct cs_candidate *picked, struct cs_choices *choices)
{
    double score[CS_MAX_CANDIDATES];
    bool taken[CS_MAX_CANDIDATES] = {false};
    int kept = picked && picked != &list->candidate[0] ? 2 : 1;
    for (int i = 0; i < list->count; i++)
        score[i] = cs_shortlist_cost(&list->candidate[i], policy, limits);
    *choices = (struct cs_choices){.listed = list->count};
    while (choices->count < CS_MAX_CHOICES) {
        bool only = CS_MAX_CHOICES - choices->count <= kept;
        int index = next_best(list, score, picked, only, taken);
        if (index < 0)
            return;
        taken[index] = true;
        kept -= index == 0 || &list->candidate[index] == picked;
        struct cs_choice *choice = &choices->choice[choices->count++];
        *choice = choice_of(list, required, index, score[index]);
        choice->picked = &list->candidate[index] == picked;
    }
}
