/* The lines of the summary, each alone: from which number on there is one, singular and plural,
 * what gives way where a line would be too long. */
#define cs_summary_text summary_text
#include "account/summary_text.c" /* NOLINT(bugprone-suspicious-include) */
#include "account_fixture.h"
#include "check.h"
#include <stdatomic.h>

static char line_text[8000];

static struct cs_text begin(void)
{
    memset(line_text, '#', sizeof line_text);
    line_text[0] = '\0';
    return (struct cs_text){.at = line_text, .size = sizeof line_text};
}

static void a_line_has_a_hundred_columns(void)
{
    char long_word[200];
    memset(long_word, 'x', sizeof long_word);
    for (int length = COLUMNS - 1; length <= COLUMNS + 1; length++) {
        struct cs_text text = begin();
        append(&text, "%.*s", length, long_word);
        int want = length < COLUMNS ? length : COLUMNS;
        CHECK_INT(text.length, want + 1);
        CHECK_INT(strlen(line_text), want + 1);
        CHECK_INT(line_text[want], '\n');
    }
}

static void texts_are_cut_between_words(void)
{
    static const struct {
        const char *text;
        size_t width;
        const char *want;
    } rows[] = {
        {"one two three", 13, "one two three"},
        {"one two three", 12, "one two..."},
        {"one two three", 11, "one two..."},
        {"one two three", 10, "one two..."},
        {"one two three", 9, "one..."},
        {"one two three", 6, "one..."},
        {"one two three", 5, "on..."},
        {"one two three", 3, "..."},
        {"one two three", 2, "one two three"},
        {"onetwothree", 10, "onetwot..."},
        {"a bcdefghij", 10, "a..."},
        {" bcdefghijk", 10, " bcdefg..."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s", rows[i].text);
        clip(text, rows[i].width);
        CHECK_STR(text, rows[i].want);
    }
}

static void the_gate(void)
{
    static const struct {
        struct cs_summary_gate gate;
        const char *want;
    } rows[] = {
        {{0}, ""},
        {{.nanoseconds = 5000000000, .timed_out = 1}, ""},
        {{.waits = 1}, "gate              1 waits of 0.0 s in all, 0 timed out\n"},
        {{.waits = 2, .nanoseconds = 49999999},
         "gate              2 waits of 0.0 s in all, 0 timed out\n"},
        {{.waits = 2, .nanoseconds = 50000000},
         "gate              2 waits of 0.1 s in all, 0 timed out\n"},
        {{.waits = 2, .nanoseconds = 1949999999},
         "gate              2 waits of 1.9 s in all, 0 timed out\n"},
        {{.waits = 2, .nanoseconds = 1950000000, .timed_out = 3},
         "gate              2 waits of 2.0 s in all, 3 timed out\n"},
        {{.waits = 2, .nanoseconds = 12300000000, .given_up = true},
         "gate              2 waits of 12.3 s in all, 0 timed out, gate left open\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_text text = begin();
        append_gate(&text, &rows[i].gate);
        CHECK_STR(line_text, rows[i].want);
    }
}

#define UNDER "                  "

static void own_scratch(void)
{
    static const struct {
        struct cs_summary_own own;
        const char *want;
    } rows[] = {
        {{0}, ""},
        {{.limit = 1024, .allocations = 3, .captured = 5, .handed_over = 2}, ""},
        {{.limit = 1024, .peak = 1}, "own scratch       1 B held at most (limit 1 KiB)\n"},
        {{.limit = 1024, .refused = 1},
         "own scratch       0 B held at most (limit 1 KiB)\n" UNDER
         "1 call had no scratch available: raise arena or interleave.budget\n"},
        {{.limit = 1024, .refused = 2},
         "own scratch       0 B held at most (limit 1 KiB)\n" UNDER
         "2 calls had no scratch available: raise arena or interleave.budget\n"},
        {{.peak = 1, .allocations = 1},
         "own scratch       1 B held at most (limit 0 B), 1 allocation\n"},
        {{.peak = 1, .allocations = 2},
         "own scratch       1 B held at most (limit 0 B), 2 allocations\n"},
        {{.peak = 1, .captured = 1, .lost = 2, .handed_over = 1},
         "own scratch       1 B held at most (limit 0 B)\n" UNDER
         "1 B in CUDA graphs at the end\n" UNDER
         "2 B not used again: the device did not say when it was free\n" UNDER
         "handed from stream to stream 1 time\n"},
        {{.peak = 1, .handed_over = 2},
         "own scratch       1 B held at most (limit 0 B)\n" UNDER
         "handed from stream to stream 2 times\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_text text = begin();
        append_own(&text, &rows[i].own);
        CHECK_STR(line_text, rows[i].want);
    }
}

static void plans_and_launches(void)
{
    struct cs_account *account = new_account();
    for (int64_t refused = 0; refused <= 1; refused++) {
        struct cs_text text = begin();
        atomic_store(&account->refused, refused);
        append_refused(&text, account, 3);
        CHECK_STR(line_text, refused ? "plans               1 refused: no tiling fits the limit, "
                                       "other engines do (untileable)\n"
                                     : "");
    }
    atomic_store(&account->fallbacks, 5);
    atomic_store(&account->failed, 6);
    for (int64_t lanes = 0; lanes <= 2; lanes++) {
        struct cs_text text = begin();
        atomic_store(&account->lanes, lanes);
        append_launches(&text, account, 17, 4);
        CHECK_STR(line_text, lanes > 1
                                 ? "extra launches      17 (fallback plan 5, failed 6), on up "
                                   "to 2 lanes\n"
                                 : "extra launches      17 (fallback plan 5, failed 6)\n");
    }
    free(account);
}

static void calls(void)
{
    struct cs_account *account = new_account();
    struct cs_text text = begin();
    cs_account_passed(account, NULL, CS_REASON_SMALL);
    append_calls(&text, account, 2);
    CHECK_STR(line_text, "convolutions       1 call: 0 tiled, 1 not tiled\n");
    cs_account_passed(account, NULL, CS_REASON_DYNAMIC);
    text = begin();
    append_calls(&text, account, 2);
    CHECK_STR(line_text, "convolutions       2 calls: 0 tiled, 2 not tiled\n");
    free(account);
}

/* The n-th of the reasons n times: all of the last line's are summed up. */
static void reasons_beyond_the_last_line(void)
{
    _Static_assert(PASSED + 2 < CS_REASONS, "reasons beyond the last line");
    for (int kinds = 0; kinds <= PASSED + 2; kinds++) {
        struct cs_account *account = new_account();
        struct cs_text text = begin();
        int lines = 0, further = kinds - PASSED + 1, sum = further * (further + 1) / 2;
        for (int i = 1; i <= kinds; i++)
            atomic_store(&account->passed[i], i);
        append_passed(&text, account, 2);
        for (const char *at = line_text; *at; at = strchr(at, '\n') + 1, lines++) {
            char want[COLUMNS + 1];
            snprintf(want, sizeof want, "%-18s%2d %s\n", lines == 0 ? "not tiled" : "",
                     kinds - lines, cs_account_reason_text((enum cs_reason)(kinds - lines)));
            if (lines == PASSED - 1 && further > 1)
                snprintf(want, sizeof want, "%-18s%2d for %d further reasons\n", "", sum, further);
            CHECK(strncmp(at, want, strlen(want)) == 0);
        }
        CHECK_INT(lines, kinds < PASSED ? kinds : PASSED);
        free(account);
    }
}

static void of_equal_reasons_the_first(void)
{
    int64_t left[CS_REASONS] = {9, 2, 3, 3, 0, 1}, of_all;
    int reasons;
    CHECK_INT(most_frequent(left, &of_all, &reasons), 2);
    CHECK(of_all == 9 && reasons == 4);
    memset(left + 1, 0, sizeof left - sizeof *left);
    CHECK_INT(most_frequent(left, &of_all, &reasons), CS_REASON_NONE);
    CHECK(of_all == 0 && reasons == 0);
    left[CS_REASONS - 1] = 1;
    CHECK_INT(most_frequent(left, &of_all, &reasons), CS_REASONS - 1);
}

static void heads(void)
{
    static char path[300];
    struct cs_summary_head head = {
        .version = "1.2", .vendor = "", .policy = "fit", .config = "", .bypass = ""};
    static const char start[] = "convshim 1.2, policy fit, ";
    struct cs_text text = begin();
    append_head(&text, &head);
    CHECK_STR(line_text, "convshim 1.2, policy fit, built-in defaults\n");
    head.vendor = "cuDNN 9";
    head.known = 1;
    text = begin();
    append_head(&text, &head);
    CHECK_STR(line_text,
              "convshim 1.2, cuDNN 9, policy fit (1 convolutions known), built-in defaults\n");
    head.vendor = "";
    head.known = 0;
    for (int more = -1; more <= 1; more++) {
        size_t length = COLUMNS - strlen(start) + (size_t)more;
        memset(path, 'p', sizeof path);
        path[0] = '/';
        path[length] = '\0';
        head.config = path;
        text = begin();
        append_head(&text, &head);
        CHECK_INT(text.length, COLUMNS + 1 + (more < 0 ? -1 : 0));
        CHECK_INT(line_text[strlen(start)], more > 0 ? '.' : '/');
        CHECK_INT(strncmp(line_text + strlen(start), "...p", 4) == 0, more > 0);
    }
}

/* Sites of so many bytes required and saved, called or not. */
static struct cs_account *account_of(const char *numbers)
{
    struct cs_account *account = new_account();
    int required, saved, times, used;
    for (int channels = 1; sscanf(numbers, "%d-%dx%d%n", &required, &saved, &times, &used) == 3;
         channels++) {
        struct cs_problem problem = problem_of(2, channels, 1, 8, CS_F16);
        struct cs_site_facts facts = facts_of(&problem, required, required - saved, 2);
        struct cs_site_ref site = cs_account_site(account, &facts, "");
        for (int i = 0; i < times; i++)
            cs_account_tiled(account, &site, 2, 1);
        numbers += used + (numbers[used] == ' ');
    }
    return account;
}

static void the_largest_savings_in_order(void)
{
    static const struct {
        const char *numbers, *order;
    } rows[] = {
        {"9-1x1 9-2x1 9-3x1", "210"},
        {"9-3x1 9-2x1 9-1x1", "012"},
        {"7-2x1 9-2x1 8-2x1", "120"},
        {"9-2x1 9-2x1 9-2x1", "012"},
        {"9-1x0 9-2x1 0-0x1 9-3x1", "31"},
        {"9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1", "0123456789"},
        {"9-1x1 9-2x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-1x1 9-3x1", ":102345678"},
    };
    static struct savings savings;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char order[SAVINGS + 1] = "";
        struct cs_account *account = account_of(rows[i].numbers);
        collect(account, &savings);
        for (int row = 0; row < savings.rows; row++)
            order[row] = (char)('0' + savings.row[row].site);
        CHECK_STR(order, rows[i].order);
        free(account);
    }
}

static void columns_are_as_wide_as_their_cells(void)
{
    static struct savings savings;
    struct row *row = &savings.row[0];
    savings = (struct savings){.rows = 1};
    measure(&savings, 0);
    CHECK(savings.widths.engine == 6 && savings.widths.required == 8 &&
          savings.widths.reported == 8 && savings.widths.calls == 5 &&
          savings.widths.outcome == 8 + 2 + 5 && savings.widths.shape == 0);
    measure(&savings, 12345678);
    CHECK_INT(savings.widths.calls, 8);
    snprintf(row->engine, sizeof row->engine, "1234567");
    snprintf(row->required, sizeof row->required, "123456789");
    snprintf(row->calls, sizeof row->calls, "123456");
    snprintf(row->outcome.reported, sizeof row->outcome.reported, "1234567890");
    snprintf(row->outcome.tiles, sizeof row->outcome.tiles, "123456");
    memset(row->shape, 's', 30);
    measure(&savings, 0);
    CHECK(savings.widths.engine == 7 && savings.widths.required == 9 &&
          savings.widths.reported == 10 && savings.widths.calls == 6 &&
          savings.widths.outcome == 10 + 2 + 6 && savings.widths.shape == 30);
    memset(row->shape, 's', 200);
    measure(&savings, 0); /* what is left of a line of a hundred */
    CHECK_INT(savings.widths.shape, 100 - 10 - 7 - 9 - 6 - 18);
    row->outcome.reported[0] = '\0';
    memset(row->outcome.tiles, 'r', 60); /* a long reason: so many columns at least */
    measure(&savings, 0);
    CHECK_INT(savings.widths.shape, 100 - 10 - 7 - 9 - 6 - REASON);
    CHECK_INT(savings.widths.outcome, REASON);
    row->shape[10] = '\0';
    measure(&savings, 0); /* beside a short shape more */
    CHECK(savings.widths.shape == 10 && savings.widths.outcome == 100 - 10 - 7 - 9 - 6 - 10);
    row->outcome.tiles[50] = '\0';
    measure(&savings, 0);
    CHECK_INT(savings.widths.outcome, 50);
}

static void raised_limits(void)
{
    struct cs_account *account = account_of("9000-1000x1 9000-2000x1 9000-3000x0 9000-4000x1");
    for (int raised = 0; raised < 16; raised++) {
        struct cs_text text = begin();
        int count = (raised & 1) + (raised >> 1 & 1) + (raised >> 3 & 1);
        const char *most = raised & 1 ? "7.8 KiB" : raised & 2 ? "6.8 KiB" : "4.9 KiB";
        char want[COLUMNS + 2] = "";
        for (int i = 0; i < 4; i++)
            account->facts[i].raised = raised >> i & 1;
        append_raised(&text, account);
        if (count > 0)
            snprintf(want, sizeof want,
                     UNDER "limit raised for %d of them, up to %s: tiles of less are too dear or "
                           "none\n",
                     count, most);
        CHECK_STR(line_text, want);
    }
    free(account);
}

static void nothing_is_written_where_nothing_was_called(void)
{
    struct cs_account *account = new_account();
    const struct cs_summary_head head = {
        .version = "1", .vendor = "", .policy = "fit", .config = "", .bypass = ""};
    char text[8] = "#######";
    CHECK_INT(summary_text(account, &head, text, sizeof text), 0);
    CHECK_STR(text, "");
    text[0] = '#';
    CHECK_INT(summary_text(account, &head, text, 0), 0);
    CHECK_INT(text[0], '#');
    free(account);
}

int main(void)
{
    TEST(a_line_has_a_hundred_columns);
    TEST(texts_are_cut_between_words);
    TEST(the_gate);
    TEST(own_scratch);
    TEST(plans_and_launches);
    TEST(calls);
    TEST(reasons_beyond_the_last_line);
    TEST(of_equal_reasons_the_first);
    TEST(heads);
    TEST(the_largest_savings_in_order);
    TEST(columns_are_as_wide_as_their_cells);
    TEST(raised_limits);
    TEST(nothing_is_written_where_nothing_was_called);
    return REPORT();
}
