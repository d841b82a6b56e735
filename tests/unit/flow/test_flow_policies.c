/* What the flow helps those policies with that look beyond one call: times, a share of a total, the
 * room that a pass has left. */
#include "flow_fixture.h"

static int timed;
static enum cs_axis fastest; /* the axis whose tiles are the fastest */
static unsigned axes;        /* that were timed, a bit each */

static enum cs_status time_by_axis(void *ctx, const struct cs_plan *plan, int64_t limit,
                                   double *seconds_p)
{
    CHECK(ctx == &fake && limit > 0);
    timed++;
    axes |= 1u << plan->cut[0].axis;
    *seconds_p = plan->cut[0].axis == fastest ? 1e-4 : 1e-3;
    return CS_OK;
}

static int64_t some_model(void *ctx)
{
    CHECK(ctx == &fake);
    return 90;
}

static struct cs *instance_for(const char *policy)
{
    struct cs *cs = new_instance(policy);
    cs_store_init(&cs->store, "");
    cs_budget_init(&cs->budget, INT64_C(1) << 40, 1);
    cs_peak_init(&cs->peak, cs->policy->watches, 1);
    return cs;
}

/* The way that is the fastest is taken, and asked for once. */
static void measured_times_decide(void)
{
    struct cs_vendor timing = vendor;
    timing.time = time_by_axis;
    timing.model = some_model;
    axes = 0;
    for (int axis = 0; axis < CS_AXES; axis++) {
        struct cs *cs = instance_for("measure");
        struct cs_request request = ordinary();
        request.problem.tensor[CS_X].dims[CS_N] = request.problem.tensor[CS_Y].dims[CS_N] = 4;
        request.required = workspace_of(&request.problem);
        cs->limits =
            (struct cs_limits){.workspace = request.required / 3, .threshold = -1, .lanes = 1};
        fastest = (enum cs_axis)axis;
        timed = 0;
        for (int again = 0; again < 2; again++) {
            struct cs_verdict verdict = cs_flow_prepare(cs, &request, &timing);
            CHECK(verdict.rewrite && verdict.rewrite->plan.tiles > 1);
            CHECK(timed > 1);
            if (axes >> axis & 1)
                CHECK_INT(verdict.rewrite->plan.cut[0].axis, axis);
            cs_rewrite_discard(verdict.rewrite);
        }
        int once = timed;
        cs_memo_init(&cs->memo);
        memset(cs->memo.entry, 0, sizeof cs->memo.entry);
        cs_rewrite_discard(cs_flow_prepare(cs, &request, &timing).rewrite);
        CHECK_INT(timed, once); /* the store knows */
        CHECK_INT(kernels, 0);
        cs_store_fini(&cs->store);
        free(cs);
    }
    CHECK((axes & (axes - 1)) != 0); /* there was a choice */
}

/* Each convolution has the share that is noted for it. */
static void a_total_is_shared(void)
{
    struct cs *cs = instance_for("budget");
    struct cs_request request = ordinary();
    for (int i = 0; i < 3; i++) {
        struct cs_site_facts facts;
        request.engine.index = i;
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
        CHECK_INT(cs->budget.shares, i + 1);
        CHECK_INT(facts.limit, cs->budget.share[i].limit);
        CHECK(verdict.reported <= facts.limit);
        cs_rewrite_discard(verdict.rewrite);
    }
    /* One that brings its own has none. */
    request.limit = LIMIT;
    cs_rewrite_discard(cs_flow_prepare(cs, &request, &vendor).rewrite);
    CHECK_INT(cs->budget.shares, 3);
    cs_store_fini(&cs->store);
    free(cs);
}

/* What was seen to do no harm is given. */
static void a_pass_has_left_room(void)
{
    struct cs_request request = ordinary();
    request.problem.tensor[CS_X].dims[CS_N] = request.problem.tensor[CS_Y].dims[CS_N] = 512;
    request.required = workspace_of(&request.problem);
    for (int i = 0; i < 3; i++) {
        struct cs *cs = instance_for("peak");
        const int64_t room = i == 0   ? CS_PEAK_NEW
                             : i == 1 ? request.required - 1
                                      : request.required;
        cs->limits.workspace = cs->limits.threshold = cs->limits.max_slowdown = -1;
        cs->peak.begun = true;
        cs->peak.sites = 1;
        cs->peak.site[0] = (struct cs_peak_site){
            .site = cs_peak_name(&request, &vendor).site, .room = room, .given = room};
        struct cs_verdict verdict = cs_flow_prepare(cs, &request, &vendor);
        CHECK_INT(verdict.reason, i == 2 ? CS_REASON_SMALL : CS_REASON_NONE);
        CHECK(verdict.watched.site == cs->peak.site[0].site);
        struct cs_site_facts facts;
        CHECK(cs_account_facts(&cs->account, &verdict.site, &facts));
        CHECK(i == 0 ? facts.limit < request.required / 2 : facts.limit == room);
        cs_rewrite_discard(verdict.rewrite);
        CHECK_INT(kernels, 0);
        cs_store_fini(&cs->store);
        free(cs);
    }
}

int main(void)
{
    TEST(measured_times_decide);
    TEST(a_total_is_shared);
    TEST(a_pass_has_left_room);
    return REPORT();
}
