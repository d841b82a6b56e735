/* src/account: more convolutions than there is room for. */
#include "account_fixture.h"
#include "check.h"
#include <pthread.h>

static int64_t sum_of(const struct cs_account *account, enum cs_counter counter)
{
    int64_t sum = account->folded[counter];
    for (int i = 0; i < account->sites; i++)
        sum += cs_account_site_count(&account->site[i], counter);
    return sum;
}

/* Shapes that never come again, in a shuffled order of sizes. */
static void the_smallest_are_folded(void)
{
    enum {
        SHAPES_SEEN = 3 * CS_MAX_SITES + 1
    };
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 2);
    struct cs_site_ref first = {0};
    bool found[SHAPES_SEEN] = {false};
    for (int64_t i = 0; i < SHAPES_SEEN; i++) {
        facts.required = 1000 + i * 1009 % SHAPES_SEEN;
        struct cs_site_ref site = cs_account_site(account, &facts, "");
        cs_account_prepared(account, &site, 5);
        cs_account_tiled(account, &site, 3, 1);
        if (i == 0)
            first = site;
    }
    CHECK_INT(account->sites, CS_MAX_SITES);
    CHECK_INT(account->required_max, 1000 + SHAPES_SEEN - 1);
    CHECK_INT(account->folds, SHAPES_SEEN - CS_MAX_SITES);
    CHECK_INT(sum_of(account, CS_COUNT_CALLS), SHAPES_SEEN);
    CHECK_INT(sum_of(account, CS_COUNT_LAUNCHES), 3 * SHAPES_SEEN);
    CHECK_INT(account->folded[CS_COUNT_TILED], SHAPES_SEEN - CS_MAX_SITES);
    CHECK_INT(account->folded_host, 5 * (SHAPES_SEEN - CS_MAX_SITES));
    for (int i = 0; i < CS_MAX_SITES; i++) {
        CHECK_INT(cs_account_site_count(&account->site[i], CS_COUNT_CALLS), 1);
        found[account->facts[i].required - 1000] = true;
    }
    for (int i = 0; i < CS_MAX_SITES; i++)
        CHECK(found[SHAPES_SEEN - 1 - i]);
    /* The first one had the smallest spike of all. */
    CHECK(!cs_account_facts(account, &first, &facts));
    CHECK_INT(cs_account_order(account, 1), -1);
    cs_account_tiled(account, &first, 3, 1);
    CHECK_INT(account->folded[CS_COUNT_CALLS], SHAPES_SEEN - CS_MAX_SITES + 1);
    CHECK_INT(sum_of(account, CS_COUNT_CALLS), account->calls);
    free(account);
}

/* Nothing is allocated, so that the bound is the struct's size. */
static void a_million_shapes_stay_inside_the_bound(void)
{
    enum {
        MILLION = 1000000
    };
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 2);
    CHECK(sizeof *account <= 8 << 20);
    for (int64_t i = 0; i < MILLION; i++) {
        facts.required = 1 + i * 611953 % MILLION; /* each once */
        run(account, &facts, 1);
    }
    CHECK_INT(account->calls, MILLION);
    CHECK_INT(account->folds, MILLION - CS_MAX_SITES);
    CHECK_INT(sum_of(account, CS_COUNT_CALLS), MILLION);
    int64_t least = MILLION;
    for (int i = 0; i < CS_MAX_SITES; i++)
        least = account->facts[i].required < least ? account->facts[i].required : least;
    CHECK_INT(least, MILLION - CS_MAX_SITES + 1);
    free(account);
}

/* Threads that still count by references to sites that another one folds. */
static void *fold_in_thread(void *argument)
{
    struct cs_account *account = argument;
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    for (int64_t i = 0; i < 20000; i++) {
        struct cs_site_facts facts = facts_of(&problem, 2000 + i, 50, 3);
        run(account, &facts, 1);
    }
    return NULL;
}

static void folding_loses_no_call(void)
{
    enum {
        CALLS = 400000
    };
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_ref site[8];
    pthread_t thread;
    for (int i = 0; i < 8; i++) {
        struct cs_site_facts facts = facts_of(&problem, 1000 + i, 50, 3);
        site[i] = cs_account_site(account, &facts, "");
    }
    pthread_create(&thread, NULL, fold_in_thread, account);
    for (int i = 0; i < CALLS; i++)
        cs_account_tiled(account, &site[i % 8], 3, 1);
    pthread_join(thread, NULL);
    CHECK_INT(account->calls, CALLS + 20000);
    CHECK_INT(sum_of(account, CS_COUNT_CALLS), account->calls);
    CHECK_INT(sum_of(account, CS_COUNT_LAUNCHES), account->launches);
    for (int i = 0; i < account->sites; i++)
        CHECK(cs_account_site_count(&account->site[i], CS_COUNT_CALLS) <= 1);
    free(account);
}

int main(void)
{
    TEST(the_smallest_are_folded);
    TEST(a_million_shapes_stay_inside_the_bound);
    TEST(folding_loses_no_call);
    return REPORT();
}
