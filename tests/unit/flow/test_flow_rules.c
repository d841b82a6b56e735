/* Requests under rules, and under policies that break their contract. */
#include "flow_fixture.h"
#include <math.h>

static void add_rule(struct cs *cs, struct cs_rule rule)
{
    cs->program = "program";
    cs->rules.rule[cs->rules.count++] = rule;
}

static void skipping_rule_leaves_its_matches_untiled(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary(), other = request, provided = request;
    add_rule(cs, (struct cs_rule){.name = "large",
                                  .given = 1 << CS_RULE_skip | 1 << CS_RULE_required,
                                  .required = {request.required, INT64_MAX},
                                  .skip = true});
    CHECK_INT(reported(cs, &request), request.required);
    CHECK_INT(fake.calls, 0);
    CHECK_INT(prepare(cs, &request).reason, CS_REASON_RULE);
    /* If the caller provides less, there is not even a fallback plan, because no smaller size was
     * ever reported. */
    provided.limit = 4096;
    struct answer answer = prepare(cs, &provided);
    CHECK_INT(answer.reason, CS_REASON_RULE);
    CHECK_INT(answer.reported, request.required);
    CHECK_INT(fake.fallbacks, 0);
    CHECK_INT(fake.calls, 0);
    other.required--;
    CHECK_INT(prepare(cs, &other).reason, CS_REASON_NONE);
    CHECK_INT(cs_flow_small(cs, LIMIT), true);
    CHECK_INT(cs_flow_small(cs, LIMIT + 1), false);
    free(cs);
}

static void a_rule_sets_limits(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary(), other = request;
    struct answer usual = prepare(cs, &request);
    free(cs);
    cs = new_instance(default_policy());
    add_rule(cs, (struct cs_rule){.name = "tight",
                                  .given = 1 << CS_RULE_workspace | 1 << CS_RULE_engine,
                                  .engine = {7, 7},
                                  .workspace = usual.reported / 2});
    struct answer tight = prepare(cs, &request);
    CHECK_INT(tight.reason, CS_REASON_NONE);
    CHECK(tight.tiles > usual.tiles && tight.reported <= usual.reported / 2);
    CHECK_INT(reported(cs, &request), tight.reported);
    other.engine.index = 8;
    check_same(prepare(cs, &other), usual);
    free(cs);
}

static void a_rule_names_a_policy(void)
{
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    add_rule(cs, (struct cs_rule){.name = "never",
                                  .given = 1 << CS_RULE_skip | 1 << CS_RULE_n,
                                  .n = {3, 3},
                                  .skip = true});
    struct cs_rule report = {.name = "report", .given = 1 << CS_RULE_policy};
    snprintf(report.policy.text, sizeof report.policy.text, "%s", report_only_policy()->name);
    add_rule(cs, report);
    for (int i = 0; i < 2; i++) {
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK_INT(verdict.reason, CS_REASON_REPORT_ONLY);
        struct cs_site_facts facts;
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
        CHECK_INT(facts.rule, 2); /* also when it is only remembered */
        CHECK(verdict.rewrite == NULL);
    }
    request.problem.tensor[CS_X].dims[CS_N] = request.problem.tensor[CS_Y].dims[CS_N] = 3;
    CHECK_INT(prepare(cs, &request).reason, CS_REASON_RULE);
    free(cs);
}

/* A convolution that could not be tiled as its rule requires still counts for that rule. */
static void missing_fallback_plan_still_names_the_rule(void)
{
    struct cs *cs = new_instance(default_policy());
    const struct cs_request request = ordinary();
    add_rule(cs, (struct cs_rule){.name = "other",
                                  .given = 1 << CS_RULE_lanes | 1 << CS_RULE_n,
                                  .n = {77, 77},
                                  .lanes = 1});
    add_rule(cs, (struct cs_rule){.name = "this", .given = 1 << CS_RULE_lanes, .lanes = 1});
    fake.no_fallback = true;
    for (int i = 0; i < 2; i++) {
        struct cs_site_facts facts;
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK_INT(verdict.reason, CS_REASON_NO_FALLBACK);
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
        CHECK_INT(facts.rule, 2);
        CHECK(verdict.rewrite == NULL);
    }
    free(cs);
}

/* A convolution below the threshold of the options must be examined if it is above that of some
 * rule. */
static void the_least_threshold_of_all_rules_counts(void)
{
    struct cs *cs = new_instance(default_policy());
    cs->limits.threshold = LIMIT / 2;
    CHECK(cs_flow_small(cs, LIMIT / 2) && !cs_flow_small(cs, LIMIT / 2 + 1));
    cs->limits.threshold = LIMIT * 2;
    CHECK(cs_flow_small(cs, LIMIT * 2) && !cs_flow_small(cs, LIMIT * 2 + 1));
    cs->limits.threshold = -1;
    CHECK(cs_flow_small(cs, LIMIT) && !cs_flow_small(cs, LIMIT + 1));
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_lanes, .lanes = 1});
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_workspace, .workspace = LIMIT * 2});
    CHECK(cs_flow_small(cs, LIMIT) && !cs_flow_small(cs, LIMIT + 1));
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_threshold, .threshold = 4096});
    CHECK(cs_flow_small(cs, 4096) && !cs_flow_small(cs, 4097));
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_workspace, .workspace = 1024});
    CHECK(cs_flow_small(cs, 1024) && !cs_flow_small(cs, 1025));
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_threshold | 1 << CS_RULE_skip,
                                  .threshold = 0,
                                  .skip = true});
    CHECK(cs_flow_small(cs, 1024));
    add_rule(cs, (struct cs_rule){.given = 1 << CS_RULE_threshold, .threshold = 0});
    CHECK(!cs_flow_small(cs, 0));
    free(cs);
}

static int64_t costs_asked;

static int64_t no_tiles(const struct cs_limits *limits)
{
    (void)limits;
    return 0;
}

static double counted_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    costs_asked++;
    return candidate->workspace > limits->workspace ? INFINITY : (double)candidate->tiles;
}

/* A slow policy is slow once for each problem, for any number of queries. */
static void policy_runs_once_for_each_problem(void)
{
    static const struct cs_policy counting = {.tiles = no_tiles, .cost = counted_cost};
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    cs->policy = &counting;
    costs_asked = 0;
    reported(cs, &request);
    CHECK(costs_asked > 1);
    int64_t once = costs_asked;
    for (int i = 0; i < 5; i++) {
        CHECK_INT(prepare(cs, &request).reason, CS_REASON_NONE);
        reported(cs, &request);
    }
    CHECK_INT(costs_asked, once);
    free(cs);
}

/* Another thread with the same request at the same time, and a policy whose decision then differs.
 */
static struct race {
    struct cs *cs;
    struct cs_request *request;
    int64_t reported; /* 0: not queried yet */
} race;

static double racing_cost(const struct cs_candidate *candidate, const struct cs_limits *limits)
{
    if (race.reported == 0) {
        race.reported = 1;
        race.reported = cs_flow_reported(race.cs, race.request, &vendor);
        return INFINITY;
    }
    return race.reported > 1 || candidate->workspace > limits->workspace ? INFINITY
                                                                         : (double)candidate->tiles;
}

static void first_decision_is_kept(void)
{
    static const struct cs_policy racing = {.tiles = no_tiles, .cost = racing_cost};
    struct cs *cs = new_instance(default_policy());
    struct cs_request request = ordinary();
    request.source = CS_SOURCE_OWN;
    cs->policy = &racing;
    race = (struct race){.cs = cs, .request = &request};
    int64_t bytes = reported(cs, &request);
    CHECK(race.reported > 1 && race.reported <= LIMIT);
    CHECK_INT(bytes, race.reported);
    /* And so does the promise of it. */
    fake.fault = REFUSES;
    fake.fault_at = 1;
    CHECK_INT(prepare(cs, &request).reported, bytes);
    free(cs);
}

/* Images of 1024 x 1024, which are tiled in little more time. */
static void enlarge(struct cs_request *request)
{
    struct rng unused = {0};
    for (int i = 0; i < CS_OPERANDS; i++) {
        struct cs_tensor *tensor = &request->problem.tensor[i];
        if (i != CS_FILTER)
            tensor->dims[CS_H] = tensor->dims[CS_W] = 1024;
        random_strides(&unused, CHANNELS_FIRST, 2, tensor);
    }
    settle_operands(&request->problem);
    request->required = workspace_of(&request->problem);
}

/* No tile of the vendor needs as little as the limit. */
static void tiled_plan_above_its_limit_is_refused_only_if_asked(void)
{
    static const enum cs_untileable options[] = {CS_UNTILEABLE_RUN, CS_UNTILEABLE_AUTO,
                                                 CS_UNTILEABLE_REFUSE};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct cs *cs = new_instance(default_policy());
        struct cs_request request = ordinary();
        cs->config.untileable = (int)options[i];
        cs->limits.workspace = 1;
        cs->limits.price = 15000;
        request.source = CS_SOURCE_LISTED;
        enlarge(&request);
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        bool refused = options[i] == CS_UNTILEABLE_REFUSE;
        CHECK_INT(verdict.refused, refused);
        CHECK_INT(verdict.rewrite != NULL, !refused);
        CHECK_INT(verdict.reason, refused ? CS_REASON_NO_TILING : CS_REASON_NONE);
        if (verdict.rewrite)
            cs_rewrite_discard(verdict.rewrite);
        CHECK_INT(kernels, 0);
        free(cs);
    }
}

int main(void)
{
    TEST(skipping_rule_leaves_its_matches_untiled);
    TEST(a_rule_sets_limits);
    TEST(a_rule_names_a_policy);
    TEST(missing_fallback_plan_still_names_the_rule);
    TEST(the_least_threshold_of_all_rules_counts);
    TEST(policy_runs_once_for_each_problem);
    TEST(first_decision_is_kept);
    TEST(tiled_plan_above_its_limit_is_refused_only_if_asked);
    return REPORT();
}
