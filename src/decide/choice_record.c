/* Stores the candidates of a decision, with their scores, for summary and report. */
#include "decide/choice_record.h"

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
