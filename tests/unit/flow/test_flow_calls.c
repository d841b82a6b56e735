/* What the flow does beside deciding: whom it tells of a convolution and of each of its calls, what
 * it notes and counts, with those whom it tells replaced. */
#include "base/log.h"
#include "base/range.h"
#include "check.h"
#include "flow/build.h"
#include "flow/decisions.h"
#include "flow/flow.h"
#include "flow/refusal.h"
#include "flow/scoped_limit.h"
#include "flow/traced_gpu.h"
#include <stdarg.h>

/* What was told, and how often. */
static struct told {
    int passes, logged, named, noted, reserved;
    uint64_t context, call;
    int64_t footprint, reported, bytes;
    struct cs_peak_name watched;
    enum cs_level level;
    char line[512];
} told;

static void pass_seen(struct cs_gate *gate, uint64_t context, uint64_t call, int64_t bytes)
{
    CHECK(gate != NULL);
    told.passes++;
    told.context = context;
    told.call = call;
    told.footprint = bytes;
}

__attribute__((format(printf, 2, 3))) static void log_seen(enum cs_level level, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(told.line, sizeof told.line, format, arguments);
    va_end(arguments);
    told.level = level;
    told.logged++;
}

static void note_seen(struct cs_peak *peak, struct cs_store *store, struct cs_peak_name name,
                      int64_t bytes, const struct cs_problem *problem,
                      const struct cs_addresses *addresses)
{
    CHECK(peak && store && problem && addresses);
    told.noted++;
    told.watched = name;
    told.reported = bytes;
}

static void reserve_seen(struct cs_arena *arena, const struct cs_device *device, int64_t bytes)
{
    CHECK(arena && device);
    told.reserved++;
    told.bytes = bytes;
}

static const char *range_now = "";

static const char *range_seen(void)
{
    return range_now;
}

#define reported(...) reported_for_summary(__VA_ARGS__) /* the fixture has one of its own */
#define cs_gate_pass pass_seen
#define cs_log log_seen
#define cs_peak_note note_seen
#define cs_arena_reserve reserve_seen
#define cs_range_name range_seen
#include "flow/flow.c" /* NOLINT(bugprone-suspicious-include) */
#undef reported
#undef cs_gate_pass
#undef cs_log
#undef cs_peak_note
#undef cs_arena_reserve
#undef cs_range_name

#include "flow_fixture.h"
#include "heap.h"

static uint64_t context_of(void *ctx)
{
    return *(const uint64_t *)ctx;
}

static uint64_t context = 77;
static const struct cs_device device = {.ctx = &context, .context = context_of};

static struct cs *fresh(void)
{
    memset(&told, 0, sizeof told);
    return new_instance("fit");
}

static void every_status_has_its_reason(void)
{
    CHECK_INT(reason_of(CS_OK), CS_REASON_NONE);
    CHECK_INT(reason_of(CS_OVERFLOW), CS_REASON_OVERFLOW);
    CHECK_INT(reason_of(CS_NOMEM), CS_REASON_HOST_MEMORY);
    CHECK_INT(reason_of(CS_REFUSED), CS_REASON_VENDOR);
    CHECK_INT(reason_of(CS_ILLEGAL), CS_REASON_INVARIANT);
    CHECK_INT(reason_of(CS_INVALID), CS_REASON_INVARIANT);
}

/* Only where somebody reads it: the line of the convolution, and the rule that it follows. */
static void a_new_convolution_has_a_line_in_the_log(void)
{
    for (int level = CS_LOG_OFF; level < CS_LEVELS; level++)
        for (int by_rule = 0; by_rule < 2; by_rule++) {
            struct cs *cs = fresh();
            struct cs_request request = ordinary();
            char wanted[512];
            cs->config.log = level;
            cs->rules = (struct cs_rules){
                2,
                {{.name = "none", .given = 1u << CS_RULE_required, .required = {1, 2}},
                 {.name = "all", .given = 1u << CS_RULE_lanes, .lanes = 1}}};
            cs->rules.count = by_rule ? 2 : 1;
            struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
            struct cs_site_facts facts;
            CHECK_INT(verdict.reason, CS_REASON_NONE);
            CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
            CHECK_INT(facts.rule, by_rule ? 2 : 0);
            CHECK_INT(told.logged, level >= CS_LOG_INFO);
            if (told.logged > 0) {
                cs_site_text(&facts, wanted, sizeof wanted - 16);
                strcat(wanted, by_rule ? ", rule all" : "");
                CHECK_STR(told.line, wanted);
                CHECK_INT(told.level, CS_LOG_INFO);
            }
            cs_rewrite_discard(verdict.rewrite);
            free(cs);
        }
}

/* Its operands as far as they have addresses, and its workspace. */
static void a_footprint_is_what_a_call_takes(void)
{
    const struct cs_request request = ordinary();
    struct cs_site_facts facts = {.problem = request.problem, .reported = 1000};
    int64_t span[CS_OPERANDS], sum = 1000;
    for (int i = 0; i < CS_OPERANDS; i++) {
        CHECK_INT(cs_problem_tensor_span(&request.problem.tensor[i], &span[i]), CS_OK);
        sum += span[i];
    }
    CHECK_INT(footprint(&facts), sum);
    facts.problem.tensor[CS_X].is_virtual = true;
    CHECK_INT(footprint(&facts), sum - span[CS_X]);
    facts.problem.tensor[CS_FILTER].by_value = true;
    CHECK_INT(footprint(&facts), sum - span[CS_X] - span[CS_FILTER]);
    facts.problem.tensor[CS_Y].dims[CS_N] = INT64_MAX; /* a span that is none */
    CHECK_INT(footprint(&facts), 1000);
    facts.problem = request.problem;
    facts.reported = INT64_MAX - sum;
    CHECK_INT(footprint(&facts), INT64_MAX - 1000);
    facts.reported = INT64_MAX - sum + 2000;
    CHECK_INT(footprint(&facts), INT64_MAX);
}

/* A call waits for its turn where threads take turns and it is known what it takes. */
static void calls_take_turns_where_that_is_wanted(void)
{
    for (int i = 0; i < 16; i++) {
        struct cs *cs = fresh();
        struct cs_verdict verdict = {.site = {.hash = 4711, .place = i & 1 ? 1 : 0},
                                     .footprint = 123456};
        bool stage = i & 2, known = i & 4;
        cs->config.interleave = stage ? CS_INTERLEAVE_STAGE : CS_INTERLEAVE_OFF;
        cs->exec.device = i & 8 ? &device : NULL;
        cs_flow_pass(cs, known ? &verdict : NULL, CS_REASON_SMALL);
        CHECK_INT(told.passes, i == 15);
        if (i == 15) {
            CHECK_INT((int64_t)told.context, 77);
            CHECK_INT((int64_t)told.call, 4711);
            CHECK_INT(told.footprint, 123456);
        }
        CHECK_INT(cs->account.calls, 1);
        CHECK_INT(cs->account.passed[CS_REASON_SMALL], 1);
        free(cs);
    }
}

static int give_status(void *ctx)
{
    return *(const int *)ctx;
}

/* What the trace says of a call, and that it is tiled in turn, too. */
static void what_became_of_a_call_is_noted_for_the_trace(void)
{
    for (int traced = 0; traced < 2; traced++)
        for (int failed = 0; failed < 2; failed++) {
            struct cs *cs = fresh();
            int status = failed ? RUN_FAILED : 0;
            const struct cs_gpu gpu = {.ctx = &status, .fallback = give_status};
            struct cs_request request = ordinary();
            cs->config.interleave = CS_INTERLEAVE_STAGE;
            cs->exec.device = &device;
            atomic_store(&cs->trace.on, traced);
            struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
            struct cs_trace_annotate *annotated = cs_trace_annotated();
            *annotated = (struct cs_trace_annotate){.number = -5, .outcome = "none"};
            CHECK_INT(cs_flow_run(cs, &verdict, &gpu, NULL), status);
            CHECK_INT(told.passes, 1);
            CHECK_INT((int64_t)told.call, (int64_t)verdict.site.hash);
            CHECK_INT(annotated->number, traced ? 1 : -5);
            CHECK_STR(annotated->outcome, !traced ? "none" : failed ? "failed" : "fallback");
            CHECK_INT(annotated->site.place, traced ? verdict.site.place : 0);
            cs_flow_pass(cs, &verdict, CS_REASON_NO_GAIN);
            CHECK_INT(annotated->number, traced ? 2 : -5);
            CHECK_STR(annotated->outcome,
                      traced ? cs_account_reason_id(CS_REASON_NO_GAIN) : "none");
            cs_flow_pass(cs, NULL, CS_REASON_SMALL);
            CHECK_INT(annotated->number, traced ? 3 : -5);
            CHECK_INT(annotated->site.place, 0);
            *annotated = (struct cs_trace_annotate){0};
            cs_rewrite_discard(verdict.rewrite);
            free(cs);
        }
}

/* A call is watched if its problem has a name, which it has under policy `peak` alone. */
static void calls_are_watched_by_name(void)
{
    for (int on = 0; on < 2; on++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        const struct cs_addresses nowhere = {.workspace = NULL};
        cs->peak.on = on;
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK_INT(verdict.watched.site != 0, on);
        cs_flow_watch(cs, &verdict, &request.problem, &nowhere);
        CHECK_INT(told.noted, on);
        CHECK_INT(told.reported, on ? verdict.reported : 0);
        CHECK(told.watched.site == verdict.watched.site &&
              told.watched.problem == verdict.watched.problem);
        cs_rewrite_discard(verdict.rewrite);
        free(cs);
    }
}

/* Only scratch of our own, only for tiles, and as much as these take. */
static void scratch_is_reserved_when_it_is_ours(void)
{
    static const enum cs_backing backing[] = {CS_BACKING_AUTO, CS_BACKING_CLIENT, CS_BACKING_OWN};
    for (int i = 0; i < 6; i++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        cs->exec.backing = backing[i % 3];
        cs->exec.device = &device;
        if (i >= 3)
            request.required = LIMIT; /* left alone */
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK_INT(told.reserved, i == 2);
        if (i == 2)
            CHECK_INT(told.bytes, verdict.rewrite->plan.workspace);
        CHECK_INT(cs_flow_lends_scratch(cs, 0), i % 3 != 1);
        CHECK_INT(cs_flow_lends_scratch(cs, 1), false);
        cs->exec.device = NULL;
        CHECK_INT(cs_flow_lends_scratch(cs, 0), false);
        cs_rewrite_discard(verdict.rewrite);
        free(cs);
    }
}

static int asked_for;
static const struct cs_profile *profile_now;

static const struct cs_profile *profile_of(void *ctx)
{
    (void)ctx;
    asked_for++;
    return profile_now;
}

/* Once, and only where a summary wants it. A device that nobody knows leaves the name empty. */
static void the_device_has_its_name(void)
{
    static const struct cs_profile known = {.name = "a device"}, other = {.name = "another"};
    struct cs_vendor named = vendor;
    for (int i = 0; i < 4; i++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        bool wanted = i & 1;
        cs->config.summary.form = wanted ? CS_SUMMARY_JSON : CS_SUMMARY_TEXT;
        request.required = LIMIT; /* nothing else asks for the device */
        named.profile = i & 2 ? profile_of : NULL;
        profile_now = &known;
        asked_for = 0;
        (void)cs_flow_prepare(cs, &request, &named);
        profile_now = &other;
        (void)cs_flow_prepare(cs, &request, &named);
        CHECK_INT(asked_for, i == 3);
        CHECK_STR(cs->device, i == 3 ? "a device" : "");
        free(cs);
    }
    struct cs *cs = fresh();
    struct cs_request request = ordinary();
    cs->config.summary.form = CS_SUMMARY_JSON;
    request.required = LIMIT;
    named.profile = profile_of;
    profile_now = NULL;
    (void)cs_flow_prepare(cs, &request, &named);
    CHECK_STR(cs->device, "");
    free(cs);
}

/* The site has the name of the program's range, what tiles take where scratch is ours, and the time
 * that it took. */
static void what_is_known_of_a_site(void)
{
    for (int lent = 0; lent < 2; lent++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        struct cs_site_facts facts;
        cs->limits.lent = lent;
        range_now = "decoder";
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        const struct cs_site *site = &cs->account.site[0];
        CHECK_INT(verdict.reason, CS_REASON_NONE);
        CHECK_STR(site->name, "decoder");
        CHECK_INT(site->prepared, 1);
        CHECK(site->host > 0 && site->host < INT64_C(60000000000));
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
        CHECK_INT(facts.reported, verdict.rewrite->plan.workspace);
        CHECK_INT(verdict.reported, lent ? 0 : verdict.rewrite->plan.workspace);
        CHECK_INT(verdict.footprint, footprint(&facts));
        CHECK_INT(facts.engine, 7);
        CHECK_INT(facts.limit, LIMIT);
        CHECK_INT(facts.asked > 1, 1);
        CHECK_INT(facts.choices.count > 0, 1);
        CHECK(!facts.raised);
        cs_rewrite_discard(verdict.rewrite);
        range_now = "";
        free(cs);
    }
}

/* A limit was raised only for what is tiled, or would be. */
static void where_a_limit_was_raised(void)
{
    for (int raised = 0; raised < 2; raised++)
        for (int reason = CS_REASON_NONE; reason < CS_REASONS; reason++) {
            struct cs *cs = fresh();
            const struct cs_request request = ordinary();
            const struct cs_decision decision = {.raised = raised, .scratch = 100, .reported = 50};
            const bool tiled = reason == CS_REASON_NONE, would = reason == CS_REASON_REPORT_ONLY;
            struct cs_site_facts facts;
            struct cs_verdict verdict = verdict_of(cs, &request, &decision, (enum cs_reason)reason);
            CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
            CHECK_INT(facts.raised, raised && (tiled || would));
            CHECK_INT(facts.reported, tiled || would ? 100 : request.required);
            CHECK_INT(verdict.reported, tiled ? 50 : request.required);
            free(cs);
        }
}

/* Also when it was decided before, and the first that asked has told nobody. */
static void the_choices_there_were_are_known_again(void)
{
    struct cs *cs = fresh();
    const struct cs_request request = ordinary();
    struct cs_site_facts facts[2];
    (void)reported(cs, &request);
    for (int i = 0; i < 2; i++) {
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts[i]));
        CHECK(facts[i].choices.listed > 0 && facts[i].choices.count > 0);
        cs_rewrite_discard(verdict.rewrite);
        cs_account_init(&cs->account);
        memset(&cs->account.site, 0, sizeof cs->account.site);
    }
    /* A copy of the first. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    CHECK_INT(memcmp(&facts[0].choices, &facts[1].choices, sizeof facts[0].choices), 0);
    free(cs);
}

/* The program's own limit stands in the place of the option. */
static void what_is_small_follows_the_limit_of_the_scope(void)
{
    struct cs *cs = fresh();
    cs->limits.threshold = -1;
    CHECK(cs_flow_small(cs, LIMIT));
    CHECK(!cs_flow_small(cs, LIMIT + 1));
    CHECK_INT(cs_scoped_limit_set(LIMIT / 4), 0);
    CHECK(cs_flow_small(cs, LIMIT / 4));
    CHECK(!cs_flow_small(cs, LIMIT / 4 + 1));
    CHECK_INT(cs_scoped_limit_set(0), LIMIT / 4);
    CHECK(cs_flow_small(cs, LIMIT));
    free(cs);
}

/* Whichever limit is in force, what was decided for one device is none of another's. */
static void scopes_are_apart_under_every_limit(void)
{
    struct cs *cs = fresh();
    struct cs_request request = ordinary();
    for (int64_t limit = 0; limit <= 4; limit++) {
        (void)cs_scoped_limit_set(limit > 0 ? LIMIT + limit : 0);
        for (request.scope = 0; request.scope < 4; request.scope++) {
            (void)reported(cs, &request);
            CHECK(fake.calls > 0);
            (void)reported(cs, &request);
            CHECK_INT(fake.calls, 0);
        }
    }
    (void)cs_scoped_limit_set(0);
    free(cs);
}

/* Scratch that is lent is bounded by the arena; a scope's limit stands for the option's. */
static void settings_of_a_decision(void)
{
    for (int i = 0; i < 12; i++) {
        struct cs *cs = fresh();
        const int64_t arena = i / 2 % 3 == 0 ? 0 : i / 2 % 3 == 1 ? 1 : 77 << 20;
        const int64_t scope = i >= 6 ? 5 << 20 : 0;
        cs->limits.lent = i % 2;
        cs->exec.arena.facts.limit = arena;
        const struct cs_settings settings = cs_decisions_settings(cs, scope);
        CHECK_INT(settings.most, i % 2 && arena > 0 ? arena : INT64_MAX);
        CHECK_INT(settings.limits.workspace, scope > 0 ? scope : LIMIT);
        CHECK_INT(settings.limits.threshold, LIMIT);
        CHECK_INT(cs_decisions_settings(cs, 1).limits.workspace, 1);
        CHECK(settings.rules == &cs->rules && settings.policy == cs->policy);
        CHECK(settings.program == cs->program && settings.script == cs->script);
        free(cs);
    }
}

/* A call that cannot be passed on runs on a plan of ours: its own engine's where the caller has
 * room for that, else the fallback plan; none if that fails, too. */
static void what_is_left_alone_may_run_whole(void)
{
    for (int i = 0; i < 4; i++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        cs->policy = cs_policy_find("off");
        request.limit = i == 1 ? request.required - 1 : i == 2 ? request.required : 0;
        if (i == 3) {
            fake.fault = REFUSES;
            fake.no_fallback = true;
        }
        struct cs_verdict verdict = cs_flow_runs_ours(cs, &request, &vendor);
        CHECK_INT(verdict.rewrite != NULL, i != 3);
        if (i != 3) {
            CHECK_INT(verdict.rewrite->plan.tiles, 0);
            CHECK_INT(kernels, 1);
            CHECK_INT(fake.fallbacks, i == 1);
        }
        cs_rewrite_discard(verdict.rewrite);
        CHECK_INT(kernels, 0);
        free(cs);
    }
}

/* Its own engine's plan as far as there is room for that, else a fallback plan in what was
 * reported, else nothing. */
static void a_plan_that_is_not_tiled(void)
{
    static const struct {
        int64_t room;     /* beside what the own plan requires */
        int64_t fallback; /* bytes of the fallback plan */
        enum fault fault;
        int64_t workspace; /* that it runs in: 1, the own plan's; 2, the fallback plan's; 0: none */
    } plans[] = {{0, 100, NO_FAULT, 1},  {1, 100, NO_FAULT, 1},    {-1, 100, NO_FAULT, 2},
                 {-1, 101, NO_FAULT, 0}, {0, 100, REFUSES, 0},     {0, 101, NO_FAULT, 1},
                 {0, 100, NO_MEMORY, 0}, {INT64_MAX / 2, 0, 0, 1}, {-1, 0, NO_FAULT, 2}};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const struct cs_request request = ordinary();
        struct cs_rewrite *rewrite = NULL;
        memset(&fake, 0, sizeof fake);
        fake.fallback = plans[i].fallback;
        fake.fault = plans[i].fault;
        enum cs_status status =
            cs_build_untiled(&request.problem, &vendor,
                             workspace_of(&request.problem) + plans[i].room, 100, &rewrite);
        CHECK_INT(status == CS_OK, plans[i].workspace > 0);
        CHECK_INT(rewrite != NULL, plans[i].workspace > 0);
        CHECK_INT(fake.fallbacks, plans[i].workspace != 1);
        CHECK_INT(kernels, plans[i].workspace > 0);
        CHECK(!rewrite || (rewrite->fallback && rewrite->plan.tiles == 0));
        cs_rewrite_discard(rewrite);
        CHECK_INT(kernels, 0);
    }
    memset(&fake, 0, sizeof fake);
}

/* By whom a small size is held: a caller that brought it, or one that had it reported. */
static void who_holds_a_small_size(void)
{
    struct cs_decision decision = {.promised = false};
    struct cs_request request = {.required = 100};
    CHECK(!is_held(&request, &decision));
    decision.promised = true;
    CHECK(is_held(&request, &decision));
    request.limit = 100;
    CHECK(!is_held(&request, &decision));
    request.limit = 99;
    CHECK(is_held(&request, &decision));
    decision.promised = false;
    CHECK(is_held(&request, &decision));
    request.limit = 1;
    CHECK(is_held(&request, &decision));
}

/* What is to become of a convolution that cannot be built: of which limit, which was promised,
 * which had been found to be none already. The fallback plan takes `fallback` bytes, below 0: there
 * is none. */
static void what_falls_back(void)
{
    static const struct {
        int64_t limit, fallback;
        bool promised, tiled;
        enum cs_reason reason; /* NONE: it runs on the fallback plan */
        bool left;             /* from now on */
        bool meanwhile;        /* it was promised, by another thread */
    } rows[] = {{0, 0, false, true, CS_REASON_VENDOR, true, false},
                {0, 0, false, false, CS_REASON_VENDOR, false, false},
                {0, 0, true, true, CS_REASON_NONE, false, false},
                {0, 0, true, true, CS_REASON_NONE, false, true},
                {0, -1, true, true, CS_REASON_VENDOR, false, true},
                {0, -1, true, true, CS_REASON_VENDOR, false, false},
                {1, 0, false, true, CS_REASON_NONE, false, false},
                {1, 1, false, true, CS_REASON_NONE, false, false},
                {1, 2, false, true, CS_REASON_VENDOR, true, false},
                {1, -1, false, false, CS_REASON_VENDOR, false, false},
                {LIMIT, LIMIT, false, true, CS_REASON_NONE, false, false},
                {LIMIT, LIMIT + 1, false, true, CS_REASON_VENDOR, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        struct cs_built_plans built;
        struct cs_rewrite *rewrite = NULL;
        struct cs_key key;
        request.limit = rows[i].limit;
        struct cs_decision decision = {.reason = rows[i].tiled ? 0 : CS_REASON_NO_TILING,
                                       .required = request.required,
                                       .reported = 4096,
                                       .promised = rows[i].promised,
                                       .rule = 3,
                                       .asked = 12};
        struct cs_decision after = {.rule = 0};
        cs_memo_key_make(&request.problem, &request.engine, request.required, request.limit, 1,
                         &key);
        cs_memo_put(&cs->memo, &key, &decision);
        if (rows[i].promised)
            cs_memo_promise(&cs->memo, &key, &decision);
        decision.promised = rows[i].promised && !rows[i].meanwhile;
        fake.fallback = rows[i].fallback;
        fake.no_fallback = rows[i].fallback < 0;
        cs_built_plans_init(&built, &vendor);
        CHECK_INT(fall_back(cs, &request, &built, &key, &decision, CS_REASON_VENDOR, &rewrite),
                  rows[i].reason);
        cs_built_plans_fini(&built);
        CHECK_INT(rewrite != NULL, rows[i].reason == CS_REASON_NONE);
        CHECK_INT(decision.promised, rows[i].promised);
        if (rewrite) {
            CHECK_INT(decision.reported, rows[i].limit > 0 ? rows[i].limit : 4096);
            CHECK_INT(decision.scratch, decision.reported);
        }
        CHECK(cs_memo_get(&cs->memo, &key, &after));
        CHECK_INT(after.reason, rows[i].left    ? CS_REASON_VENDOR
                                : rows[i].tiled ? CS_REASON_NONE
                                                : CS_REASON_NO_TILING);
        CHECK_INT(after.reported, rows[i].left ? request.required : 4096);
        CHECK_INT(after.rule, 3);
        CHECK_INT(after.asked, 12);
        cs_rewrite_discard(rewrite);
        CHECK_INT(kernels, 0);
        free(cs);
    }
}

/* Whichever request for memory is refused: the call is tiled as it would be, runs on its fallback
 * plan or is left alone; the next one has memory again. */
static void without_memory(void)
{
#ifdef HEAP_REFUSES
    bool all = false;
    int left_alone = 0;
    for (int n = 0; !all; n++) {
        struct cs *cs = fresh();
        struct cs_request request = ordinary();
        long long taken = heap_taken;
        heap_left = n;
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        all = heap_left >= 0;
        heap_left = -1;
        CHECK(verdict.reason == CS_REASON_NONE || verdict.reason == CS_REASON_HOST_MEMORY);
        check_verdict(cs, &request, &verdict);
        CHECK(!all || (verdict.reason == CS_REASON_NONE && verdict.rewrite->plan.tiles > 1));
        left_alone += verdict.reason == CS_REASON_HOST_MEMORY;
        cs_rewrite_discard(verdict.rewrite);
        CHECK_INT(kernels, 0);
        CHECK_INT(heap_taken - taken, 0);
        free(cs);
    }
    CHECK(left_alone > 1);
#endif
}

int main(void)
{
    heap_watch();
    TEST(every_status_has_its_reason);
    TEST(a_new_convolution_has_a_line_in_the_log);
    TEST(a_footprint_is_what_a_call_takes);
    TEST(calls_take_turns_where_that_is_wanted);
    TEST(what_became_of_a_call_is_noted_for_the_trace);
    TEST(calls_are_watched_by_name);
    TEST(scratch_is_reserved_when_it_is_ours);
    TEST(the_device_has_its_name);
    TEST(what_is_known_of_a_site);
    TEST(where_a_limit_was_raised);
    TEST(the_choices_there_were_are_known_again);
    TEST(what_is_small_follows_the_limit_of_the_scope);
    TEST(scopes_are_apart_under_every_limit);
    TEST(settings_of_a_decision);
    TEST(what_is_left_alone_may_run_whole);
    TEST(a_plan_that_is_not_tiled);
    TEST(who_holds_a_small_size);
    TEST(what_falls_back);
    TEST(without_memory);
    return REPORT();
}
