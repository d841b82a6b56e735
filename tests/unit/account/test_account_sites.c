/* src/account: the fields that distinguish sites, a full table, and rules. */
#include "account/account.h"

#include "account_fixture.h"
#include "check.h"

static struct cs_site_ref site_of(struct cs_account *account, const struct cs_site_facts *facts)
{
    return cs_account_site(account, facts, "");
}

/* Files of older runs name problems and sites by these numbers. */
static void problem_ids_are_stable_between_builds(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 256, 64, CS_F16);
    char id[CS_SITE_ID];
    CHECK_STR(cs_account_problem_id(&problem, id), "6d10840cc294b43e");
    problem.direction = CS_BACKWARD_FILTER;
    problem.stride[2] = 2;
    CHECK_STR(cs_account_problem_id(&problem, id), "ea93ae41f51fc8f3");
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    CHECK_INT(site_of(account, &facts).hash, INT64_C(-2529831748314350187));
    facts.tiling.runs = 2;
    facts.tiling.run[0].step = 3;
    facts.tiling.run[0].tiles = 4;
    facts.tiling.run[1].step = 5;
    facts.tiling.run[1].relaxation = 1;
    facts.tiling.staged = true;
    facts.rule = 7;
    CHECK_INT(site_of(account, &facts).hash, INT64_C(511812194001112885));
    free(account);
}

/* Each of these makes one site, also if it is repeated. */
static void every_fact_counts(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(3, 8, 8, 16, CS_F16);
    enum {
        VARIANTS = 25
    };
    struct cs_site_facts facts[VARIANTS];
    for (int i = 0; i < VARIANTS; i++) {
        facts[i] = facts_of(&problem, 100, 50, 2);
        facts[i].tiling.runs = 1;
        facts[i].tiling.run[0].step = 3;
        facts[i].tiling.run[0].tiles = 4;
    }
    facts[1].tiling.run[0].step = 4;
    facts[2].tiling.run[0].tiles = 5;
    facts[3].tiling.run[0].relaxation = 1;
    facts[4].tiling.runs = 2;
    facts[5].tiling.staged = true;
    facts[6].tiling.equal_padding = true;
    facts[7].tiling.staged = facts[7].tiling.equal_padding = true;
    facts[8].rule = 1;
    facts[9].tiling.relaxation = 1;
    facts[10].tiling.lanes = 2;
    facts[11].tiling.lanes = 3;
    facts[12].problem.tensor[CS_X].strides[CS_N]++;
    facts[13].problem.tensor[CS_FILTER].dtype = CS_BF16;
    facts[14].tiles = 3;
    facts[15].problem.post[0] = 7;
    facts[16].engine = 1;
    facts[17].reason = CS_REASON_REPORT_ONLY;
    facts[18].tiling.axis[0] = CS_AXIS_W;
    facts[19].tiling.step[1] = 2;
    facts[20].required = 101;
    facts[21].possible = 51;
    facts[22].problem.pre[1] = 0;
    facts[23].problem.tensor[CS_Y].alignment = 32;
    facts[24].problem.direction = CS_BACKWARD_DATA;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < VARIANTS; i++) {
            CHECK_INT(site_of(account, &facts[i]).place, i + 1);
            CHECK_INT(account->sites, pass ? VARIANTS : i + 1);
        }
    facts[0].queries = 5; /* no part of it */
    facts[0].free = 6;
    facts[0].raised = true;
    facts[0].tiling.lanes = 1; /* as 0 */
    CHECK_INT(site_of(account, &facts[0]).place, 1);
    CHECK_INT(account->sites, VARIANTS);
    free(account);
}

static void a_name_is_cut(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    char name[2 * CS_SITE_NAME];
    memset(name, 'n', sizeof name);
    for (size_t length = CS_SITE_NAME - 2; length < CS_SITE_NAME + 2; length++) {
        name[length] = '\0';
        facts.engine = (int64_t)length;
        struct cs_site_ref site = cs_account_site(account, &facts, name);
        CHECK_INT(strlen(account->site[site.place - 1].name),
                  length < CS_SITE_NAME ? length : CS_SITE_NAME - 1);
        name[length] = 'n';
    }
    free(account);
}

/* The last place is one as any other; who finds none is counted as folded, and known as none. */
static void full_table_folds_further_sites(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 1000, 500, 2), found;
    struct cs_site_ref site = {.place = 0}, small;
    for (int i = 0; i < CS_MAX_SITES; i++) {
        facts.engine = i;
        facts.required = 1000 + i; /* the first one is the smallest */
        facts.possible = 500 + i;
        site = site_of(account, &facts);
    }
    CHECK_INT(site.place, CS_MAX_SITES);
    CHECK(cs_account_facts(account, &site, &found));
    CHECK_INT(found.engine, CS_MAX_SITES - 1);
    cs_account_prepared(account, &site, 9);
    CHECK_INT(account->site[CS_MAX_SITES - 1].host, 9);
    CHECK_INT(account->site[CS_MAX_SITES - 1].prepared, 1);
    cs_account_tiled(account, &site, 3, 2);
    CHECK_INT(cs_account_site_count(&account->site[CS_MAX_SITES - 1], CS_COUNT_LAUNCHES), 3);
    CHECK_INT(cs_account_order(account, 1), CS_MAX_SITES - 1);
    CHECK_INT(account->smallest, 0);
    CHECK_INT(account->folds, 0);

    facts.engine = -1;
    facts.required = 700;
    facts.possible = 300; /* less is saved than by all others */
    small = site_of(account, &facts);
    CHECK_INT(small.place, CS_MAX_SITES + 1);
    CHECK_INT(account->folds, 1);
    memset(&account->facts[0], 0, sizeof account->facts[0]); /* the memory after the table */
    CHECK(!cs_account_facts(account, &small, &found));
    cs_account_prepared(account, &small, 4);
    CHECK_INT(account->folded_host, 4);
    cs_account_tiled(account, &small, 5, 1);
    CHECK_INT(account->folded[CS_COUNT_LAUNCHES], 5);
    CHECK_INT(account->folded[CS_COUNT_CALLS], 1);
    CHECK_INT(cs_account_order(account, 2), -1);
    CHECK_INT(account->lanes, 2);
    CHECK_INT(account->required_max, 1000 + CS_MAX_SITES - 1);
    CHECK_INT(account->reported_max, 500 + CS_MAX_SITES - 1);

    facts.engine = -2;
    facts.required = 1200;
    facts.possible = 699; /* more than the first one: takes its place */
    struct cs_site_ref taken = site_of(account, &facts);
    CHECK_INT(taken.place, 1);
    CHECK_INT(taken.tenant, 1);
    CHECK_INT(account->folds, 2);
    CHECK_INT(account->smallest, 1);
    free(account);
}

/* A reference of zeros, and none, are of no site. */
static void no_site(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 1000, 500, 2), found;
    struct cs_site_ref none = {.place = 0}, site = site_of(account, &facts);
    CHECK_INT(site.place, 1);
    CHECK(cs_account_facts(account, &site, &found));
    CHECK(!cs_account_facts(account, &none, &found));
    CHECK(!cs_account_facts(account, NULL, &found));
    cs_account_prepared(account, NULL, 3);
    cs_account_prepared(account, &none, 4);
    CHECK_INT(account->folded_host, 7);
    CHECK_INT(account->site[0].host, 0);
    cs_account_passed(account, &none, CS_REASON_SMALL);
    CHECK_INT(account->folded[CS_COUNT_CALLS], 0);
    CHECK_INT(account->required_max, 0);
    cs_account_passed(account, &site, CS_REASON_REPORT_ONLY);
    CHECK_INT(account->reported_max, 1000);
    CHECK_INT(account->possible_max, 500);
    cs_account_passed(account, &site, CS_REASON_SMALL);
    CHECK_INT(account->possible_max, 1000);
    CHECK_INT(cs_account_order(account, 1), -1);
    CHECK_INT(cs_account_order(account, 2), 0);
    CHECK_INT(account->site[0].first & 0xffff, 2);
    CHECK_INT(account->site[0].last & 0xffff, 3);
    cs_account_refused(account);
    cs_account_reset(account);
    CHECK_INT(account->calls + account->refused + account->required_max + account->reported_max +
                  account->folded_host + account->passed[CS_REASON_SMALL],
              0);
    CHECK_INT(cs_account_order(account, 2), -1);
    CHECK_INT(cs_account_site_count(&account->site[0], CS_COUNT_CALLS), 0);
    CHECK_INT(account->site[0].first + account->site[0].last, 0);
    free(account);
}

static void order_has_a_limited_length(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 1000, 500, 2);
    struct cs_site_ref site = site_of(account, &facts);
    for (int i = 0; i < CS_ORDER + 2; i++)
        cs_account_tiled(account, &site, 1, 1);
    CHECK_INT(cs_account_order(account, 1), 0);
    CHECK_INT(cs_account_order(account, CS_ORDER), 0);
    CHECK_INT(account->calls, CS_ORDER + 2);
    free(account);
}

static void rules_are_counted_by_calls(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 16, 32, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 2048, 50, 2);
    for (int rule = 0; rule < 3; rule++) {
        facts.rule = rule;
        run(account, &facts, rule + 1);
        facts.engine++;
        run(account, &facts, rule);
    }
    for (int rule = 0; rule < 4; rule++)
        CHECK_INT(cs_account_rule(account, rule), rule < 3 ? 2 * rule + 1 : 0);
    free(account);
}

int main(void)
{
    TEST(problem_ids_are_stable_between_builds);
    TEST(every_fact_counts);
    TEST(a_name_is_cut);
    TEST(full_table_folds_further_sites);
    TEST(no_site);
    TEST(order_has_a_limited_length);
    TEST(rules_are_counted_by_calls);
    return REPORT();
}
