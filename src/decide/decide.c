/* Makes a decision from a problem: lists tilings of low cost, lets the policy score them, and picks
 * one. */
#include "decide/decide.h"

#include "decide/cost.h"
#include "decide/price.h"

static const double MIB = 1 << 20;

/* Seconds for each byte in a search for the least scratch: 100 ms for each MiB, so that time only
 * decides between tilings of equal scratch. */
static const double LEAST_SECONDS = 0.1 / (1 << 20);

enum {
    NEARLY = 16, /* a raised limit is above the least scratch by this part of it */
    SLOW = 2,    /* times the untiled call */
    HALVINGS = 3 /* of a limit under which all tilings found are slow */
};

/* A decision under way. */
struct deciding {
    const struct cs_policy *policy;
    int64_t tiles; /* of the policy's fixed number */
    bool huge;
    struct cs_limits limits;
    struct cs_question question;
    struct cs_search search;
    const struct cs_candidate *best; /* NULL: the policy vetoes all */
    bool dear;                       /* tilings are guessed to cost more than they save */
    bool raised;                     /* no tiling fits the limit: the least scratch is searched */
};

/* A threshold that the user wrote may be above the workspace. Then calls between the two are not
 * tiled. */
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

/* True if cuDNN has another engine for it than the plain one, which requires a workspace. */
static bool is_huge(const struct cs_problem *problem, int64_t elements)
{
    for (int i = 0; elements > 0 && i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        int64_t bytes;
        if (cs_problem_tensor_span(tensor, &bytes) == CS_OK &&
            bytes / cs_problem_dtype_size(tensor->dtype) >= elements)
            return true;
    }
    return false;
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

static struct cs_decision leave(const struct deciding *deciding, enum cs_reason reason)
{
    struct cs_decision decision = cs_decide_leave(reason, deciding->question.required);
    decision.asked = deciding->search.purse.asked;
    return decision;
}

/* Not for huge tensors: their calls run on the plain engine, which is the reason to tile them. */
static void list_untiled(struct deciding *deciding)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    struct cs_search *search = &deciding->search;
    int64_t required = deciding->huge ? INT64_MAX : deciding->question.required;
    double seconds = cs_cost_untiled(deciding->question.problem, deciding->question.required,
                                     deciding->question.profile)
                         .most;
    search->list.count = 1;
    search->list.candidate[0] = (struct cs_candidate){
        .tiling = untiled,
        .tiles = 1,
        .shapes = 1,
        .workspace = required,
        .required = required,
        .seconds = seconds,
    };
}

/* --- search for tilings ----------------------------------------------------------------------- */

static void begin(struct deciding *deciding)
{
    struct cs_search *search = &deciding->search;
    search->purse.left = deciding->question.vendor->compiles ? CS_COMPILED_ASKS : CS_MODE_ASKS;
    search->equal_padding = false;
    search->unequal = 0;
}

static struct cs_goal goal_of(const struct deciding *deciding, int64_t limit)
{
    const struct cs_limits *limits = &deciding->limits;
    double untiled = deciding->search.list.candidate[0].seconds;
    return (struct cs_goal){.limit = (double)limit,
                            .free = (double)limits->free,
                            .price = limits->byte_seconds,
                            .slowest = limits->max_slowdown > 0
                                           ? untiled * (double)limits->max_slowdown / 1000
                                           : __builtin_inf()};
}

/* Guesses first. If they fail, the axes one after the other. */
static enum cs_status list_in(struct deciding *deciding, const struct cs_goal *goal,
                              struct cs_mode mode)
{
    struct cs_search *search = &deciding->search;
    enum cs_priced priced;
    begin(deciding);
    enum cs_status status = cs_price_search(search, goal, mode, &priced);
    deciding->dear |= priced == CS_DEAR;
    if (status != CS_OK || priced != CS_UNPRICED || deciding->question.vendor->compiles ||
        !cs_shortlist_empty(&search->list))
        return status;
    begin(deciding);
    return cs_search_axes(search, mode, 0);
}

/* Another engine of the vendor that computes alike, for the whole problem. */
static enum cs_status list_similar(struct deciding *deciding)
{
    static const struct cs_tiling untiled = {.step = {1, 1}};
    const struct cs_mode mode = {.relaxation = CS_SIMILAR_ENGINE, .lanes = 1};
    enum cs_probed probed;
    int64_t bytes;
    begin(deciding);
    return cs_search_probe(&deciding->search, mode, &untiled, &probed, &bytes);
}

static bool is_done(const struct deciding *deciding)
{
    return !deciding->raised && (deciding->dear || !cs_shortlist_empty(&deciding->search.list));
}

/* Views with the application's knobs first. If slices require as much as the whole, or are refused:
 * the engine's default knobs, then another engine. Packed copies are tried if no view fits, and if
 * cuDNN refuses a view that would cost less than those that fit. */
static enum cs_status list_under(struct deciding *deciding, int64_t limit)
{
    const struct cs_vendor *vendor = deciding->question.vendor;
    const struct cs_limits *limits = &deciding->limits;
    const struct cs_goal goal = goal_of(deciding, limit);
    struct cs_mode mode = {.lanes = limits->lanes, .staged = limits->staging == CS_STAGING_ALWAYS};
    enum cs_status status = CS_OK;
    deciding->question.limit = limit;
    if (deciding->huge) {
        mode = (struct cs_mode){.relaxation = CS_TILE_HEURISTICS, .lanes = 1, .staged = true};
        return vendor->rigid ? CS_OK : list_in(deciding, &goal, mode);
    }
    status = list_in(deciding, &goal, mode);
    if (status == CS_OK && !is_done(deciding) && !vendor->rigid && !vendor->compiles) {
        mode.relaxation = CS_DEFAULT_KNOBS;
        status = list_in(deciding, &goal, mode);
        if (status == CS_OK && !is_done(deciding))
            status = list_similar(deciding);
    }
    if (status == CS_OK && (!is_done(deciding) || deciding->search.refused) &&
        limits->staging == CS_STAGING_AUTO)
        status = list_in(deciding, &goal, (struct cs_mode){.lanes = limits->lanes, .staged = true});
    return status;
}

static int64_t at_most(int64_t bytes, int64_t most)
{
    return bytes < most ? bytes : most;
}

/* The limit of the tiles. Those of huge tensors may use the user's limit although the call requires
 * no workspace. */
static int64_t limit_of(const struct deciding *deciding)
{
    const struct cs_limits *limits = &deciding->limits;
    int64_t allowed = limits->workspace >= 0 ? limits->workspace : limits->free;
    if (deciding->huge)
        return allowed;
    if (deciding->tiles > 0 && !limits->provided)
        return deciding->question.required;
    if (limits->workspace < 0)
        allowed = limits->most > 0 ? limits->most : INT64_MAX;
    return at_most(allowed, deciding->question.required);
}

/* The most bytes of tiles if none fit a limit that the user wrote. 0: tiles may not exceed it. */
static int64_t most_raised(const struct deciding *deciding)
{
    const struct cs_limits *limits = &deciding->limits;
    int64_t required = deciding->question.required;
    int64_t most = limits->most > 0 ? at_most(required, limits->most) : required;
    bool may = limits->workspace >= 0 && !limits->provided && !deciding->huge &&
               cs_shortlist_empty(&deciding->search.list);
    return may && most > limits->workspace ? most : 0;
}

/* The least scratch of a listed tiling. */
static int64_t least_scratch(const struct cs_shortlist *list)
{
    int64_t least = INT64_MAX;
    for (int i = 1; i < list->count; i++)
        if (list->candidate[i].workspace < least)
            least = list->candidate[i].workspace;
    return least;
}

/* Searches for the least scratch of all tilings. If it is above the limit, but below the bytes of
 * the untiled call, the limit is raised to about that. */
static enum cs_status list_least(struct deciding *deciding, int64_t most)
{
    const struct cs_limits limits = deciding->limits;
    struct cs_shortlist *list = &deciding->search.list;
    bool dear = deciding->dear;
    deciding->raised = true;
    deciding->limits.free = 0;
    deciding->limits.byte_seconds = LEAST_SECONDS;
    enum cs_status status = list_under(deciding, most);
    deciding->limits = limits;
    deciding->dear = dear;
    int64_t least = least_scratch(list);
    if (least >= most)
        list->count = 1;
    else if (least > limits.workspace)
        deciding->limits.workspace = at_most(least + least / NEARLY, most);
    return status;
}

/* True if a limit that the user wrote leaves no tiling that takes less than SLOW times the untiled
 * call. */
static bool is_slow(const struct deciding *deciding)
{
    const struct cs_shortlist *list = &deciding->search.list;
    bool slow = deciding->limits.workspace >= 0 && !deciding->huge && list->count > 1;
    for (int i = 1; i < list->count; i++)
        slow = slow && list->candidate[i].seconds > SLOW * list->candidate[0].seconds;
    return slow;
}

static enum cs_status list_all(struct deciding *deciding)
{
    const struct cs_limits *limits = &deciding->limits;
    if (deciding->tiles > 0) {
        const struct cs_mode mode = {.lanes = limits->lanes > 0 ? limits->lanes : 1,
                                     .staged = limits->staging == CS_STAGING_ALWAYS};
        deciding->question.limit = limit_of(deciding);
        begin(deciding);
        return cs_search_axes(&deciding->search, mode, deciding->tiles);
    }
    const int64_t limit = limit_of(deciding);
    enum cs_status status = list_under(deciding, limit);
    /* The first guesses close to the limit can be too large, and their answers mislead the later
     * ones. A search under a smaller limit starts anew. */
    for (int i = 1; i <= HALVINGS && status == CS_OK && is_slow(deciding); i++)
        status = list_under(deciding, limit >> i);
    deciding->question.limit = limit;
    int64_t most = most_raised(deciding);
    return status == CS_OK && most > 0 ? list_least(deciding, most) : status;
}

/* --- the decision ----------------------------------------------------------------------------- */

static void pick(struct deciding *deciding)
{
    const struct cs_shortlist *list = &deciding->search.list;
    struct cs_limits *limits = &deciding->limits;
    double slowest = goal_of(deciding, 0).slowest;
    for (int i = 1; deciding->tiles == 0 && i < list->count; i++)
        deciding->search.list.candidate[i].dear = list->candidate[i].seconds > slowest;
    deciding->best = cs_shortlist_best(list, deciding->policy, limits);
}

/* If a policy vetoes the tilings of least cost, the best tiling of each form on one lane is
 * offered. */
static enum cs_status offer_each(struct deciding *deciding)
{
    struct cs_goal goal = goal_of(deciding, deciding->question.limit);
    goal.slowest = __builtin_inf();
    if (deciding->best || deciding->tiles > 0 || deciding->dear || deciding->huge)
        return CS_OK;
    begin(deciding);
    enum cs_status status = cs_price_each(&deciding->search, &goal, (struct cs_mode){.lanes = 1});
    pick(deciding);
    return status;
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

/* First within the workspace that tiles need anyway. A fallback plan that needs more may raise it
 * within the limit. */
static enum cs_reason find_fallback(struct deciding *deciding, struct cs_decision *decision)
{
    const struct cs_limits *limits = &deciding->limits;
    int64_t allowed = limits->workspace >= 0 ? limits->workspace : limits->free;
    int64_t most = at_most(decision->required, allowed);
    int64_t provided = limits->lent ? 0 : decision->scratch, workspace = 0;
    enum cs_status status = try_fallback(&deciding->search, provided, &workspace);
    if (status != CS_OK && status != CS_NOMEM && most > provided)
        status = try_fallback(&deciding->search, most, &workspace);
    if (status == CS_NOMEM)
        return CS_REASON_HOST_MEMORY;
    if (status != CS_OK)
        return CS_REASON_NO_FALLBACK;
    decision->reported = workspace > provided ? workspace : provided;
    return CS_REASON_NONE;
}

static enum cs_reason reason_untiled(const struct deciding *deciding)
{
    const struct cs_search *search = &deciding->search;
    const bool fixed = deciding->tiles > 0; /* no limit, unless a size was provided */
    if (search->purse.asked > 0 && search->purse.answered == 0)
        return CS_REASON_VENDOR;
    if (deciding->dear || (!deciding->raised && !cs_shortlist_empty(&search->list)))
        return fixed ? CS_REASON_NO_GAIN : CS_REASON_DEAR;
    if (search->purse.asked == 0 && search->overflowed)
        return CS_REASON_OVERFLOW;
    return fixed && !deciding->limits.provided ? CS_REASON_NO_GAIN : CS_REASON_NO_TILING;
}

static struct cs_decision decision_of(struct deciding *deciding)
{
    const struct cs_candidate *best = deciding->best;
    int64_t required = deciding->question.required;
    if (!best || best == &deciding->search.list.candidate[0])
        return leave(deciding, reason_untiled(deciding));
    struct cs_decision decision = {
        .tiling = best->tiling,
        .tiles = best->tiles,
        .required = required,
        .reported = required,
        .scratch = best->workspace,
    };
    decision.reason = find_fallback(deciding, &decision);
    if (decision.reason != CS_REASON_NONE)
        return leave(deciding, decision.reason);
    if (deciding->policy->report_only)
        decision.reason = CS_REASON_REPORT_ONLY;
    decision.asked = deciding->search.purse.asked;
    return decision;
}

struct cs_decision cs_decide(const struct cs_problem *problem, int64_t required,
                             const struct cs_policy *policy, const struct cs_limits *limits,
                             const struct cs_vendor *vendor)
{
    static const struct cs_profile typical; /* with an unknown capability */
    int64_t tiles = policy->tiles(limits);
    bool huge = tiles == 0 && required == 0 && is_huge(problem, limits->huge);
    if (!huge && within_threshold(required, tiles, limits))
        return cs_decide_leave(CS_REASON_SMALL, required);
    const struct cs_profile *profile = vendor->profile ? vendor->profile(vendor->ctx) : NULL;
    struct deciding deciding = {
        .policy = policy,
        .tiles = tiles,
        .huge = huge,
        .limits = *limits,
        .question = {.problem = problem,
                     .vendor = vendor,
                     .profile = profile ? profile : &typical,
                     .required = required,
                     .copies = limits->staging != CS_STAGING_NEVER},
    };
    deciding.search.question = &deciding.question;
    deciding.limits.byte_seconds = (double)limits->price / 1000 * 1e-6 / MIB;
    if (limits->workspace >= 0)
        deciding.limits.free = limits->workspace;
    list_untiled(&deciding);
    if (list_all(&deciding) != CS_OK)
        return leave(&deciding, CS_REASON_HOST_MEMORY);
    pick(&deciding);
    if (offer_each(&deciding) != CS_OK)
        return leave(&deciding, CS_REASON_HOST_MEMORY);
    struct cs_decision decision = decision_of(&deciding);
    decision.raised = limits->workspace >= 0 && cs_decide_tiles(&decision) &&
                      decision.scratch > limits->workspace;
    return decision;
}
