/* From a problem to a decision: lists the legal candidates, lets the policy score them, and
 * picks. */
#include "decide/decide.h"

#include "decide/choice_record.h"
#include "decide/contest.h"
#include "decide/further.h"
#include "decide/price.h"
#include "decide/staged_search.h"
#include "decide/tilings.h"

/* The user's own may be above the workspace, too: then calls between the two are not tiled. */
static int64_t threshold_of(const struct cs_limits *limits)
{
    return limits->threshold >= 0 ? limits->threshold : limits->workspace;
}

int64_t cs_decide_ignored(const struct cs_limits *limits)
{
    int64_t threshold = threshold_of(limits);
    return threshold > 0 ? threshold : -1;
}

static bool within_threshold(int64_t required, int64_t tiles, const struct cs_limits *limits)
{
    int64_t threshold = threshold_of(limits);
    if (threshold == 0 && tiles > 0)
        return false;
    return required <= threshold;
}

static double untiled_seconds(struct cs_search *search, int64_t required)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    if (!search->question->profile ||
        cs_plan_cut(search->question->problem, &untiled, &search->plan) != CS_OK)
        return 0;
    search->plan.shape[0].workspace = required;
    return cs_search_seconds(search);
}

static void list_untiled(struct cs_search *search, int64_t required)
{
    search->list.candidate[search->list.count++] = (struct cs_candidate){
        .tiling = {.step = {1, 1}},
        .tiles = 1,
        .shapes = 1,
        .workspace = required,
        .required = required,
        .seconds = untiled_seconds(search, required),
    };
}

static enum cs_reason reason_untiled(const struct cs_search *search,
                                     const struct cs_candidate *best, int64_t required,
                                     const struct cs_limits *limits)
{
    if (best && required <= limits->workspace)
        return CS_REASON_SMALL;
    if (cs_shortlist_empty(&search->list) && search->purse.asked > 0 && search->purse.answered == 0)
        return CS_REASON_VENDOR;
    if (cs_shortlist_empty(&search->list) && search->purse.asked == 0 && search->overflowed)
        return CS_REASON_OVERFLOW;
    return !cs_shortlist_empty(&search->list) ? CS_REASON_NO_GAIN : CS_REASON_NO_TILING;
}

static enum cs_status try_fallback(struct cs_search *search, int64_t limit, int64_t *workspace_p)
{
    const struct cs_vendor *vendor = search->question->vendor;
    void *execution_plan = NULL;
    int64_t workspace = 0;
    search->purse.asked++;
    enum cs_status status = vendor->fallback(vendor->ctx, limit, &execution_plan, &workspace);
    if (status != CS_OK)
        return status;
    vendor->destroy(execution_plan);
    if (workspace < 0 || workspace > limit)
        return CS_REFUSED;
    *workspace_p = workspace;
    return CS_OK;
}

/* First with what the caller provides for the tiles anyway; a fallback plan that needs more may
 * raise that within the limit. */
static enum cs_reason find_fallback(struct cs_search *search, const struct cs_limits *limits,
                                    struct cs_decision *decision)
{
    int64_t most = decision->required < limits->workspace ? decision->required : limits->workspace;
    int64_t provided = limits->lent ? 0 : decision->scratch, workspace = 0;
    enum cs_status status = try_fallback(search, provided, &workspace);
    if (status != CS_OK && status != CS_NOMEM && most > provided)
        status = try_fallback(search, most, &workspace);
    if (status == CS_NOMEM)
        return CS_REASON_HOST_MEMORY;
    if (status != CS_OK)
        return CS_REASON_NO_FALLBACK;
    decision->reported = workspace > provided ? workspace : provided;
    /* Not beyond what is required: a threshold below the limits lets such calls in. */
    int64_t least = limits->least < decision->required ? limits->least : decision->required;
    if (decision->reported < least)
        decision->reported = least;
    return CS_REASON_NONE;
}

static struct cs_decision leave(enum cs_reason reason, int64_t required, int64_t asked)
{
    return (struct cs_decision){
        .reason = reason,
        .tiling = {.step = {1, 1}},
        .tiles = 1,
        .required = required,
        .reported = required,
        .scratch = required,
        .asked = asked,
    };
}

struct cs_decision cs_decide_leave(enum cs_reason reason, int64_t required)
{
    return leave(reason, required, 0);
}

/* The last link of the limits' chain (limits_for of by_rules.c has those before it): what a tiling
 * may need. Tiles of huge tensors may be given what the user allows although nothing was required.
 * A policy of fixed counts may exceed what the user allows, but nothing else exceeds what was
 * required or what the caller has provided. */
static int64_t most_scratch(int64_t tiles, bool huge, int64_t required,
                            const struct cs_limits *limits)
{
    bool free = tiles > 0 && !limits->provided;
    if (huge)
        return limits->workspace;
    return free || required < limits->workspace ? required : limits->workspace;
}

/* A policy that vetoes everything, or prefers the untiled call, is not asked again. */
static enum cs_status pick(struct cs_search *search, struct cs_mode mode,
                           const struct cs_policy *policy, int64_t tiles,
                           const struct cs_limits *limits, const struct cs_candidate **best_p)
{
    /* Neither counts that the user fixed nor tensors that are cut for another engine's sake. */
    bool priced = tiles == 0 && search->question->required > 0;
    if (priced)
        cs_price_mark(search, limits);
    const struct cs_candidate *best = cs_shortlist_best(&search->list, policy, limits);
    bool content = !best || best->tiling.axis[0] == CS_AXIS_NONE;
    int listed = search->list.count;
    enum cs_status status = CS_OK;
    if (tiles == 0 && !content)
        status = cs_further_list(search, mode, tiles, limits);
    if (search->list.count != listed) {
        if (priced)
            cs_price_mark(search, limits);
        best = cs_shortlist_best(&search->list, policy, limits);
    }
    *best_p = best;
    return status;
}

/* The decision for what was picked; NULL: nothing was. */
static struct cs_decision decision_for(struct cs_search *search, const struct cs_policy *policy,
                                       const struct cs_limits *limits,
                                       const struct cs_candidate *best)
{
    int64_t required = search->question->required;
    if (!best || best == &search->list.candidate[0])
        return leave(reason_untiled(search, best, required, limits), required, search->purse.asked);
    struct cs_decision decision = {
        .reason = CS_REASON_REPORT_ONLY,
        .tiling = best->tiling,
        .tiles = best->tiles,
        .required = required,
        .reported = required,
        .scratch = best->workspace,
    };
    if (!policy->report_only) {
        decision.reason = find_fallback(search, limits, &decision);
        if (decision.reason != CS_REASON_NONE)
            return leave(decision.reason, required, search->purse.asked);
    }
    decision.asked = search->purse.asked;
    return decision;
}

/* A decision under way. */
struct deciding {
    const struct cs_policy *policy;
    const struct cs_limits *limits;
    const struct cs_referee *referee; /* NULL: nobody compares */
    int64_t tiles;                    /* of the policy's fixed number */
    bool huge;
    struct cs_question question;
    struct cs_limits allowed; /* the limits with what became of workspace */
    const struct cs_candidate *best;
};

/* True where prices decide how much scratch tiles get. */
static bool is_priced(const struct deciding *deciding)
{
    const struct cs_limits *limits = deciding->limits;
    return limits->max_slowdown > 0 && deciding->tiles == 0 && !deciding->huge &&
           deciding->question.required > limits->workspace;
}

/* What tiles may have where workspace is raised. */
static int64_t most_raised(const struct deciding *deciding)
{
    int64_t most = deciding->question.required - deciding->limits->min_saving - 1;
    return deciding->limits->most > 0 && deciding->limits->most < most ? deciding->limits->most
                                                                       : most;
}

/* Tilings within max_slowdown. Whatever is listed before is dear. */
static enum cs_status list_priced(struct cs_search *search, struct deciding *deciding,
                                  enum cs_priced *priced_p)
{
    int64_t workspace, limit = deciding->question.limit, most = most_raised(deciding);
    cs_shortlist_clear(&search->list);
    search->purse.left = search->question->vendor->compiles ? CS_COMPILED_ASKS : CS_PRICE_ASKS;
    search->purse.kept = 0;
    search->equal_padding = false;
    search->unequal = 0;
    deciding->question.limit = most > limit ? most : limit;
    enum cs_status status = cs_price_search(search, deciding->limits, priced_p, &workspace);
    deciding->question.limit = limit;
    if (status == CS_OK && *priced_p == CS_PRICED) {
        deciding->allowed.workspace = workspace;
        cs_price_mark(search, &deciding->allowed);
        deciding->best = cs_shortlist_best(&search->list, deciding->policy, &deciding->allowed);
    } else {
        cs_shortlist_clear(&search->list);
    }
    return status;
}

/* The least that tiles can do with, where that is more than they may have and prices do not say how
 * much more. */
static enum cs_status list_least(struct cs_search *search, struct deciding *deciding)
{
    const struct cs_limits *limits = deciding->limits;
    if (!limits->exceeds || limits->provided || is_priced(deciding) || deciding->tiles > 0 ||
        deciding->huge || search->question->vendor->compiles || !cs_shortlist_empty(&search->list))
        return CS_OK;
    search->purse.left = CS_LEAST_ASKS;
    search->purse.kept = 0;
    enum cs_status status =
        cs_price_least(search, most_raised(deciding), &deciding->question.limit);
    if (deciding->question.limit > limits->workspace)
        deciding->allowed.workspace = deciding->question.limit;
    return status;
}

static enum cs_status list_and_pick(struct cs_search *search, struct deciding *deciding)
{
    struct cs_mode mode = {.staged = deciding->limits->staging == CS_STAGING_ALWAYS};
    enum cs_status status = deciding->huge
                                ? cs_tilings_list_huge(search, &mode)
                                : cs_tilings_list(search, deciding->tiles, deciding->limits, &mode);
    if (status == CS_OK)
        status = list_least(search, deciding);
    if (status == CS_OK)
        status = pick(search, mode, deciding->policy, deciding->tiles, &deciding->allowed,
                      &deciding->best);
    if (status == CS_OK)
        deciding->best = cs_contest(&search->list, deciding->policy, &deciding->allowed,
                                    deciding->referee, deciding->best);
    return status;
}

/* Where prices decide, they are asked for first: mostly two questions do. Policies that weigh
 * tilings themselves, and staged ones, are served first; nothing but the price is left to those for
 * which they find nothing. */
static enum cs_status search_all(struct cs_search *search, struct deciding *deciding,
                                 enum cs_priced *priced_p)
{
    const struct cs_policy *policy = deciding->policy;
    bool last = policy->contenders > 1 || deciding->limits->staging == CS_STAGING_ALWAYS;
    enum cs_status status = CS_OK;
    *priced_p = CS_UNPRICED;
    if (is_priced(deciding) && !last)
        status = list_priced(search, deciding, priced_p);
    if (status == CS_OK && *priced_p == CS_UNPRICED)
        status = list_and_pick(search, deciding);
    if (status == CS_OK && is_priced(deciding) && last && !deciding->best)
        status = list_priced(search, deciding, priced_p);
    return status;
}

/* What was found as a decision, and how it came to be for people. */
static struct cs_decision decided(struct cs_search *search, const struct deciding *deciding,
                                  enum cs_priced priced)
{
    const struct cs_limits *limits = deciding->limits;
    struct cs_limits granted = deciding->allowed; /* less than the limit is no limit for others */
    if (granted.workspace < limits->workspace)
        granted.workspace = limits->workspace;
    struct cs_decision decision = decision_for(search, deciding->policy, &granted, deciding->best);
    bool dear = priced == CS_DEAR ||
                (!deciding->best && is_priced(deciding) && !cs_shortlist_empty(&search->list));
    if (!deciding->best && dear)
        decision.reason = CS_REASON_DEAR;
    decision.raised = granted.workspace > limits->workspace && decision.tiles > 1;
    cs_choice_record_add(&search->list, deciding->question.required, deciding->policy,
                         &deciding->allowed, deciding->best, &decision.choices);
    return decision;
}

struct cs_decision cs_decide_judged(const struct cs_problem *problem, int64_t required,
                                    const struct cs_policy *policy, const struct cs_limits *limits,
                                    const struct cs_vendor *vendor,
                                    const struct cs_referee *referee)
{
    int64_t tiles = policy->tiles(limits);
    /* Where cuDNN has another engine than the plain one, that requires a workspace. */
    bool huge = tiles == 0 && required == 0 && cs_staged_search_is_huge(problem, limits->huge);
    if (!huge && within_threshold(required, tiles, limits))
        return leave(CS_REASON_SMALL, required, 0);

    bool thorough = referee && policy->contenders > 1 && !vendor->compiles;
    /* What only reports leaves the driver's counters alone, too. */
    bool asks = vendor->profile && tiles == 0 && !policy->report_only;
    struct deciding deciding = {
        .policy = policy,
        .limits = limits,
        .referee = thorough ? referee : NULL,
        .tiles = tiles,
        .huge = huge,
        .allowed = *limits,
        .question = {.problem = problem,
                     .vendor = vendor,
                     .profile = asks ? vendor->profile(vendor->ctx) : NULL,
                     .required = required,
                     .limit = most_scratch(tiles, huge, required, limits),
                     .thorough = thorough,
                     .copies = limits->staging != CS_STAGING_NEVER},
    };
    struct cs_search search = {.question = &deciding.question};
    enum cs_priced priced;
    list_untiled(&search, huge ? INT64_MAX : required);
    if (search_all(&search, &deciding, &priced) != CS_OK)
        return leave(CS_REASON_HOST_MEMORY, required, search.purse.asked);
    return decided(&search, &deciding, priced);
}

struct cs_decision cs_decide(const struct cs_problem *problem, int64_t required,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor)
{
    return cs_decide_judged(problem, required, policy, limits, vendor, NULL);
}
