/* The cost of counting a tiled call, which counts most: of many sites in turn by one thread, and of
 * one site by two threads at once. Prints "count NANOSECONDS" and "count_together NANOSECONDS". */
#include "account/account.h"
#include "bench.h"
#include "random_problem.h"

#include <stdio.h>

enum {
    SITES = 128, /* as many different convolutions as a large model has */
    TILES = 9
};

static struct cs_account *account;
static struct cs_site_ref site[SITES];
static int turn;
static atomic_bool over;
static atomic_int running;

static void count_in_turn(void)
{
    cs_account_tiled(account, &site[turn], TILES, 2);
    turn = (turn + 1) % SITES;
}

static void count_one(void)
{
    cs_account_tiled(account, &site[0], TILES, 2);
}

static void *count_beside(void *nothing)
{
    atomic_fetch_add(&running, 1);
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        count_one();
    return nothing;
}

static void make_sites(void)
{
    struct rng rng = {1};
    for (int i = 0; i < SITES; i++) {
        struct cs_site_facts facts = {.problem = random_large(&rng),
                                      .tiling = {.axis = {CS_AXIS_H}, .step = {8, 1}},
                                      .tiles = TILES,
                                      .required = i + 2,
                                      .possible = 1};
        site[i] = cs_account_site(account, &facts, "");
    }
}

/* Nothing that was counted may be missing. */
static bool adds_up(void)
{
    int64_t calls = 0;
    for (int i = 0; i < account->sites; i++)
        calls += cs_account_site_count(&account->site[i], CS_COUNT_CALLS);
    return account->sites == SITES && calls == account->calls && account->tiled_calls == calls &&
           account->launches == TILES * calls;
}

int main(void)
{
    pthread_t other;
    account = calloc(1, sizeof *account);
    if (!account)
        return 1;
    cs_account_init(account);
    make_sites();
    printf("count %.2f\n", bench_median(count_in_turn));
    if (pthread_create(&other, NULL, count_beside, NULL) != 0)
        return 1;
    while (atomic_load(&running) == 0)
        continue;
    printf("count_together %.2f\n", bench_median(count_one));
    atomic_store(&over, true);
    pthread_join(other, NULL);
    bool good = adds_up();
    if (!good)
        fprintf(stderr, "count: the counts do not add up\n");
    free(account);
    return good ? 0 : 1;
}
