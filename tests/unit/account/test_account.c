/* src/account: counters. */
#include "account/account.h"

#include "account_fixture.h"
#include "check.h"
#include <pthread.h>

static struct cs_site_ref site_with(struct cs_account *account, const struct cs_site_facts *facts)
{
    return cs_account_site(account, facts, "");
}

static bool same(struct cs_site_ref a, struct cs_site_ref b)
{
    return a.place == b.place && a.tenant == b.tenant && a.hash == b.hash;
}

static int64_t counted(const struct cs_account *account, struct cs_site_ref site,
                       enum cs_counter counter)
{
    return cs_account_site_count(&account->site[site.place - 1], counter);
}

static void every_outcome_is_counted_once(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    struct cs_site_ref site = site_with(account, &facts);
    cs_account_tiled(account, &site, 2, 3);
    cs_account_tiled(account, &site, 2, 1);
    CHECK_INT(account->reported_max, 50);
    CHECK_INT(account->lanes, 3);
    cs_account_fallback(account, &site);
    cs_account_failed(account, &site);
    CHECK_INT(account->reported_max, 50);
    cs_account_passed(account, &site, CS_REASON_PROVIDED);
    CHECK_INT(account->reported_max, 100);
    cs_account_passed(account, NULL, CS_REASON_DYNAMIC);
    cs_account_passed(account, NULL, CS_REASON_HOST_MEMORY);
    CHECK_INT(account->calls, 7);
    CHECK_INT(account->tiled_calls, 2);
    CHECK_INT(account->fallbacks, 1);
    CHECK_INT(account->failed, 1);
    CHECK_INT(account->launches, 4);
    CHECK_INT(account->passed[CS_REASON_PROVIDED], 1);
    CHECK_INT(account->passed[CS_REASON_DYNAMIC], 1);
    CHECK_INT(account->passed[CS_REASON_HOST_MEMORY], 1);
    CHECK_INT(account->required_max, 100);
    CHECK_INT(counted(account, site, CS_COUNT_CALLS), 5);
    CHECK_INT(counted(account, site, CS_COUNT_TILED), 2);
    CHECK_INT(counted(account, site, CS_COUNT_LAUNCHES), 4);
    CHECK_INT(counted(account, site, CS_COUNT_FALLBACKS), 1);
    CHECK_INT(counted(account, site, CS_COUNT_FAILED), 1);
    for (int64_t i = 1; i <= 7; i++)
        CHECK_INT(cs_account_order(account, i), i <= 5 ? 0 : -1);

    cs_account_refused(account);
    CHECK_INT(account->refused, 1);
    cs_account_reset(account);
    CHECK_INT(account->refused, 0);
    CHECK_INT(account->calls + account->tiled_calls + account->fallbacks + account->failed, 0);
    CHECK_INT(account->launches + account->required_max + account->reported_max + account->lanes,
              0);
    CHECK_INT(account->passed[CS_REASON_PROVIDED] + account->passed[CS_REASON_HOST_MEMORY], 0);
    for (int i = 0; i < CS_COUNTERS; i++)
        CHECK_INT(counted(account, site, i) + account->folded[i], 0);
    CHECK_INT(cs_account_order(account, 1), -1);
    CHECK(same(site_with(account, &facts), site));
    free(account);
}

static void launched_calls_alone_count_for_the_largest(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 1000, 50, 2);
    site_with(account, &facts);
    CHECK_INT(account->required_max, 0);
    facts.required = 300;
    run(account, &facts, 1);
    CHECK_INT(account->required_max, 300);
    facts.reason = CS_REASON_REPORT_ONLY;
    facts.required = 400, facts.possible = 60;
    run(account, &facts, 1);
    CHECK_INT(account->required_max, 400);
    CHECK_INT(account->reported_max, 400);
    CHECK_INT(account->possible_max, 60);
    free(account);
}

enum {
    THREADS = 8,
    SHAPES = 40,
    ROUNDS = 100000,
    REPEATS = 40
};

struct crew {
    struct cs_account *account;
    pthread_barrier_t start;
    int rounds;
};

static void *count_in_thread(void *argument)
{
    struct crew *crew = argument;
    struct cs_problem problem = problem_of(2, 64, 64, 32, CS_F32);
    struct cs_site_ref site[SHAPES];
    pthread_barrier_wait(&crew->start);
    for (int i = 0; i < SHAPES; i++) {
        struct cs_site_facts facts = facts_of(&problem, 100 + i, 50, 3);
        site[i] = site_with(crew->account, &facts);
    }
    pthread_barrier_wait(&crew->start);
    for (int i = 0; i < crew->rounds; i++) {
        if (i % 4 == 0)
            cs_account_passed(crew->account, &site[i % SHAPES], CS_REASON_SMALL);
        else if (i % 4 == 1)
            cs_account_fallback(crew->account, &site[i % SHAPES]);
        else
            cs_account_tiled(crew->account, &site[i % SHAPES], 3, 1);
    }
    return NULL;
}

static struct cs_account *count_in_threads(int rounds)
{
    struct crew crew = {.account = new_account(), .rounds = rounds};
    pthread_t threads[THREADS];
    pthread_barrier_init(&crew.start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, count_in_thread, &crew);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crew.start);
    return crew.account;
}

static void threads_count_exactly(void)
{
    struct cs_account *account = count_in_threads(ROUNDS);
    CHECK_INT(account->calls, THREADS * ROUNDS);
    CHECK_INT(account->tiled_calls, THREADS * ROUNDS / 2);
    CHECK_INT(account->launches, 3 * THREADS * ROUNDS / 2);
    CHECK_INT(account->fallbacks, THREADS * ROUNDS / 4);
    CHECK_INT(account->passed[CS_REASON_SMALL], THREADS * ROUNDS / 4);
    CHECK_INT(account->required_max, 100 + SHAPES - 1);
    for (int i = 0; i < SHAPES; i++)
        CHECK_INT(cs_account_site_count(&account->site[i], CS_COUNT_CALLS),
                  THREADS * ROUNDS / SHAPES);
    free(account);
}

static void threads_share_sites(void)
{
    for (int i = 0; i < REPEATS; i++) {
        struct cs_account *account = count_in_threads(0);
        CHECK_INT(account->sites, SHAPES);
        free(account);
    }
}

int main(void)
{
    TEST(every_outcome_is_counted_once);
    TEST(launched_calls_alone_count_for_the_largest);
    TEST(threads_count_exactly);
    TEST(threads_share_sites);
    return REPORT();
}
