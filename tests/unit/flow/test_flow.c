/* From a request to a rewriting, for each behaviour of the vendor. */
#include "flow_fixture.h"

static void oversized_is_tiled_and_remembered(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary(), other = request, device = request, engine = request;
    int64_t asked = reported(cs, &request);
    CHECK(asked <= LIMIT && asked > 0);
    CHECK(fake.calls > 1);
    CHECK_INT(reported(cs, &request), asked);
    CHECK_INT(fake.calls, 0);

    struct answer first = prepare(cs, &request);
    CHECK_INT(first.reason, CS_REASON_NONE);
    CHECK_INT(first.reported, asked);
    CHECK_INT(first.calls, first.shapes + 1);

    other.required++;
    device.scope++;
    engine.engine.knob_value[0]++;
    struct cs_request *fresh[] = {&other, &device, &engine};
    for (int i = 0; i < 3; i++) {
        reported(cs, fresh[i]);
        CHECK(fake.calls > 1);
    }
    check_same(prepare(cs, &request), first);
    free(cs);
}

static void small_workspace_makes_no_vendor_call(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    request.required = LIMIT;
    struct answer answer = prepare(cs, &request);
    CHECK_INT(answer.reason, CS_REASON_SMALL);
    CHECK_INT(answer.calls, 0);
    CHECK_INT(reported(cs, &request), LIMIT);
    request.required = LIMIT + 1;
    CHECK_INT(prepare(cs, &request).reason, CS_REASON_NONE);
    free(cs);
}

static void provided_workspace_is_the_limit(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary(), roomy = request, tight = request;
    struct answer usual = prepare(cs, &request);
    tight.limit = usual.reported / 2;
    CHECK(prepare(cs, &tight).tiles > usual.tiles);
    roomy.limit = request.required;
    struct answer enough = prepare(cs, &roomy);
    CHECK_INT(enough.reason, CS_REASON_SMALL);
    CHECK_INT(enough.calls, 0);
    /* Nothing fits: the caller has no more, so the fallback plan must do, unless that does not fit
     * either. */
    tight.limit = 1;
    struct answer nothing = prepare(cs, &tight);
    CHECK_INT(nothing.reason, CS_REASON_NONE);
    CHECK_INT(nothing.tiles, 0);
    CHECK_INT(nothing.reported, 1);
    fake.no_fallback = true;
    CHECK_INT(prepare(cs, &tight).reason, CS_REASON_NO_TILING);
    fake.no_fallback = false;
    check_same(prepare(cs, &request), usual);
    free(cs);
}

static int64_t rivals[4]; /* workspaces of other engines, as cuDNN lists them; 0 ends */
static int listed_rivals;

static bool list_rivals(void *ctx,
                        bool (*look)(void *to, const struct cs_engine *engine, int64_t required,
                                     const struct cs_vendor *vendor),
                        void *to)
{
    (void)ctx;
    listed_rivals++;
    for (int64_t i = 0; rivals[i] > 0; i++) {
        const struct cs_engine engine = {.index = 20 + i};
        if (look(to, &engine, rivals[i], &vendor))
            return true;
    }
    return false;
}

/* True if the plan of an engine whose tiles cannot be built is refused. */
static bool is_refused(struct cs *cs, enum cs_plan_source source, int64_t rival)
{
    struct cs_vendor beside = vendor;
    struct cs_request request = ordinary();
    beside.others = list_rivals;
    beside.rigid = true;
    request.source = source;
    rivals[0] = rival;
    fake.fault = REFUSES; /* every tile and every fallback plan, of this engine and of others */
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &beside);
    CHECK(!verdict.rewrite);
    CHECK(verdict.reason != CS_REASON_NONE);
    fake.fault = NO_FAULT;
    return verdict.refused;
}

/* Only where the application has others to try, and one of them does. */
static void untileable_plan_is_refused_if_another_engine_fits(void)
{
    const struct {
        int option;
        enum cs_plan_source source;
        int64_t rival;
        bool refused;
    } rows[] = {{CS_UNTILEABLE_AUTO, CS_SOURCE_LISTED, LIMIT, true},
                {CS_UNTILEABLE_AUTO, CS_SOURCE_LISTED, LIMIT + 1, false},
                {CS_UNTILEABLE_AUTO, CS_SOURCE_LISTED, 0, false},
                {CS_UNTILEABLE_AUTO, CS_SOURCE_OWN, LIMIT, false},
                {CS_UNTILEABLE_AUTO, CS_SOURCE_NONE, LIMIT, false},
                {CS_UNTILEABLE_RUN, CS_SOURCE_LISTED, LIMIT, false},
                {CS_UNTILEABLE_REFUSE, CS_SOURCE_LISTED, 0, true},
                {CS_UNTILEABLE_REFUSE, CS_SOURCE_OWN, 0, true},
                {CS_UNTILEABLE_REFUSE, CS_SOURCE_NONE, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs *cs = new_instance(default_policy());
        cs->config.untileable = rows[i].option;
        listed_rivals = 0;
        CHECK(is_refused(cs, rows[i].source, rows[i].rival) == rows[i].refused);
        CHECK(is_refused(cs, rows[i].source, rows[i].rival) == rows[i].refused);
        CHECK(listed_rivals <= 1); /* the answer is remembered */
        CHECK_INT(cs->account.refused, rows[i].refused ? 2 : 0);

        /* A plan that can be tiled is not refused. */
        struct cs_request request = ordinary();
        request.scope = 99;
        request.source = rows[i].source;
        struct answer answer = prepare(cs, &request);
        CHECK_INT(answer.reason, CS_REASON_NONE);
        free(cs);
    }
}

/* An engine whose tiles can be built is as good as one with a small workspace. */
static void another_engine_may_be_tiled(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_vendor beside = vendor;
    struct cs_request request = ordinary();
    beside.others = list_rivals;
    beside.rigid = true;
    request.source = CS_SOURCE_LISTED;
    rivals[0] = request.required;
    fake.fault = REFUSES;
    fake.fault_at = 0;
    /* The engine's own tiles are refused until the rival is examined. */
    struct cs_decision left = cs_decide_leave(CS_REASON_NO_TILING, request.required);
    struct cs_key key;
    left.free = LIMIT;
    cs_memo_key_make(&request.problem, &request.engine, request.required, 0, request.scope, &key);
    cs_memo_put(&cs->memo, &key, &left);
    fake.fault = NO_FAULT;
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &beside);
    CHECK_INT(verdict.reason, CS_REASON_NO_TILING);
    CHECK(verdict.refused);
    free(cs);
}

/* After a fault during the decision other tilings or fallback plans may be left. */
static bool expected(enum fault fault, enum cs_reason reason)
{
    if (fault == NO_MEMORY)
        return reason == CS_REASON_HOST_MEMORY;
    return reason == CS_REASON_NONE || reason == CS_REASON_NO_TILING ||
           reason == CS_REASON_NO_FALLBACK;
}

/* `at` counts from where the decision begins. */
static void check_fault(enum fault fault, int at, const struct answer *sound)
{
    struct cs_request request = ordinary();
    struct cs *cs = new_instance(default_policy());
    fake.fault = fault;
    fake.fault_at = at;
    struct answer hit = prepare(cs, &request);
    CHECK(expected(fault, hit.reason));

    /* A decision that failed for lack of memory is made again later; all others are final. */
    fake.fault = NO_FAULT;
    struct answer again = prepare(cs, &request);
    check_same(again, hit.reason == CS_REASON_HOST_MEMORY ? *sound : hit);
    CHECK_INT(reported(cs, &request), again.reported);
    free(cs);
}

/* Another process may have reported the small size: it is kept, by the fallback plan if need be. */
static void reported_size_is_kept(void)
{
    struct cs_request request = ordinary();
    for (int fault = REFUSES; fault < FAULTS; fault++) {
        for (int at = 1;; at++) {
            request.source = at % 2 == 0 ? CS_SOURCE_OWN : CS_SOURCE_NONE;
            struct cs *cs = new_instance(default_policy());
            int64_t small = reported(cs, &request);
            CHECK(small < request.required);
            fake.fault = (enum fault)fault;
            fake.fault_at = at;
            struct answer answer = prepare(cs, &request);
            CHECK_INT(answer.reason, CS_REASON_NONE);
            CHECK_INT(answer.reported, small);
            fake.fault = NO_FAULT;
            CHECK_INT(reported(cs, &request), small);
            CHECK_INT(prepare(cs, &request).reported, small);
            free(cs);
            if (answer.calls < at)
                break;
        }
    }
}

/* A caller provides less than is required, and neither tiles nor a fallback plan can be built. Each
 * call tries again. If no tile fits, the site has the limit of each call. */
static void unbuildable_tiles_have_the_reason_of_the_build(void)
{
    static const struct {
        enum fault fault; /* from the time on when it is decided */
        int64_t limit;    /* 0: of the tiles */
        enum cs_reason reason;
    } rows[] = {{REFUSES, 0, CS_REASON_VENDOR},
                {NO_MEMORY, 0, CS_REASON_HOST_MEMORY},
                {NEGATIVE, 0, CS_REASON_VENDOR},
                {REFUSES, 1, CS_REASON_NO_TILING}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs *cs = new_instance(default_policy());
        struct cs_request request = ordinary();
        request.limit = rows[i].limit > 0 ? rows[i].limit : prepare(cs, &request).reported;
        const struct answer decided = prepare(cs, &request);
        CHECK_INT(decided.reason, CS_REASON_NONE);
        CHECK_INT(decided.tiles > 1, rows[i].limit == 0);
        fake.fault = rows[i].fault;
        fake.no_fallback = true;
        for (int again = 0; again < 3; again++) {
            struct cs_site_facts facts;
            fake.calls = fake.fallbacks = 0;
            struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
            CHECK_INT(verdict.reason, rows[i].reason);
            CHECK(!verdict.rewrite && !verdict.refused);
            CHECK_INT(verdict.reported, request.required);
            CHECK(fake.fallbacks >= 1 && fake.calls >= fake.fallbacks);
            CHECK_INT(fake.calls > fake.fallbacks, rows[i].limit == 0);
            CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
            CHECK(rows[i].limit == 0 || facts.free == rows[i].limit);
            CHECK_INT(facts.queries > 0, 1);
        }
        CHECK_INT(kernels, 0);
        free(cs);
    }
}

/* If no plan can be built in the reported size, the plan must not run, now or later, and the result
 * stays the same. */
static void plan_without_fitting_tiles_is_refused(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    request.source = CS_SOURCE_OWN;
    int64_t small = reported(cs, &request);
    CHECK(small < request.required);
    fake.fault = REFUSES;
    for (int i = 0; i < 2; i++) {
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK(verdict.refused);
        CHECK(verdict.rewrite == NULL);
        CHECK_INT(reported(cs, &request), small);
    }
    fake.fault = NO_FAULT;
    struct answer answer = prepare(cs, &request);
    CHECK_INT(answer.reason, CS_REASON_NONE);
    CHECK_INT(answer.reported, small);
    CHECK_INT(kernels, 0);
    free(cs);
}

static void every_failing_call_is_survived(void)
{
    struct cs_request request = ordinary();
    struct cs *cs = new_instance(default_policy());
    int asks = prepare(cs, &request).calls;
    struct answer sound = prepare(cs, &request);
    CHECK_INT(sound.reason, CS_REASON_NONE);
    CHECK(sound.shapes > 1 && asks > 2);
    free(cs);
    for (int fault = REFUSES; fault < FAULTS; fault++) {
        for (int at = 1; at <= asks; at++)
            check_fault((enum fault)fault, at, &sound);
    }
}

/* The tiles that were decided for and their fallback plan, not again in a decision that was made.
 */
static void decision_and_preparation_build_once(void)
{
    struct cs_request request = ordinary();
    struct cs *cs = new_instance(default_policy());
    reported(cs, &request);
    int asks = fake.calls;
    int builds = prepare(cs, &request).calls;
    free(cs);
    cs = new_instance(default_policy());
    CHECK(builds > 2);
    CHECK(prepare(cs, &request).calls <= asks);
    CHECK_INT(prepare(cs, &request).calls, builds);
    free(cs);
}

static int readied;
static enum cs_status readiness;

static enum cs_status fake_ready(void *ctx, void *execution_plan)
{
    CHECK(ctx == &fake);
    CHECK(execution_plan != NULL);
    readied++;
    return readiness;
}

/* The chosen plans alone are made ready, with the fallback plan, which is never compiled. If one
 * cannot be finalized, there is no tiling. */
static void chosen_plan_is_made_ready(void)
{
    struct cs_request request = ordinary();
    for (int compiles = 0; compiles <= 1; compiles++) {
        struct cs *cs = new_instance(default_policy());
        struct cs_vendor late = vendor;
        late.ready = fake_ready;
        late.compiles = compiles;
        readied = 0;
        readiness = CS_OK;
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &late);
        CHECK(verdict.rewrite != NULL);
        CHECK_INT(readied, 1 + (compiles ? 0 : verdict.rewrite->plan.shapes));
        cs_rewrite_discard(verdict.rewrite);
        free(cs);
    }
    struct cs *cs = new_instance(default_policy());
    struct cs_vendor late = vendor;
    late.ready = fake_ready;
    readiness = CS_REFUSED;
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &late);
    CHECK(verdict.rewrite == NULL);
    CHECK_INT(verdict.reason, CS_REASON_VENDOR);
    CHECK_INT(verdict.reported, request.required);
    CHECK_INT(kernels, 0);
    free(cs);
}

static int laters; /* fallback plans that are to be built when they are needed */

static enum cs_status fake_fallback_later(void *ctx, int64_t limit, void **execution_plan_p)
{
    int64_t workspace;
    laters++;
    return fake_fallback(ctx, limit, execution_plan_p, &workspace);
}

/* Each is decided like a plan that is the only one, and made ready when it first runs. */
static void plans_of_a_list_are_decided_alike(void)
{
    struct cs *cs = new_instance(default_policy()), *alone = new_instance(default_policy());
    struct cs_request request = ordinary();
    struct cs_vendor many = vendor;
    many.many = true;
    many.ready = fake_ready;
    many.fallback_later = fake_fallback_later;
    readied = laters = 0;
    for (int knob = 0; knob < 4; knob++) {
        request.engine.knob_value[0] = knob;
        check_same(prepare_by(cs, &request, &many), prepare_by(alone, &request, &vendor));
        CHECK_INT(laters, knob); /* the decision's fallback plan is used */
        prepare_by(cs, &request, &many);
        CHECK_INT(laters, knob + 1);
    }
    CHECK_INT(readied, 0);
    CHECK_INT(kernels, 0);
    free(cs);
    free(alone);
}

static void permanent_fault_gives_its_reason(void)
{
    static const struct {
        enum fault fault;
        enum cs_reason reason;
    } always[] = {{REFUSES, CS_REASON_VENDOR},
                  {NO_MEMORY, CS_REASON_HOST_MEMORY},
                  {NEGATIVE, CS_REASON_VENDOR},
                  {GROWS, CS_REASON_NO_TILING}};
    struct cs_request request = ordinary();
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        struct cs *cs = new_instance(default_policy());
        fake.fault = always[i].fault;
        CHECK_INT(prepare(cs, &request).reason, always[i].reason);
        CHECK_INT(reported(cs, &request), request.required);
        free(cs);
    }
    struct cs *cs = new_instance(default_policy());
    fake.no_fallback = true;
    CHECK_INT(prepare(cs, &request).reason, CS_REASON_NO_FALLBACK);
    CHECK(fake.fallbacks > 0);
    free(cs);
}

static void fallback_plan_may_raise_the_reported_size(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    fake.fallback = LIMIT;
    CHECK_INT(prepare(cs, &request).reported, LIMIT);
    CHECK_INT(reported(cs, &request), LIMIT);
    free(cs);
    cs = new_instance(default_policy());
    fake.fallback = LIMIT + 1;
    CHECK_INT(prepare(cs, &request).reason, CS_REASON_NO_FALLBACK);
    free(cs);
}

/* The size of a fallback plan from the vendor is checked again before any size is reported. */
static void fallback_plan_beyond_the_reported_size_is_refused(void)
{
    struct cs_request request = ordinary();
    struct cs *cs = new_instance(default_policy());
    request.limit = 1; /* no tile fits; the fallback plan alone is left */
    CHECK_INT(prepare(cs, &request).reported, 1);
    free(cs);
    cs = new_instance(default_policy());
    fake.fault = GROWS; /* from the fallback plan on, which is queried last */
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
    CHECK(fake.fallbacks > 0);
    CHECK(verdict.rewrite == NULL);
    CHECK_INT(verdict.reported, request.required);
    CHECK_INT(kernels, 0);
    free(cs);
}

static void report_only_policy_rewrites_no_plan(void)
{
    struct cs *cs = new_instance(report_only_policy());
    struct cs_request request = ordinary();
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
    CHECK_INT(verdict.reason, CS_REASON_REPORT_ONLY);
    CHECK(verdict.rewrite == NULL);
    CHECK_INT(verdict.reported, request.required);
    CHECK_INT(kernels, 0);
    CHECK_INT(reported(cs, &request), request.required);
    /* The report must contain the possible savings. */
    struct cs_site_facts facts;
    CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
    CHECK(facts.tiles > 1);
    CHECK(facts.possible <= LIMIT);
    CHECK_INT(facts.required, request.required);
    free(cs);
}

static void random_problems_get_one_decision(void)
{
    struct rng rng = {33};
    int tiled_calls = 0;
    struct cs *asked_first = new_instance(default_policy()),
              *prepared_first = new_instance(default_policy());
    for (int i = 0; i < 400; i++) {
        struct cs_request request = {.problem = random_small(&rng), .scope = i};
        RANDOM_CASE(33, i, &request.problem);
        request.required = workspace_of(&request.problem);
        int64_t limit = rng_between(&rng, 1, request.required);
        asked_first->limits.workspace = asked_first->limits.threshold = limit;
        prepared_first->limits = asked_first->limits;
        int64_t bytes = reported(asked_first, &request);
        struct answer answer = prepare(prepared_first, &request);
        CHECK_INT(answer.reported, bytes);
        check_same(prepare(asked_first, &request), answer);
        CHECK_INT(reported(prepared_first, &request), bytes);
        CHECK_INT(fake.calls, 0);
        tiled_calls += answer.tiles > 1;
    }
    CHECK(tiled_calls > 50);
    free(asked_first);
    free(prepared_first);
}

static int fake_bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    (void)shape;
    (void)addresses;
    *launch_p = ctx;
    return 0;
}

static int fake_launch(void *ctx, int shape, void *launch)
{
    (void)shape;
    (void)launch;
    return *(int *)ctx;
}

static void fake_release(void *ctx, void *launch)
{
    CHECK(launch == ctx);
}

static int fake_whole(void *ctx)
{
    return *(int *)ctx;
}

static void runs_are_counted_by_how_they_ended(void)
{
    int status = 0;
    const struct cs_gpu gpu = {&status,    fake_bind, fake_launch, fake_release,
                               fake_whole, NULL,      NULL,        false};
    static char memory[3];
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
    uintptr_t base = (uintptr_t)memory;
    const struct cs_call apart = {
        .base = {.tensor = {(void *)base, (void *)(base + (1 << 24)), (void *)(base + (2 << 24))},
                 .workspace = (void *)(base + (3 << 24))},
        .provided = verdict.reported};
    int64_t tiles = verdict.rewrite->plan.tiles;

    CHECK_INT(cs_flow_run(cs, &verdict, &gpu, &apart), 0);
    CHECK_INT(cs->account.tiled_calls, 1);
    CHECK_INT(cs->account.launches, tiles);
    CHECK_INT(cs_flow_run(cs, &verdict, &gpu, NULL), 0);
    CHECK_INT(cs->account.fallbacks, 1);
    status = RUN_FAILED;
    CHECK_INT(cs_flow_run(cs, &verdict, &gpu, &apart), RUN_FAILED);
    CHECK_INT(cs_flow_run(cs, &verdict, &gpu, NULL), RUN_FAILED);
    CHECK_INT(cs->account.failed, 2);
    CHECK_INT(cs->account.calls, 4);
    CHECK_INT(cs_account_site_count(&cs->account.site[verdict.site.place - 1], CS_COUNT_CALLS), 4);
    CHECK_INT(cs->account.reported_max, verdict.reported);

    cs_rewrite_discard(verdict.rewrite);
    cs_rewrite_discard(NULL);
    CHECK_INT(kernels, 0);
    free(cs);
}

int main(void)
{
    TEST(oversized_is_tiled_and_remembered);
    TEST(small_workspace_makes_no_vendor_call);
    TEST(provided_workspace_is_the_limit);
    TEST(every_failing_call_is_survived);
    TEST(decision_and_preparation_build_once);
    TEST(reported_size_is_kept);
    TEST(unbuildable_tiles_have_the_reason_of_the_build);
    TEST(plan_without_fitting_tiles_is_refused);
    TEST(chosen_plan_is_made_ready);
    TEST(plans_of_a_list_are_decided_alike);
    TEST(permanent_fault_gives_its_reason);
    TEST(fallback_plan_may_raise_the_reported_size);
    TEST(fallback_plan_beyond_the_reported_size_is_refused);
    TEST(report_only_policy_rewrites_no_plan);
    TEST(random_problems_get_one_decision);
    TEST(untileable_plan_is_refused_if_another_engine_fits);
    TEST(another_engine_may_be_tiled);
    TEST(runs_are_counted_by_how_they_ended);
    return REPORT();
}
