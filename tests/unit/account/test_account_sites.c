/* src/account: the fields that distinguish sites, a full table, and each advice and text. */
#include "account/account.h"

#include "account/advice.h"
#include "account/outcome.h"
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
        VARIANTS = 16
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
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < VARIANTS; i++) {
            CHECK_INT(site_of(account, &facts[i]).place, i + 1);
            CHECK_INT(account->sites, pass ? VARIANTS : i + 1);
        }
    facts[0].asked = 5; /* no part of it */
    facts[0].limit = 6;
    facts[0].raised = true;
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
    CHECK_INT(cs_account_tiled(account, &site, 3, 2), 1);
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
    CHECK_INT(cs_account_tiled(account, &small, 5, 1), 2);
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
    CHECK_INT(cs_account_passed(account, &none, CS_REASON_SMALL), 1);
    CHECK_INT(account->folded[CS_COUNT_CALLS], 0);
    CHECK_INT(account->required_max, 0);
    CHECK_INT(cs_account_passed(account, &site, CS_REASON_REPORT_ONLY), 2);
    CHECK_INT(account->reported_max, 1000);
    CHECK_INT(account->possible_max, 500);
    CHECK_INT(cs_account_passed(account, &site, CS_REASON_SMALL), 3);
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

/* --- advice --- */

static const struct advised {
    int64_t reasons[3][2]; /* reason, calls */
    int64_t required_max, folds, tiled, workspace;
    const char *advice;
} advised[] = {
    {{{CS_REASON_SMALL, 5}},
     0,
     0,
     0,
     1 << 20,
     "Nothing was tiled, because no convolution requires more than the limit."},
    {{{CS_REASON_SMALL, 5}},
     1,
     0,
     0,
     1 << 20,
     "Nothing was tiled, because no convolution requires more than the limit. The largest "
     "requires 1 B."},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_NO_TILING, 1}},
     0,
     0,
     0,
     1 << 20,
     "Nothing was tiled, because no tiling fits 1 MiB. Try a larger --workspace."},
    {{{CS_REASON_NO_TILING, 1}},
     0,
     0,
     0,
     0,
     "Nothing was tiled, because no tiling fits 0 B. Try a larger --workspace."},
    {{{CS_REASON_NO_TILING, 1}},
     0,
     0,
     0,
     -1,
     "Nothing was tiled. Main reason: no tiling fits the limit."},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_NO_TILING, 1}, {CS_REASON_REPORT_ONLY, 1}},
     0,
     0,
     0,
     1,
     "Policy p only reports. To tile: --policy fit"},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_DEAR, 1}},
     0,
     0,
     0,
     1,
     "Nothing was tiled because it is predicted to be too slow. To tile anyway: --workspace"},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_PROVIDED, 1}},
     0,
     0,
     0,
     1,
     "Nothing was tiled, because the program allocates its own workspaces."},
    {{{CS_REASON_DEAR, 5}, {CS_REASON_PROVIDED, 9}},
     0,
     0,
     0,
     1,
     "Nothing was tiled because it is predicted to be too slow"},
    {{{CS_REASON_NO_TILING, 5}, {CS_REASON_DEAR, 9}},
     0,
     0,
     0,
     1,
     "Nothing was tiled, because no tiling fits 1 B"},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_VENDOR, 5}},
     7,
     0,
     0,
     1,
     "Nothing was tiled, because no convolution requires more"},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_VENDOR, 6}},
     7,
     0,
     0,
     1,
     "Nothing was tiled. Main reason: cuDNN refused the tile plans."},
    {{{CS_REASON_SMALL, 5}, {CS_REASON_VENDOR, 6}}, 7, 0, 1, 1, GOOD_RUN},
};

/* An account of three calls that all succeeded or all failed, by `how`: both count alike. */
static struct cs_account *account_advised(const struct advised *row, int how)
{
    struct cs_account *account = new_account();
    for (int i = 0; i < 3; i++)
        if (row->reasons[i][1])
            account->passed[row->reasons[i][0]] = row->reasons[i][1];
    account->required_max = row->required_max;
    account->folds = row->folds;
    *(how == 0   ? &account->tiled_calls
      : how == 1 ? &account->fallbacks
                 : &account->failed) = row->tiled;
    return account;
}

static void check_advice(const struct advised *row, int how)
{
    char text[CS_ADVICE_TEXT], cut[12];
    struct cs_account *account = account_advised(row, how);
    struct cs_summary_head head = {.policy = "p", .bypass = "", .workspace = row->workspace};
    int length = cs_advice_text(account, &head, text, sizeof text);
    CHECK_INT(length, strlen(text));
    CHECK(strncmp(text, row->advice, strlen(row->advice)) == 0);
    CHECK_INT(cs_advice_text(account, &head, cut, sizeof cut), length);
    head.bypass = "libx.so";
    cs_advice_text(account, &head, text, sizeof text);
    CHECK(strncmp(text, "Some calls bypass", 17) == 0);
    free(account);
}

static void advice_by_reasons(void)
{
    for (size_t i = 0; i < sizeof advised / sizeof *advised; i++)
        for (int how = 0; how < (advised[i].tiled ? 3 : 1); how++)
            check_advice(&advised[i], how);
}

/* Advice on tiles from 32 tiles per call on. Advice on channels last only if all calls have it. */
static void advice_by_sites(void)
{
    char text[CS_ADVICE_TEXT];
    struct cs_summary_head head = {.policy = "p", .bypass = "", .workspace = 1 << 20};
    for (int tiles = 31; tiles <= 33; tiles++) {
        struct cs_account *account = new_account();
        struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
        struct cs_site_facts facts = facts_of(&problem, 1000, 500, tiles),
                             fewer = facts_of(&problem, 2000, 500, 7);
        run(account, &facts, 1);
        run(account, &fewer, 2);
        cs_advice_text(account, &head, text, sizeof text);
        CHECK_STR(text, tiles == 31   ? GOOD_RUN
                        : tiles == 32 ? "One call runs as 32 tiles, which takes time. With "
                                        "workspace = 4 MiB it is about 8."
                                      : "One call runs as 33 tiles, which takes time. With "
                                        "workspace = 4 MiB it is about 9.");
        head.workspace = -1;
        CHECK_INT(cs_advice_text(account, &head, text, sizeof text), strlen(GOOD_RUN));
        head.workspace = 1 << 20;
        free(account);
    }
    struct cs_account *account = new_account();
    struct cs_problem last = problem_of(2, 8, 8, 16, CS_F16), first = last;
    for (int i = 0; i < CS_OPERANDS; i++) {
        struct cs_tensor *tensor = &last.tensor[i];
        tensor->strides[CS_C] = 1;
        tensor->strides[CS_W] = tensor->dims[CS_C];
        tensor->strides[CS_H] = tensor->strides[CS_W] * tensor->dims[CS_W];
    }
    struct cs_site_facts facts = left_alone(&first, 0, CS_REASON_SMALL);
    (void)site_of(account, &facts); /* was not called */
    facts = left_alone(&last, 0, CS_REASON_SMALL);
    run(account, &facts, 2);
    cs_advice_text(account, &head, text, sizeof text);
    CHECK_STR(text,
              "Nothing was tiled, because cuDNN requires no workspace for channels-last tensors.");
    account->folds = 1;
    cs_advice_text(account, &head, text, sizeof text);
    CHECK_STR(text, "Nothing was tiled, because no convolution requires more than the limit.");
    account->folds = 0;
    facts = left_alone(&first, 0, CS_REASON_SMALL);
    run(account, &facts, 1);
    cs_advice_text(account, &head, text, sizeof text);
    CHECK_STR(text, "Nothing was tiled, because no convolution requires more than the limit.");
    free(account);
}

/* --- texts --- */

static void texts_of_problems(void)
{
    char text[CS_PROBLEM_TEXT];
    struct cs_problem problem = problem_of(3, 8, 16, 32, CS_BF16);
    cs_site_problem_text(&problem, text, sizeof text);
    CHECK_STR(text, "1x8x32x32x32 -> 16 k3x3x3 s1 p1 bf16 ncdhw");
    problem.stride[0] = 2;
    problem.dilation[2] = 3;
    problem.pre[1] = 4;
    problem.groups = 2;
    problem.steps = 1;
    problem.direction = CS_BACKWARD_DATA;
    cs_site_problem_text(&problem, text, sizeof text);
    CHECK_STR(text, "1x8x32x32x32 -> 16 k3x3x3 s2x1x1 p1x4x1:1 d1x1x3 g2 bf16 ncdhw dgrad fused");
    CHECK_INT(cs_site_problem_text(&problem, text, 10), 74);
    CHECK_STR(text, "1x8x32x32");
    problem = problem_of(2, 8, 16, 32, CS_F16);
    problem.dilation[1] = problem.dilation[2] = 2;
    problem.post[2] = 3;
    problem.post[0] = 9; /* of an extent that is not there */
    cs_site_problem_text(&problem, text, sizeof text);
    CHECK_STR(text, "1x8x32x32 -> 16 k3x3 s1 p1:1x3 d2 f16 nchw");
    problem.post[2] = 1;
    problem.pre[1] = problem.post[1] = 0;
    cs_site_problem_text(&problem, text, sizeof text);
    CHECK_STR(text, "1x8x32x32 -> 16 k3x3 s1 p0x1 d2 f16 nchw");
}

static void texts_of_outcomes(void)
{
    static const struct {
        enum cs_reason reason;
        int lanes, staged, equal, raised, axis;
        const char *text;
    } rows[] = {
        {CS_REASON_NONE, 0, 0, 0, 0, CS_AXIS_H, "50 B reported, H x 2"},
        {CS_REASON_NONE, 1, 1, 0, 0, CS_AXIS_H, "50 B reported, H x 2 packed"},
        {CS_REASON_NONE, 2, 0, 1, 1, CS_AXIS_H, "50 B reported, H x 2 packed ends on 2, raised"},
        {CS_REASON_NONE, 3, 1, 1, 0, CS_AXIS_W, "50 B reported, W x 2 packed on 3"},
        {CS_REASON_NONE, 0, 0, 0, 1, CS_AXIS_NONE, "50 B reported, other engine, raised"},
        {CS_REASON_REPORT_ONLY, 2, 0, 0, 0, CS_AXIS_H, "possible: 50 B, H x 2 on 2"},
        {CS_REASON_NO_GAIN, 2, 0, 0, 1, CS_AXIS_H, "policy finds no tiling worthwhile"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[CS_PROBLEM_TEXT], want[CS_PROBLEM_TEXT];
        struct cs_problem problem = problem_of(2, 8, 16, 32, CS_F16);
        struct cs_site_facts facts = facts_of(&problem, 2048, 50, 2);
        facts.reason = rows[i].reason;
        facts.tiling.lanes = rows[i].lanes;
        facts.tiling.staged = rows[i].staged;
        facts.tiling.equal_padding = rows[i].equal;
        facts.tiling.axis[0] = (enum cs_axis)rows[i].axis;
        facts.raised = rows[i].raised;
        snprintf(want, sizeof want,
                 "1x8x32x32 -> 16 k3x3 s1 p1 f16 nchw, engine 62: 2 KiB required, %s",
                 rows[i].text);
        CHECK_INT(cs_site_text(&facts, text, sizeof text), strlen(want));
        CHECK_STR(text, want);
    }
    CHECK_STR(cs_account_reason_text(CS_REASONS), "");
    CHECK_STR(cs_account_reason_id(CS_REASONS), "");
    CHECK_STR(cs_account_reason_text(CS_REASON_NONE), "");
    CHECK_STR(cs_account_reason_id(CS_REASON_SMALL), "SMALL");
}

/* A path is never cut. */
static void the_settings_of_a_summary(void)
{
    static char text[8192];
    char path[200], want[320];
    static const char start[] = "convshim 0.1.0, cuDNN 9.1, policy p, ";
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 16, 32, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 2048, 50, 2);
    run(account, &facts, 1);
    for (size_t length = 1; length < 120; length++) {
        struct cs_summary_head head = {.version = "0.1.0",
                                       .vendor = "cuDNN 9.1",
                                       .policy = "p",
                                       .config = path,
                                       .bypass = "",
                                       .workspace = 1 << 20};
        for (size_t i = 0; i < length; i++)
            path[i] = (char)('a' + i % 26);
        path[length] = '\0';
        snprintf(want, sizeof want, "%s%s\n", start, path);
        cs_summary_text(account, &head, text, sizeof text);
        CHECK(strstr(text, want) != NULL);
    }
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

/* Policy off with rules, as `convshim tune` writes them. */
static void rules_that_tile_make_the_summary_one_of_sizes_that_were_reported(void)
{
    static const struct cs_summary_head head = {
        .policy = "off", .config = "", .version = "", .vendor = "", .bypass = ""};
    static char text[10000];
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, INT64_C(900) << 20, 50 << 20, 2);
    run(account, &facts, 1);
    facts.reason = CS_REASON_REPORT_ONLY;
    facts.required = 400 << 20;
    run(account, &facts, 1);
    cs_summary_text(account, &head, text, sizeof text);
    CHECK(strstr(text, "largest workspace 900 MiB without convshim, 400 MiB with; 1 of 2 calls "
                       "tiled; 1 launch added\n"));
    CHECK(strstr(text, " 400 MiB   400 MiB  possible: 50 MiB, H x 2"));
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
    TEST(advice_by_reasons);
    TEST(advice_by_sites);
    TEST(texts_of_problems);
    TEST(texts_of_outcomes);
    TEST(the_settings_of_a_summary);
    TEST(rules_are_counted_by_calls);
    TEST(rules_that_tile_make_the_summary_one_of_sizes_that_were_reported);
    return REPORT();
}
