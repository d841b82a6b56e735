/* Which tilings are looked for, and in which order: a word for each search, written down as it is
 * asked for. What is found is what the test says. */
#include "fake_vendor.h"

#include "decide/price.h"
#include "decide/search.h"

static enum cs_status fewest_as_told(struct cs_search *search, struct cs_mode mode,
                                     enum cs_axis axis, int64_t most);
static enum cs_status probe_as_told(struct cs_search *search, struct cs_mode mode,
                                    const struct cs_tiling *tiling);
static enum cs_status product_as_told(struct cs_search *search, struct cs_mode mode);
static enum cs_status compare_as_told(struct cs_search *search, struct cs_mode mode,
                                      const struct cs_candidate *known);
#define cs_search_fewest(search, mode, axis, most) fewest_as_told(search, mode, axis, most)
#define cs_search_probe(search, mode, tiling, probed, bytes)                                       \
    ((void)(probed), (void)(bytes), probe_as_told(search, mode, tiling))
#define cs_product_search(search, mode) product_as_told(search, mode)
#define cs_price_compare(search, mode, known) compare_as_told(search, mode, known)
#define cs_tilings_list tilings_list
#define cs_tilings_list_huge tilings_list_huge
#include "decide/tilings.c" /* NOLINT(bugprone-suspicious-include) */

/* What was asked: after "lanes, knobs (s: the application's, d: the engine's, e: another engine, h:
 * of the heuristics), packed" a letter for each axis, * for products, ( ) for a tiling, $ where
 * prices are compared. */
static char asked[600];
static struct cs_mode last_mode;
static int64_t purse; /* asks that were left and kept when the mode changed last */
static int64_t kept;

/* Where something is found, or memory runs out: at that search, from 1; 0: nowhere. */
static struct {
    int found, none, searches;
} told;

static enum cs_status note(struct cs_search *search, struct cs_mode mode, const char *word)
{
    size_t length = strlen(asked);
    told.searches++;
    if (length == 0 || mode.lanes != last_mode.lanes || mode.relaxation != last_mode.relaxation ||
        mode.staged != last_mode.staged) {
        length +=
            (size_t)snprintf(asked + length, sizeof asked - length, "%s%d%c%s:", length ? " " : "",
                             mode.lanes, "sdeh"[mode.relaxation], mode.staged ? "p" : "");
        purse = search->purse.left;
        kept = search->purse.kept;
    }
    snprintf(asked + length, sizeof asked - length, "%s", word);
    last_mode = mode;
    if (told.searches == told.found) {
        search->list.candidate[search->list.count] = (struct cs_candidate){.tiles = 2};
        search->list.candidate[search->list.count++].tiling.lanes = mode.lanes;
    }
    return told.searches == told.none ? CS_NOMEM : CS_OK;
}

static enum cs_status fewest_as_told(struct cs_search *search, struct cs_mode mode,
                                     enum cs_axis axis, int64_t most)
{
    CHECK_INT(most, cs_search_most(search));
    return note(search, mode, cs_axis_name(axis));
}

static enum cs_status probe_as_told(struct cs_search *search, struct cs_mode mode,
                                    const struct cs_tiling *tiling)
{
    char word[32];
    CHECK(tiling->axis[1] == CS_AXIS_NONE && tiling->step[1] == 1);
    snprintf(word, sizeof word, "(%s%d)", cs_axis_name(tiling->axis[0]), (int)tiling->step[0]);
    return note(search, mode, word);
}

static enum cs_status product_as_told(struct cs_search *search, struct cs_mode mode)
{
    return note(search, mode, "*");
}

static enum cs_status compare_as_told(struct cs_search *search, struct cs_mode mode,
                                      const struct cs_candidate *known)
{
    CHECK_INT(known->tiles, 2);
    return note(search, mode, "$");
}

static struct cs_problem problem;
static struct cs_vendor vendor;
static struct cs_question question;
static struct cs_search search;
static struct cs_mode mode;

/* Sixteen images of 30 rows; where nothing moves phases, in the order of stages. */
static void begin(int found)
{
    problem = same(16, 8, 1, 30, 60, 8);
    vendor = (struct cs_vendor){.compiles = false};
    question = (struct cs_question){.problem = &problem, .vendor = &vendor};
    search = (struct cs_search){.question = &question, .list = {.count = 1}};
    mode = (struct cs_mode){.lanes = 1};
    told.found = found;
    told.none = told.searches = 0;
    asked[0] = '\0';
}

static void check_list(int64_t tiles, int lanes, const char *want)
{
    struct cs_limits limits = {.lanes = lanes};
    CHECK_INT(tilings_list(&search, tiles, &limits, &mode), CS_OK);
    CHECK_STR(asked, want);
}

/* Of an image depth has no stride, and columns lie beside each other: only the phases of rows are
 * looked at before the last stage. */
#define FIRST "NDHh"
#define ALL FIRST "WKCdw"

/* The first stage that finds something ends the search, and what it found is compared. */
static void until_something_is_found(void)
{
    static const struct {
        int found;
        int64_t purse, kept;
        const char *asked;
    } rows[] = {
        {0, 1 + CS_STAGED_ASKS, 1, "1s:" ALL "* 1d:" ALL "* 1e:(-1) 1sp:" ALL "*"},
        {1, MOST_ASKS, PRODUCT_ASKS, "1s:" FIRST "$"},
        {4, MOST_ASKS, PRODUCT_ASKS, "1s:" FIRST "$"},
        {5, MOST_ASKS, PRODUCT_ASKS, "1s:" FIRST "W$"},
        {6, MOST_ASKS, PRODUCT_ASKS, "1s:" FIRST "WKC$"},
        {7, MOST_ASKS, PRODUCT_ASKS, "1s:" FIRST "WKC$"},
        {8, MOST_ASKS, PRODUCT_ASKS, "1s:" ALL "$"},
        {10, MOST_ASKS, PRODUCT_ASKS, "1s:" ALL "*$"},
        {11, MOST_ASKS + CS_RELAXATION_ASKS, 1, "1s:" ALL "* 1d:" FIRST "$"},
        {20, MOST_ASKS + CS_RELAXATION_ASKS, 1, "1s:" ALL "* 1d:" ALL "*$"},
        {21, 1, 1, "1s:" ALL "* 1d:" ALL "* 1e:(-1)$"},
        {22, 1 + CS_STAGED_ASKS, 1, "1s:" ALL "* 1d:" ALL "* 1e:(-1) 1sp:" FIRST "$"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].found);
        check_list(0, 1, rows[i].asked);
        CHECK_INT(purse, rows[i].purse);
        CHECK_INT(kept, rows[i].kept);
        CHECK(mode.lanes == last_mode.lanes && mode.relaxation == last_mode.relaxation &&
              mode.staged == last_mode.staged);
    }
}

static void what_vendors_and_limits_rule_out(void)
{
    begin(0);
    vendor.rigid = true;
    check_list(0, 1, "1s:" ALL "* 1sp:" ALL "*");
    begin(0);
    vendor.compiles = true;
    check_list(0, 4, "1s:" ALL "*");
    CHECK(purse == CS_COMPILED_ASKS && kept == 0);
    begin(1);
    vendor.compiles = true;
    check_list(0, 1, "1s:" FIRST);
    begin(0);
    mode.staged = true;
    check_list(0, 1, "1sp:" ALL "* 1dp:" ALL "* 1ep:(-1) 1sp:" ALL "*");
    for (int staging = CS_STAGING_AUTO; staging <= CS_STAGING_ALWAYS; staging++) {
        const struct cs_limits limits = {.staging = (enum cs_staging)staging};
        begin(0);
        vendor.rigid = true;
        CHECK_INT(tilings_list(&search, 0, &limits, &mode), CS_OK);
        CHECK_STR(asked, staging == CS_STAGING_AUTO ? "1s:" ALL "* 1sp:" ALL "*" : "1s:" ALL "*");
    }
    begin(0);
    problem = same(16, 8, 1, 30, 8, 8); /* where rows lie closer, too */
    vendor.compiles = true;
    check_list(0, 1, "1s:NDHWKCdhw*");
}

/* On half as many lanes where nothing fits, as long as asks are left. */
static void lanes_are_tried_before(void)
{
    begin(0);
    vendor.rigid = true;
    search.equal_padding = true;
    search.unequal = 2;
    check_list(0, 4, "4s:" ALL "* 2s:" ALL "* 1s:" ALL "* 1sp:" ALL "*");
    CHECK(!search.equal_padding && search.unequal == 0);
    begin(1);
    check_list(0, 8, "8s:" FIRST "$");
    CHECK_INT(purse, CS_LANE_ASKS);
    begin(11);
    check_list(0, 3, "3s:" ALL "* 1s:" FIRST "$");
    CHECK_INT(purse, MOST_ASKS);
    begin(0);
    vendor.rigid = true;
    check_list(0, 0, "1s:" ALL "* 1sp:" ALL "*");
}

/* As many tiles as the user says, as far as an axis can be divided; neither products nor other
 * engines are tried. */
static void a_number_of_tiles(void)
{
    begin(0);
    check_list(5, 1, "1s:(N4)(H6)(W12)(K2)");
    begin(1);
    check_list(5, 1, "1s:(N4)(H6)");
    begin(0);
    check_list(40, 1, "1s:(N1)(H1)(W2)(K1)");
    begin(0);
    check_list(1, 1, "");
    begin(0);
    problem = same(3000, 8, 1, 2, 2, 8);
    check_list(4000, 1, "1s:(N3)(H1)(W1)(K1)");
    begin(0);
    vendor.rigid = true;
    check_list(5, 2, "2s:(N4)(H6)(W12)(K2) 1s:(N4)(H6)(W12)(K2)");
}

static void memory_that_runs_out_ends_it(void)
{
    for (int none = 1; none <= 31; none++) {
        const struct cs_limits limits = {.lanes = 1};
        begin(0);
        told.none = none;
        CHECK_INT(tilings_list(&search, 0, &limits, &mode), CS_NOMEM);
        CHECK_INT(told.searches, none);
    }
    const struct cs_limits limits = {.lanes = 2};
    begin(1);
    told.none = 5;
    CHECK_INT(tilings_list(&search, 0, &limits, &mode), CS_NOMEM);
    begin(0);
    told.none = 3;
    CHECK_INT(tilings_list(&search, 0, &limits, &mode), CS_NOMEM);
    CHECK_INT(told.searches, 3);
    begin(0);
    told.none = 2;
    CHECK_INT(tilings_list(&search, 5, &limits, &mode), CS_NOMEM);
    CHECK_INT(told.searches, 2);
}

static void huge_tensors(void)
{
    begin(0);
    CHECK_INT(tilings_list_huge(&search, &mode), CS_OK);
    CHECK_STR(asked, "1hp:" ALL "*");
    CHECK(purse == MOST_ASKS && kept == PRODUCT_ASKS);
    CHECK(mode.relaxation == CS_TILE_HEURISTICS && mode.staged && mode.lanes == 1);
    begin(0);
    vendor.rigid = true;
    CHECK_INT(tilings_list_huge(&search, &mode), CS_OK);
    CHECK_STR(asked, "");
}

int main(void)
{
    TEST(until_something_is_found);
    TEST(what_vendors_and_limits_rule_out);
    TEST(lanes_are_tried_before);
    TEST(a_number_of_tiles);
    TEST(memory_that_runs_out_ends_it);
    TEST(huge_tensors);
    return REPORT();
}
