/* How a total is given away, step by step: which offer a site that was not foreseen takes, what is
 * left then, which records are offers. */
#include "check.h"

#include "flow/budget.c" /* NOLINT(bugprone-suspicious-include) */

static struct cs_budget budget;

static void start(int64_t total)
{
    cs_budget_init(&budget, total, 1);
    budget.reported = true; /* of what is too little another test says it */
}

/* The last that is within a quarter of what is left, if any is; else the first. */
static void which_offer_is_picked(void)
{
    static const struct cs_offer offer[] = {{.bytes = 10}, {.bytes = 20}, {.bytes = 30}};
    static const struct {
        int64_t left;
        int count, picked;
    } rows[] = {{0, 3, 0},   {79, 3, 0},  {80, 3, 1}, {119, 3, 1}, {120, 3, 2},
                {120, 2, 1}, {120, 1, 0}, {79, 2, 0}, {80, 2, 1},  {-100, 3, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(0);
        budget.left = rows[i].left;
        CHECK_INT(pick(&budget, offer, rows[i].count), rows[i].picked);
        budget.shares = CS_MAX_SHARES - 1;
        CHECK_INT(pick(&budget, offer, rows[i].count), rows[i].picked);
        budget.shares = CS_MAX_SHARES;
        CHECK_INT(pick(&budget, offer, rows[i].count), 0);
    }
}

static void what_is_given_is_not_left(void)
{
    int64_t limit = 77;
    start(100);
    CHECK(!find(&budget, 5, &limit) && limit == 77);
    give(&budget, 5, 30, 50);
    give(&budget, 6, 80, 90);
    CHECK_INT(budget.left, -10);
    CHECK(find(&budget, 5, &limit) && limit == 50);
    CHECK(find(&budget, 6, &limit) && limit == 90);
    CHECK(!find(&budget, 7, &limit));
    CHECK_INT(budget.shares, 2);
    budget.share[2] = (struct cs_share){7, 1}; /* behind the last */
    CHECK(!find(&budget, 7, &limit));
    give(&budget, 8, INT64_MAX, 1);
    give(&budget, 9, INT64_MAX, 1);
    CHECK_INT(budget.left, INT64_MIN);
    budget.shares = CS_MAX_SHARES;
    budget.left = 5;
    give(&budget, 10, 1, 1);
    CHECK(budget.shares == CS_MAX_SHARES && budget.left == 5);
}

/* Offers in threes, none below 0 or beyond what can be added up. */
static void which_records_are_offers(void)
{
    static struct known known;
    const int64_t most = INT64_MAX / CS_SPLIT_SITES / 2;
    const struct {
        int words;
        int64_t word[6];
        bool offers;
    } rows[] = {{3, {1, 2, 3}, true},         {6, {1, 2, 3, 2, 1, 3}, true},
                {4, {1, 2, 3, 4}, false},     {5, {1, 2, 3, 4, 5}, false},
                {3, {-1, 2, 3}, false},       {3, {0, 0, 0}, true},
                {3, {1, -1, 3}, false},       {3, {1, 2, -1}, false},
                {3, {most, most, 3}, true},   {3, {most + 1, 2, 3}, false},
                {3, {1, most + 1, 3}, false}, {6, {1, 2, 3, 2, -1, 3}, false},
                {3, {1, 2, INT64_MAX}, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_store_record record = {.words = rows[i].words, .key = {{1, 4711}}};
        memcpy(record.word, rows[i].word, sizeof rows[i].word);
        known.sites = 0;
        read_offers(&known, &record);
        CHECK_INT(known.sites, rows[i].offers);
        CHECK(!rows[i].offers || known.name[0] == 4711);
        CHECK(!rows[i].offers || known.limit[0][0] == rows[i].word[2]);
        known.sites = CS_SPLIT_SITES;
        read_offers(&known, &record);
        CHECK_INT(known.sites, CS_SPLIT_SITES);
    }
}

int main(void)
{
    TEST(which_offer_is_picked);
    TEST(what_is_given_is_not_left);
    TEST(which_records_are_offers);
    return REPORT();
}
