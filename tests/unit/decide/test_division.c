/* The dynamic program of tiles of several sizes against every way there is. */
#include "check.h"
#include "decide/division.h"
#include "random_problem.h"
#include <math.h>

enum {
    SEED = 20281,
    RANDOM_CASES = 3000,
    MOST_TOTAL = 14
};

/* The least cost of making up `total` from the shares at `from` and behind, taken any number of
 * times each; INFINITY if there is no way. */
static double exhaustive(int64_t total, const struct cs_portion *share, int shares, int from)
{
    double least = INFINITY;
    if (total == 0)
        return 0;
    for (int i = from; i < shares; i++) {
        if (share[i].extent > total)
            continue;
        double rest = exhaustive(total - share[i].extent, share, shares, i);
        least = rest + share[i].seconds < least ? rest + share[i].seconds : least;
    }
    return least;
}

static void like_every_way(void)
{
    struct rng rng = {SEED};
    int impossible = 0, mixed = 0;
    for (int i = 0; i < RANDOM_CASES; i++) {
        struct cs_portion share[6];
        int64_t count[6], total = rng_between(&rng, 1, MOST_TOTAL), made = 0;
        int shares = (int)rng_between(&rng, 1, 6), shapes = 0;
        for (int s = 0; s < shares; s++)
            share[s] = (struct cs_portion){rng_between(&rng, 1, MOST_TOTAL),
                                           (double)rng_between(&rng, 1, 1000)};
        double least = exhaustive(total, share, shares, 0), seconds = 0;
        enum cs_status status = cs_division_best(total, share, shares, count);
        CHECK_INT(status, isinf(least) ? CS_ILLEGAL : CS_OK);
        impossible += status != CS_OK;
        for (int s = 0; status == CS_OK && s < shares; s++) {
            made += count[s] * share[s].extent;
            seconds += (double)count[s] * share[s].seconds;
            shapes += count[s] > 0;
        }
        if (status != CS_OK)
            continue;
        CHECK_INT(made, total);
        CHECK(fabs(seconds - least) < 1e-9 * least);
        mixed += shapes > 1;
    }
    printf("# %d cases, %d without a division, %d of several sizes\n", RANDOM_CASES, impossible,
           mixed);
    CHECK(impossible > RANDOM_CASES / 20 && mixed > RANDOM_CASES / 20);
}

/* Full waves of three images, and what is left over in one smaller tile. */
static void full_waves_and_the_rest(void)
{
    const struct cs_portion share[] = {{5, 2.5}, {4, 2.5}, {3, 1.0}, {2, 1.0}, {1, 1.0}};
    int64_t count[5];
    CHECK_INT(cs_division_best(32, share, 5, count), CS_OK);
    CHECK_INT(count[2] + count[3] + count[4] + count[0] + count[1], 11);
    CHECK_INT(count[2], 10);
    CHECK_INT(count[3], 1);
}

static void fewest_tiles_among_equals(void)
{
    const struct cs_portion share[] = {{1, 1.0}, {2, 2.0}, {4, 4.0}};
    int64_t count[3];
    CHECK_INT(cs_division_best(12, share, 3, count), CS_OK);
    CHECK_INT(count[0], 0);
    CHECK_INT(count[1], 0);
    CHECK_INT(count[2], 3);
}

static void bounds(void)
{
    struct cs_portion share[CS_MAX_PORTIONS + 1];
    int64_t count[CS_MAX_PORTIONS + 1];
    for (int i = 0; i <= CS_MAX_PORTIONS; i++)
        share[i] = (struct cs_portion){1 + i, 1.0 + i};
    CHECK_INT(cs_division_best(0, share, 1, count), CS_ILLEGAL);
    CHECK_INT(cs_division_best(CS_MAX_UNITS + 1, share, 1, count), CS_ILLEGAL);
    CHECK_INT(cs_division_best(4, share, 0, count), CS_ILLEGAL);
    CHECK_INT(cs_division_best(4, share, CS_MAX_PORTIONS + 1, count), CS_ILLEGAL);
    share[0].extent = 0;
    CHECK_INT(cs_division_best(4, share, 1, count), CS_ILLEGAL);
    share[0].extent = 3;
    CHECK_INT(cs_division_best(4, share, 1, count), CS_ILLEGAL);
    CHECK_INT(cs_division_best(CS_MAX_UNITS, share + 1, CS_MAX_PORTIONS, count), CS_OK);
}

int main(void)
{
    TEST(like_every_way);
    TEST(full_waves_and_the_rest);
    TEST(fewest_tiles_among_equals);
    TEST(bounds);
    return REPORT();
}
