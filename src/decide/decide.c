/* Makes a decision from a problem: searches for the tiling of least cost, then for its fallback
 * plan. */
#include "decide/decide.h"

#include "base/checked.h"
#include "decide/cost.h"
#include "decide/search.h"

/* The state of a decision in progress. */
struct deciding {
    int64_t tiles; /* the policy's fixed number of tiles; 0: the number of least cost */
    struct cs_limits limits;
    struct cs_profile profile;
    struct cs_question question;
    struct cs_search search;
    double untiled_seconds;
    enum cs_reason
        missed; /* why no tiling meets a written workspace, if one above it is searched */
};

enum {
    SLOW = 2 /* a tiling that takes more than this multiple of the untiled time is slow */
};

/* The longest time of tiles above a workspace that the user wrote, relative to the untiled time. */
static const double SLOWEST_ABOVE = 1.5;

/* The threshold in bytes. Calls that require at most this much are not tiled. A threshold that the
 * user wrote may be above the workspace. */
static int64_t threshold_of(const struct cs_limits *limits)
{
    if (limits->threshold >= 0)
        return limits->threshold;
    return limits->workspace >= 0 ? limits->workspace : CS_LEFT_ALONE;
}

int64_t cs_decide_ignored(const struct cs_limits *limits)
{
    int64_t threshold = threshold_of(limits);
    return threshold > 0 ? threshold : -1;
}

static bool within_threshold(int64_t required, int64_t tiles, const struct cs_limits *limits)
{
    int64_t threshold = threshold_of(limits);
    return (threshold > 0 || tiles == 0) && required <= threshold;
}

struct cs_decision cs_decide_leave(enum cs_reason reason, int64_t required)
{
    return (struct cs_decision){
        .reason = reason,
        .tiling = {.step = {1, 1}},
        .tiles = 1,
        .required = required,
        .reported = required,
        .scratch = required,
    };
}

bool cs_decide_tiles(const struct cs_decision *decision)
{
    return decision->reason == CS_REASON_NONE || decision->reason == CS_REASON_REPORT_ONLY;
}

static struct cs_decision leave_untiled(const struct deciding *deciding, enum cs_reason reason)
{
    struct cs_decision decision = cs_decide_leave(reason, deciding->question.required);
    decision.queries = deciding->search.budget.queries;
    return decision;
}

/* The most scratch bytes that tiles may need if no workspace is written. */
static int64_t most_of(const struct deciding *deciding)
{
    const struct cs_limits *limits = &deciding->limits;
    const int64_t required = deciding->question.required;
    return deciding->tiles == 0 && limits->most > 0 ? cs_min(limits->most, required) : required;
}

/* The most scratch bytes that tiles may need. A policy with a fixed number of tiles has no limit
 * except a workspace that the caller provides. */
static int64_t limit_of(const struct deciding *deciding)
{
    const struct cs_limits *limits = &deciding->limits;
    if (limits->workspace >= 0 && (limits->provided || deciding->tiles == 0))
        return cs_min(limits->workspace, deciding->question.required);
    return most_of(deciding);
}

/* Begins a search under these limits, with the untiled call as the best candidate so far. */
static void begin_search(struct deciding *deciding, int64_t limit, double slowest)
{
    struct cs_question *question = &deciding->question;
    question->limit = limit;
    question->slowest = slowest;
    cs_probe_begin(&deciding->search, question,
                   cs_question_untiled(question, question->required, deciding->untiled_seconds));
}

/* The longest allowed seconds of tiles. */
static double slowest_of(const struct deciding *deciding)
{
    const int64_t max_slowdown = deciding->limits.max_slowdown;
    return max_slowdown > 0 && deciding->tiles == 0
               ? deciding->untiled_seconds * (double)max_slowdown / 1000
               : __builtin_inf();
}

/* True if no other set of tilings is to be searched: a tiling was found that is not slow, or is
 * possible but costs too much. */
static bool is_done(const struct deciding *deciding)
{
    const struct cs_search *search = &deciding->search;
    return search->possible ||
           (search->found && search->best.seconds <= SLOW * deciding->untiled_seconds);
}

/* Searches with the application's knobs first. If that does not end the search (is_done), it
 * searches with the engine's default knobs, then for another engine for the untiled call. */
static enum cs_status search_engines(struct deciding *deciding, struct cs_mode mode,
                                     int64_t queries)
{
    const struct cs_vendor *vendor = deciding->question.vendor;
    enum cs_status status = cs_search_guesses(&deciding->search, mode, queries);
    if (status != CS_OK || is_done(deciding) || vendor->rigid || vendor->compiles)
        return status;
    mode.relaxation = CS_DEFAULT_KNOBS;
    status = cs_search_guesses(&deciding->search, mode, queries);
    return status == CS_OK && !is_done(deciding) ? cs_search_similar(&deciding->search, queries)
                                                 : status;
}

/* The reason why no tiling is better than the untiled call. A fixed number of tiles has no
 * predicted time, and no limit of scratch unless the caller provided a workspace. */
static enum cs_reason reason_untiled(const struct deciding *deciding)
{
    const struct cs_search *search = &deciding->search;
    const bool fixed = deciding->tiles > 0;
    if (deciding->missed != CS_REASON_NONE)
        return deciding->missed;
    if (search->budget.queries > 0 && search->budget.answered == 0)
        return CS_REASON_VENDOR;
    if (search->found || search->possible)
        return !fixed && search->slow ? CS_REASON_SLOW : CS_REASON_NO_GAIN;
    if (search->budget.queries == 0 && search->overflowed)
        return CS_REASON_OVERFLOW;
    return fixed && !deciding->limits.provided ? CS_REASON_NO_GAIN : CS_REASON_NO_TILING;
}

/* Searches for tiles above a workspace that the user wrote, which no tiling has met. */
static enum cs_status search_above(struct deciding *deciding, struct cs_mode mode, int64_t queries)
{
    const int64_t used = deciding->search.budget.queries;
    const double bound = SLOWEST_ABOVE * deciding->untiled_seconds;
    const double slowest = slowest_of(deciding);
    deciding->missed = reason_untiled(deciding);
    begin_search(deciding, most_of(deciding), bound < slowest ? bound : slowest);
    deciding->search.budget.queries = used;
    return search_engines(deciding, mode, queries);
}

/* Searches all sets of tilings that the options allow. Packed copies are tried if no view is within
 * the limits, and if cuDNN refused a view that would cost less than those that are. */
static enum cs_status search_all(struct deciding *deciding)
{
    const struct cs_vendor *vendor = deciding->question.vendor;
    const struct cs_limits *limits = &deciding->limits;
    struct cs_search *search = &deciding->search;
    int64_t queries = vendor->compiles ? CS_COMPILED_QUERIES : CS_MODE_QUERIES;
    struct cs_mode mode = {.lanes = limits->lanes, .staged = limits->staging == CS_STAGING_ALWAYS};
    if (deciding->tiles > 0) {
        mode.lanes = limits->lanes > 0 ? limits->lanes : 1;
        return cs_search_count(search, mode, deciding->tiles, queries);
    }
    const bool limited = deciding->question.limit < deciding->question.required;
    enum cs_status status = search_engines(deciding, mode, queries);
    if (status == CS_OK && limits->staging == CS_STAGING_AUTO &&
        (!is_done(deciding) || search->refused || (limited && !search->found))) {
        const struct cs_mode copies = {.lanes = limits->lanes, .staged = true};
        status = cs_search_guesses(search, copies, queries);
    }
    const bool missed = limits->workspace >= 0 && !limits->provided && limited && !search->found;
    return status == CS_OK && missed ? search_above(deciding, mode, queries) : status;
}

/* --- the decision ----------------------------------------------------------------------------- */

/* Builds the fallback plan to learn its workspace, and destroys it. */
static enum cs_status query_fallback(struct cs_search *search, int64_t limit, int64_t *workspace_p)
{
    const struct cs_vendor *vendor = search->question->vendor;
    void *execution_plan = NULL;
    int64_t workspace = 0;
    search->budget.queries++;
    enum cs_status status = vendor->fallback(vendor->ctx, limit, &execution_plan, &workspace);
    if (status != CS_OK)
        return status;
    vendor->destroy(execution_plan);
    if (workspace < 0 || workspace > limit)
        return CS_REFUSED;
    *workspace_p = workspace;
    return CS_OK;
}

/* Finds the fallback plan of a tiling, and sets decision->reported. It searches first within the
 * workspace that tiles need anyway, then within the limit. Returns CS_REASON_NONE, or the reason
 * not to tile. */
static enum cs_reason find_fallback(struct deciding *deciding, struct cs_decision *decision)
{
    const struct cs_limits *limits = &deciding->limits;
    int64_t allowed = limits->workspace >= 0 ? limits->workspace : limits->free;
    int64_t most = cs_min(decision->required, allowed);
    int64_t provided = limits->lent ? 0 : decision->scratch, workspace = 0;
    enum cs_status status = query_fallback(&deciding->search, provided, &workspace);
    if (status != CS_OK && status != CS_NOMEM && most > provided)
        status = query_fallback(&deciding->search, most, &workspace);
    if (status == CS_NOMEM)
        return CS_REASON_HOST_MEMORY;
    if (status != CS_OK)
        return CS_REASON_NO_FALLBACK;
    decision->reported = workspace > provided ? workspace : provided;
    return CS_REASON_NONE;
}

/* Makes the decision from the best candidate and its fallback plan. Without one of them, the call
 * stays untiled. */
static struct cs_decision decision_of(struct deciding *deciding)
{
    const struct cs_candidate *best = &deciding->search.best;
    int64_t required = deciding->question.required;
    if (best->tiling.axis[0] == CS_AXIS_NONE && best->tiling.relaxation == CS_SAME_KNOBS)
        return leave_untiled(deciding, reason_untiled(deciding));
    struct cs_decision decision = {
        .tiling = best->tiling,
        .tiles = best->tiles,
        .required = required,
        .reported = required,
        .scratch = best->workspace,
    };
    decision.reason = find_fallback(deciding, &decision);
    if (decision.reason != CS_REASON_NONE)
        return leave_untiled(deciding, decision.reason);
    if (deciding->question.policy->report_only)
        decision.reason = CS_REASON_REPORT_ONLY;
    decision.queries = deciding->search.budget.queries;
    return decision;
}

struct cs_decision cs_decide(const struct cs_problem *problem, int64_t required,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor)
{
    int64_t tiles = policy->tiles(limits);
    if (within_threshold(required, tiles, limits))
        return cs_decide_leave(CS_REASON_SMALL, required);
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    struct deciding deciding = {.tiles = tiles, .limits = *limits};
    if (profile)
        deciding.profile = *profile;
    deciding.profile.ladder.known = false; /* measured constants change no size */
    if (limits->workspace >= 0)
        deciding.limits.free = limits->workspace;
    deciding.limits.byte_seconds =
        (double)limits->price / 1000 / cs_cost_bandwidth(&deciding.profile);
    deciding.question = (struct cs_question){.problem = problem,
                                             .vendor = vendor,
                                             .profile = &deciding.profile,
                                             .policy = policy,
                                             .limits = &deciding.limits,
                                             .required = required,
                                             .copies = limits->staging != CS_STAGING_NEVER};
    deciding.untiled_seconds = cs_cost_untiled(problem, required, &deciding.profile).decided;
    begin_search(&deciding, limit_of(&deciding), slowest_of(&deciding));
    if (search_all(&deciding) != CS_OK)
        return leave_untiled(&deciding, CS_REASON_HOST_MEMORY);
    struct cs_decision decision = decision_of(&deciding);
    decision.raised = limits->workspace >= 0 && cs_decide_tiles(&decision) &&
                      decision.scratch > limits->workspace;
    return decision;
}
