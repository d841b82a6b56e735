/* Which ways to run a convolution are offered: each under half of what the one before was reported,
 * until there are enough or nothing fits. The decisions are those of the test. */
#include "fake_vendor.h"

static struct cs_decision decision_as_told(const struct cs_limits *limits);
#define cs_decide(problem, required, policy, limits, vendor)                                       \
    ((void)(policy), decision_as_told(limits))
#define cs_offers offers
#include "decide/offers.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_decide

enum {
    MOST = 16
};

/* What is decided one after the other, and under which limits it was asked. */
static struct cs_decision told[MOST];
static struct cs_limits under[MOST];
static int decisions;

static struct cs_decision decision_as_told(const struct cs_limits *limits)
{
    CHECK(decisions < MOST);
    under[decisions] = *limits;
    return told[decisions++];
}

static int offer_all(int64_t required, const struct cs_limits *limits, bool compiles,
                     struct cs_offer offer[CS_MAX_OFFERS])
{
    struct cs_problem problem = same(1, 8, 1, 64, 64, 8);
    struct cs_vendor vendor = {.compiles = compiles};
    decisions = 0;
    return offers(&problem, required, NULL, limits, &vendor, offer);
}

/* Into so many tiles of rows, asked so often. */
static struct cs_decision tiled(int64_t reported, int64_t tiles, int64_t asked)
{
    return (struct cs_decision){.tiling = {.axis = {CS_AXIS_H}, .step = {64 / tiles, 1}},
                                .tiles = tiles,
                                .reported = reported,
                                .asked = asked};
}

static struct cs_decision left(enum cs_reason reason, int64_t reported)
{
    return (struct cs_decision){
        .tiling = {.step = {1, 1}}, .tiles = 1, .reported = reported, .reason = reason};
}

/* Two rows of 64 x 8 halves are read again between two tiles. */
static int64_t cost_of_tiles(int64_t tiles)
{
    return (tiles - 1) * (10000000 + 2 * 64 * 8 * 2);
}

static void each_under_half_of_the_one_before(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_limits limits = {.workspace = 1000, .most = 5000, .threshold = 30};
    told[0] = left(CS_REASON_SMALL, 900);
    told[1] = tiled(400, 2, 1);
    told[2] = tiled(150, 4, 1);
    told[3] = left(CS_REASON_NO_TILING, 900);
    CHECK_INT(offer_all(900, &limits, false, offer), 3);
    CHECK_INT(decisions, 4);
    static const int64_t workspace[] = {1000, 450, 200, 75};
    for (int i = 0; i < 4; i++) {
        CHECK_INT(under[i].workspace, workspace[i]);
        CHECK_INT(under[i].most, i ? workspace[i] : 5000);
        CHECK_INT(under[i].threshold, i ? 0 : 30);
    }
    CHECK(offer[0].bytes == 150 && offer[0].limit == 200 && offer[0].cost == cost_of_tiles(4));
    CHECK(offer[1].bytes == 400 && offer[1].limit == 450 && offer[1].cost == cost_of_tiles(2));
    CHECK(offer[2].bytes == 900 && offer[2].limit == 1000 && offer[2].cost == 0);
}

static void what_is_beaten_is_no_offer(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_limits limits = {.workspace = 1000};
    told[0] = tiled(400, 8, 1);
    told[1] = tiled(200, 4, 1);
    told[2] = tiled(100, 16, 1);
    told[3] = left(CS_REASON_NO_TILING, 900);
    CHECK_INT(offer_all(900, &limits, false, offer), 2);
    CHECK(offer[0].bytes == 100 && offer[1].bytes == 200);
}

static void where_nothing_fits_the_call_stays_whole(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_limits limits = {.workspace = 1000};
    told[0] = left(CS_REASON_NO_TILING, 1900);
    CHECK_INT(offer_all(1900, &limits, false, offer), 1);
    CHECK(offer[0].bytes == 1900 && offer[0].cost == 0 && offer[0].limit == 1000);
    const struct cs_limits none = {.workspace = 0};
    CHECK_INT(offer_all(1900, &none, false, offer), 1);
    CHECK_INT(decisions, 0);
    CHECK(offer[0].bytes == 1900 && offer[0].limit == 0);
    told[0] = tiled(1, 2, 1); /* half of that is nothing */
    CHECK_INT(offer_all(1900, &limits, false, offer), 1);
    CHECK(decisions == 1 && offer[0].bytes == 1);
    told[0] = tiled(2, 2, 1);
    told[1] = left(CS_REASON_NO_TILING, 1900);
    CHECK_INT(offer_all(1900, &limits, false, offer), 1);
    CHECK(decisions == 2 && under[1].workspace == 1);
}

/* At most eight, of vendors that compile two. */
static void so_many_at_most(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_limits limits = {.workspace = 1 << 20};
    for (int i = 0; i < MOST; i++)
        told[i] = tiled(1 << (19 - i), 2 + i, 1);
    CHECK_INT(offer_all(1 << 21, &limits, false, offer), CS_MAX_OFFERS);
    CHECK_INT(decisions, CS_MAX_OFFERS);
    CHECK_INT(offer_all(1 << 21, &limits, true, offer), 2);
    CHECK_INT(decisions, 2);
}

static void so_many_asks_at_most(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    const struct cs_limits limits = {.workspace = 1 << 20};
    for (int i = 0; i < MOST; i++)
        told[i] = tiled(1 << (19 - i), 2 + i, CS_OFFER_ASKS / 3);
    for (int more = -1; more <= 1; more++) {
        told[2].asked = CS_OFFER_ASKS / 3 + more;
        CHECK_INT(offer_all(1 << 21, &limits, false, offer), more < 0 ? 4 : 3);
    }
}

/* What is at the threshold is left alone whatever its share is. */
static void small_calls_have_one_offer(void)
{
    struct cs_offer offer[CS_MAX_OFFERS];
    for (int64_t required = 99; required <= 101; required++) {
        const struct cs_limits limits = {.workspace = 1000, .threshold = 100};
        told[0] = left(CS_REASON_SMALL, required);
        told[1] = tiled(40, 2, 1);
        told[2] = left(CS_REASON_NO_TILING, required);
        CHECK_INT(offer_all(required, &limits, false, offer), required > 100 ? 2 : 1);
        CHECK_INT(decisions, required > 100 ? 3 : 1);
    }
}

int main(void)
{
    TEST(each_under_half_of_the_one_before);
    TEST(what_is_beaten_is_no_offer);
    TEST(where_nothing_fits_the_call_stays_whole);
    TEST(so_many_at_most);
    TEST(so_many_asks_at_most);
    TEST(small_calls_have_one_offer);
    return REPORT();
}
