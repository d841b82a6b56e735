/* src/account: counters, sites, and the summary against texts in tests/golden. */
#include "account/account.h"

#include "base/checked.h"
#include "check.h"
#include <pthread.h>

static const int64_t mib = 1 << 20;

static const struct cs_summary_head head = {.version = "0.1.0",
                                            .vendor = "cuDNN 9.19.0",
                                            .policy = "fit",
                                            .config = "",
                                            .bypass = "",
                                            .workspace = 64 << 20};

static struct cs_account *new_account(void)
{
    struct cs_account *account = calloc(1, sizeof *account);
    if (!account)
        exit(1);
    cs_account_init(account);
    return account;
}

static void set_tensor(struct cs_tensor *tensor, const int64_t dims[CS_DIMS], enum cs_dtype dtype)
{
    int64_t stride = 1;
    for (int i = CS_DIMS - 1; i >= 0; i--) {
        tensor->dims[i] = dims[i];
        tensor->strides[i] = stride;
        if (!cs_mul(stride, dims[i], &stride))
            stride = 1; /* of the absurd shapes below only the extents are looked at */
    }
    tensor->alignment = 16;
    tensor->dtype = dtype;
}

/* A 3x3(x3) convolution with padding 1. */
static struct cs_problem problem_of(int spatial, int64_t channels, int64_t filters, int64_t extent,
                                    enum cs_dtype dtype)
{
    struct cs_problem problem = {.direction = CS_FORWARD,
                                 .compute = CS_F32,
                                 .spatial = spatial,
                                 .groups = 1,
                                 .stride = {1, 1, 1},
                                 .dilation = {1, 1, 1},
                                 .alpha = 1,
                                 .tensors = CS_OPERANDS};
    int64_t x[CS_DIMS] = {1, channels, 1, 1, 1}, w[CS_DIMS] = {filters, channels, 1, 1, 1};
    int64_t y[CS_DIMS] = {1, filters, 1, 1, 1};
    for (int i = CS_SPATIAL - spatial; i < CS_SPATIAL; i++) {
        x[CS_D + i] = y[CS_D + i] = extent;
        w[CS_D + i] = 3;
        problem.pre[i] = problem.post[i] = 1;
    }
    set_tensor(&problem.tensor[CS_X], x, dtype);
    set_tensor(&problem.tensor[CS_FILTER], w, dtype);
    set_tensor(&problem.tensor[CS_Y], y, dtype);
    return problem;
}

static struct cs_site_facts facts_of(const struct cs_problem *problem, int64_t wanted, int64_t told,
                                     int64_t tiles)
{
    return (struct cs_site_facts){.problem = *problem,
                                  .engine = 62,
                                  .tiling = {.axis = {CS_AXIS_H}, .step = {57, 1}},
                                  .tiles = tiles,
                                  .wanted = wanted,
                                  .told = told};
}

static struct cs_site_facts left_alone(const struct cs_problem *problem, int64_t wanted,
                                       enum cs_reason reason)
{
    struct cs_site_facts facts = facts_of(problem, wanted, wanted, 1);
    facts.tiling = (struct cs_tiling){.step = {1, 1}};
    facts.reason = reason;
    return facts;
}

static void a_site_is_known_by_all_its_facts(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2), other;
    struct cs_site *site = cs_account_site(account, &facts);
    CHECK(cs_account_site(account, &facts) == site);
    CHECK_INT(account->sites, 1);
    struct cs_site_facts variants[13];
    for (int i = 0; i < 13; i++)
        variants[i] = facts;
    variants[0].engine = 1;
    variants[1].reason = CS_REASON_REPORT_ONLY;
    variants[2].tiling.axis[0] = CS_AXIS_W;
    variants[3].tiles = 3;
    variants[4].wanted = 101;
    variants[5].told = 51;
    variants[6].problem.pre[1] = 0;
    variants[7].problem.tensor[CS_Y].alignment = 32;
    variants[8].tiling.axis[1] = CS_AXIS_W;
    variants[9].tiling.step[0] = 58;
    variants[10].tiling.step[1] = 2;
    variants[11].problem.direction = CS_BACKWARD_DATA;
    variants[12].tiling.lanes = 2;
    for (int i = 0; i < 13; i++) {
        struct cs_site *found = cs_account_site(account, &variants[i]);
        CHECK(found != site);
        CHECK_INT(account->sites, i + 2);
        CHECK(cs_account_site(account, &variants[i]) == found);
        other = found->facts;
        CHECK_INT(other.wanted, variants[i].wanted);
    }
    facts.tiling.lanes = 1; /* as 0 */
    CHECK(cs_account_site(account, &facts) == site);
    free(account);
}

static void every_outcome_is_counted_once(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    struct cs_site *site = cs_account_site(account, &facts);
    cs_account_tiled(account, site, 2, 3);
    cs_account_tiled(account, site, 2, 1);
    CHECK_INT(account->told_max, 50);
    CHECK_INT(account->lanes, 3);
    cs_account_lifeboat(account, site);
    cs_account_failed(account, site);
    CHECK_INT(account->told_max, 50);
    cs_account_passed(account, site, CS_REASON_BROUGHT);
    CHECK_INT(account->told_max, 100);
    cs_account_passed(account, NULL, CS_REASON_DYNAMIC);
    cs_account_passed(account, NULL, CS_REASON_HOST_MEMORY);
    CHECK_INT(account->calls, 7);
    CHECK_INT(account->rewritten, 2);
    CHECK_INT(account->lifeboats, 1);
    CHECK_INT(account->failed, 1);
    CHECK_INT(account->launches, 4);
    CHECK_INT(account->passed[CS_REASON_BROUGHT], 1);
    CHECK_INT(account->passed[CS_REASON_DYNAMIC], 1);
    CHECK_INT(account->passed[CS_REASON_HOST_MEMORY], 1);
    CHECK_INT(account->wanted_max, 100);
    CHECK_INT(site->calls, 5);
    CHECK_INT(site->launches, 4);
    CHECK_INT(site->lifeboats, 1);

    cs_account_reset(account);
    CHECK_INT(account->calls + account->rewritten + account->lifeboats + account->failed, 0);
    CHECK_INT(account->launches + account->wanted_max + account->told_max + account->lanes, 0);
    CHECK_INT(account->passed[CS_REASON_BROUGHT] + account->passed[CS_REASON_HOST_MEMORY], 0);
    CHECK_INT(site->calls + site->launches + site->lifeboats, 0);
    CHECK(cs_account_site(account, &facts) == site);
    free(account);
}

static void only_what_ran_counts_for_the_largest(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 1000, 50, 2);
    cs_account_site(account, &facts);
    CHECK_INT(account->wanted_max, 0);
    facts.wanted = 300;
    cs_account_tiled(account, cs_account_site(account, &facts), 2, 1);
    CHECK_INT(account->wanted_max, 300);
    facts.reason = CS_REASON_REPORT_ONLY;
    facts.wanted = 400, facts.told = 60;
    cs_account_passed(account, cs_account_site(account, &facts), CS_REASON_REPORT_ONLY);
    CHECK_INT(account->wanted_max, 400);
    CHECK_INT(account->told_max, 60);
    free(account);
}

static void sites_are_bounded(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 2);
    for (int64_t i = 0; i < CS_MAX_SITES + 100; i++) {
        facts.wanted = 1000 + i;
        struct cs_site *site = cs_account_site(account, &facts);
        CHECK(site == &account->site[i < CS_MAX_SITES ? i : CS_MAX_SITES]);
        cs_account_tiled(account, site, 2, 1);
    }
    CHECK_INT(account->sites, CS_MAX_SITES);
    CHECK_INT(account->site[CS_MAX_SITES].calls, 100);
    CHECK_INT(account->wanted_max, 1000 + CS_MAX_SITES + 99);
    facts.wanted = 1007;
    CHECK(cs_account_site(account, &facts) == &account->site[7]);
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
    struct cs_site *site[SHAPES];
    pthread_barrier_wait(&crew->start);
    for (int i = 0; i < SHAPES; i++) {
        struct cs_site_facts facts = facts_of(&problem, 100 + i, 50, 3);
        site[i] = cs_account_site(crew->account, &facts);
    }
    pthread_barrier_wait(&crew->start);
    for (int i = 0; i < crew->rounds; i++) {
        if (i % 4 == 0)
            cs_account_passed(crew->account, site[i % SHAPES], CS_REASON_SMALL);
        else if (i % 4 == 1)
            cs_account_lifeboat(crew->account, site[i % SHAPES]);
        else
            cs_account_tiled(crew->account, site[i % SHAPES], 3, 1);
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
    CHECK_INT(account->rewritten, THREADS * ROUNDS / 2);
    CHECK_INT(account->launches, 3 * THREADS * ROUNDS / 2);
    CHECK_INT(account->lifeboats, THREADS * ROUNDS / 4);
    CHECK_INT(account->passed[CS_REASON_SMALL], THREADS * ROUNDS / 4);
    CHECK_INT(account->wanted_max, 100 + SHAPES - 1);
    for (int i = 0; i < SHAPES; i++)
        CHECK_INT(account->site[i].calls, THREADS * ROUNDS / SHAPES);
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

static void a_site_tells_what_it_is(void)
{
    char line[300];
    struct cs_problem problem = problem_of(2, 512, 512, 512, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 541589504, 64487424, 9);
    const char shape[] = "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw";
    const char rest[] = ", engine 62: 516.5 MiB wanted, 61.5 MiB told, ";
    const struct {
        enum cs_direction direction;
        int steps;
        struct cs_tiling tiling;
        const char *what, *how;
    } cases[] = {
        {CS_FORWARD, 0, {.axis = {CS_AXIS_H}, .step = {57, 1}}, "", "H x 9"},
        {CS_FORWARD, 2, {.axis = {CS_AXIS_K, CS_AXIS_N}, .step = {57, 1}}, " fused", "KN x 9"},
        {CS_BACKWARD_DATA, 0, {.axis = {CS_AXIS_W}, .step = {57, 1}}, " dgrad", "W x 9"},
        {CS_BACKWARD_FILTER,
         1,
         {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {8, 8}},
         " wgrad fused",
         "KC x 9"},
        {CS_FORWARD, 0, {.axis = {CS_AXIS_H}, .step = {57, 1}, .lanes = 1}, "", "H x 9"},
        {CS_FORWARD, 0, {.axis = {CS_AXIS_H}, .step = {57, 1}, .lanes = 8}, "", "H x 9 on 8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[300];
        facts.problem.direction = cases[i].direction;
        facts.problem.steps = cases[i].steps;
        facts.tiling = cases[i].tiling;
        int length =
            snprintf(want, sizeof want, "%s%s%s%s", shape, cases[i].what, rest, cases[i].how);
        CHECK_INT(cs_site_text(&facts, line, sizeof line), length);
        CHECK_STR(line, want);
    }
}

static void reasons_have_their_texts(void)
{
    CHECK_STR(cs_reason_text(CS_REASON_NONE), "");
    CHECK_STR(cs_reason_text(CS_REASON_SMALL), "workspace within the limit");
    CHECK_STR(cs_reason_text((enum cs_reason)(CS_REASONS - 1)), "out of host memory");
    CHECK_STR(cs_reason_text(CS_REASONS), "");
    CHECK_STR(cs_reason_text((enum cs_reason) - 1), "");
}

static char text[1 << 14];

static int summarise(const struct cs_account *account, const struct cs_summary_head *h)
{
    return cs_summary_text(account, h, text, sizeof text);
}

/* What holds for every summary. */
static void check_form(void)
{
    int lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++) {
        size_t length = strcspn(line, "\n");
        CHECK(length > 0 && length <= 100 && line[length] == '\n' && line[length - 1] != ' ');
    }
    CHECK(lines <= 40);
}

/* CONVSHIM_UPDATE_GOLDEN=1 writes the file instead. */
static void check_golden(const char *name)
{
    static char want[sizeof text];
    char path[256];
    snprintf(path, sizeof path, "tests/golden/summary_%s.txt", name);
    FILE *file = fopen(path, getenv("CONVSHIM_UPDATE_GOLDEN") ? "w+" : "r");
    CHECK(file != NULL);
    if (!file)
        return;
    if (getenv("CONVSHIM_UPDATE_GOLDEN")) {
        fputs(text, file);
        rewind(file);
    }
    want[fread(want, 1, sizeof want - 1, file)] = '\0';
    fclose(file);
    CHECK_STR(text, want);
    check_form();
}

static void run(struct cs_account *account, const struct cs_site_facts *facts, int times)
{
    struct cs_site *site = cs_account_site(account, facts);
    for (int i = 0; i < times; i++) {
        if (facts->reason == CS_REASON_NONE)
            cs_account_tiled(account, site, facts->tiles, 1);
        else
            cs_account_passed(account, site, facts->reason);
    }
}

/* An image decoder with some layers of every outcome. */
static struct cs_account *decoder(enum cs_reason reason)
{
    struct cs_account *account = new_account();
    struct cs_problem wide = problem_of(2, 512, 512, 512, CS_F16);
    struct cs_problem half = problem_of(2, 512, 256, 512, CS_F16);
    struct cs_problem strided = problem_of(2, 256, 128, 1024, CS_BF16);
    struct cs_problem small = problem_of(2, 128, 3, 256, CS_F32);
    strided.stride[1] = 2;
    strided.pre[2] = 0;
    strided.groups = 4;
    strided.dilation[1] = strided.dilation[2] = 2;
    struct cs_site_facts facts = facts_of(&wide, 541589504, 64487424, 9);
    facts.reason = reason;
    run(account, &facts, 98);
    facts = facts_of(&strided, 200 * mib, 49 * mib, 5);
    facts.reason = reason;
    run(account, &facts, 1);
    facts = left_alone(&half, 257 * mib, CS_REASON_NO_TILING);
    run(account, &facts, 3);
    facts = left_alone(&wide, 90 * mib, CS_REASON_NO_LIFEBOAT);
    facts.engine = 4;
    run(account, &facts, 1);
    facts = left_alone(&small, 12345, CS_REASON_SMALL);
    run(account, &facts, 20);
    facts = left_alone(&small, 0, CS_REASON_SMALL);
    run(account, &facts, 1);
    for (int i = 0; i < 5; i++)
        cs_account_passed(account, NULL, CS_REASON_DYNAMIC);
    return account;
}

static void the_summary_of_a_decoder(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    int length = summarise(account, &head);
    CHECK_INT(length, strlen(text));
    check_golden("decoder");
    char part[101];
    CHECK_INT(cs_summary_text(account, &head, part, sizeof part), length);
    CHECK(strncmp(part, text, sizeof part - 1) == 0);
    CHECK_INT(strlen(part), sizeof part - 1);
    CHECK_INT(cs_summary_text(account, &head, NULL, 0), length);
    free(account);
}

static void the_summary_of_a_report(void)
{
    struct cs_account *account = decoder(CS_REASON_REPORT_ONLY);
    struct cs_summary_head off = head;
    off.policy = "off";
    off.config = "/etc/convshim.ini";
    summarise(account, &off);
    check_golden("report");
    free(account);
}

static void the_summary_names_what_bypasses(void)
{
    static const char rest[] =
        "\n                  (RTLD_DEEPBIND or cuDNN linked statically: these convolutions are "
        "not seen)\nworkspace ";
    const struct {
        const char *objects, *line;
    } cases[] = {
        {"libdeep.so", "\nbypassed by       libdeep.so"},
        {"libdeep.so, libinside.so.1", "\nbypassed by       libdeep.so, libinside.so.1"},
        {"liba_library_with_a_long_name.so, libanother_one.so.12, libthis_one_is_cut_off.so.2.0",
         "\nbypassed by       liba_library_with_a_long_name.so, libanother_one.so.12,..."}};
    struct cs_account *account = decoder(CS_REASON_NONE);
    summarise(account, &head);
    CHECK(!strstr(text, "bypassed"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[300];
        struct cs_summary_head bypassed = head;
        bypassed.bypass = cases[i].objects;
        summarise(account, &bypassed);
        snprintf(want, sizeof want, "%s%s", cases[i].line, rest);
        CHECK(strstr(text, want) != NULL);
        check_form();
    }
    free(account);
}

/* The decoder with layers on two lanes, and scratch of the library's own. */
static void the_summary_of_own_scratch(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_problem problem = problem_of(2, 128, 256, 1024, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 300 * mib, 60 * mib, 11);
    facts.tiling.lanes = 2;
    struct cs_site *site = cs_account_site(account, &facts);
    cs_account_tiled(account, site, 11, 2);
    cs_account_tiled(account, site, 11, 1);
    struct cs_summary_head own = head;
    own.own = (struct cs_summary_own){.limit = 128 * mib,
                                      .peak = 124 * mib,
                                      .allocations = 3,
                                      .captured = 60 * mib,
                                      .lost = mib / 2,
                                      .handed_over = 571,
                                      .refused = 1};
    own.turns = (struct cs_summary_turns){
        .waits = 40, .vain = 3, .nanoseconds = 12345678901, .given_up = true};
    summarise(account, &own);
    check_golden("own");
    free(account);
}

/* A line only where there is something to say. */
static void the_summary_is_silent_about_what_was_not(void)
{
    const struct {
        struct cs_summary_own own;
        const char *lines;
    } cases[] = {
        {{0}, ""},
        {{.limit = 128 << 20}, ""},
        {{.limit = 128 << 20, .peak = 1 << 20},
         "own scratch       1 MiB held at most (limit 128 MiB)\n"},
        {{.limit = 128 << 20, .peak = 1 << 20, .allocations = 1},
         "own scratch       1 MiB held at most (limit 128 MiB), 1 allocation\n"},
        {{.limit = 4 << 20, .refused = 12},
         "own scratch       0 B held at most (limit 4 MiB)\n"
         "                  12 calls found none: raise arena or interleave.budget\n"},
    };
    struct cs_account *account = decoder(CS_REASON_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[300];
        struct cs_summary_head with = head;
        with.own = cases[i].own;
        summarise(account, &with);
        snprintf(want, sizeof want, "\nextra launches    788 (lifeboat 0, failed 0)\n%slargest ",
                 cases[i].lines);
        CHECK(strstr(text, want) != NULL);
        check_form();
    }
    struct cs_summary_head turns = head;
    turns.turns = (struct cs_summary_turns){.waits = 2, .nanoseconds = 50000000};
    summarise(account, &turns);
    CHECK(strstr(text, "failed 0)\nturns             2 waits of 0.1 s in all, 0 in vain\nlargest"));
    free(account);
}

/* Calls by rule; a rule that none followed is told, since it may be a mistake. */
static void the_summary_of_rules(void)
{
    static const char *const none[] = {NULL}, *const two[] = {"vae", "old", NULL};
    static const char *const long_names[] = {"a-rule-of-a-long-name-01", "a-rule-of-a-long-name-02",
                                             "a-rule-of-a-long-name-03", "a-rule-of-a-long-name-04",
                                             "a-rule-of-a-long-name-05", NULL};
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 128, 128, 64, CS_F16);
    struct cs_site_facts facts = left_alone(&problem, mib, CS_REASON_RULE), other = facts;
    struct cs_summary_head ruled = head;
    facts.rule = 1;
    cs_account_passed(account, cs_account_site(account, &other), CS_REASON_SMALL);
    CHECK(cs_account_site(account, &facts) != cs_account_site(account, &other));
    for (int i = 0; i < 3; i++)
        cs_account_passed(account, cs_account_site(account, &facts), CS_REASON_RULE);
    ruled.rules = two;
    summarise(account, &ruled);
    CHECK(strstr(text, "\nfollowed rules    3 vae, 0 old\n") != NULL);
    CHECK(strstr(text, " 3 left alone by a rule\n") != NULL);
    check_form();
    ruled.rules = none;
    summarise(account, &ruled);
    CHECK(strstr(text, "followed rules") == NULL);
    ruled.rules = long_names;
    summarise(account, &ruled);
    CHECK(strstr(text, "\nfollowed rules    3 a-rule-of-a-long-name-01, 0 ") != NULL);
    check_form();
    free(account);
}

/* More of everything than fits. */
static void the_summary_of_a_large_program(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(3, 128, 128, 1000000, CS_BF16);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 1024);
    for (int64_t i = 0; i < CS_MAX_SITES + 7; i++) {
        facts.wanted = (1023 * 10 + i) * mib / 10;
        facts.told = 63 * mib;
        facts.engine = i;
        facts.problem.stride[i % 3] = 1 + i % 2;
        struct cs_site *site = cs_account_site(account, &facts);
        cs_account_tiled(account, site, 1024, 1);
        site->calls += i * 1000000;
    }
    facts = left_alone(&problem, (int64_t)9 << 40, CS_REASON_NO_LIFEBOAT);
    for (int i = 1; i < CS_REASONS; i++)
        cs_account_passed(account, NULL, (enum cs_reason)i);
    cs_account_lifeboat(account, &account->site[0]);
    cs_account_failed(account, &account->site[0]);
    struct cs_summary_head long_head = head;
    long_head.config = "/a/very/long/path/of/a/configuration/file/that/does/not/fit/into/the/line/"
                       "with/everything/else/convshim.ini";
    summarise(account, &long_head);
    check_golden("large");
    long_head.bypass = "liba_library_with_a_long_name.so, libanother_one.so.12, "
                       "libthis_one_is_cut_off.so.2.0, libnot_told.so, ...";
    account->lanes = 8;
    long_head.own = (struct cs_summary_own){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                            INT64_MAX, INT64_MAX, INT64_MAX};
    long_head.rules = (const char *const[]){"a-rule", NULL};
    long_head.turns = (struct cs_summary_turns){INT64_MAX, INT64_MAX, INT64_MAX, true};
    summarise(account, &long_head);
    check_form();
    CHECK(strstr(text, "too many to tell apart") != NULL);
    free(account);
}

static void the_summary_without_a_described_convolution(void)
{
    struct cs_account *account = new_account();
    CHECK_INT(summarise(account, &head), 0);
    CHECK_STR(text, "");
    cs_account_passed(account, NULL, CS_REASON_FUSED);
    struct cs_summary_head bare = head;
    bare.vendor = "";
    summarise(account, &bare);
    check_golden("foreign");
    free(account);
}

static uint64_t random_state = 0x2545f4914f6cdd1d;

static int64_t random_below(int64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)((random_state * 0x9e3779b97f4a7c15) >> 1) % limit;
}

static void any_counters_keep_the_form(void)
{
    for (int i = 0; i < 300; i++) {
        struct cs_account *account = new_account();
        for (int64_t site = random_below(15); site >= 0; site--) {
            int64_t exponent = random_below(40);
            struct cs_problem problem =
                problem_of((int)random_below(3) + 1, 1 + random_below(INT64_C(1) << exponent), 8,
                           1 + random_below(1 << random_below(7)), (enum cs_dtype)random_below(3));
            problem.tensor[CS_X].dims[CS_W] = 1 + random_below(INT64_C(1) << exponent);
            problem.post[random_below(3)] = random_below(1 << random_below(20));
            int64_t wanted = random_below(INT64_C(1) << (20 + random_below(43)));
            struct cs_site_facts facts = facts_of(&problem, wanted, wanted / 2, random_below(1024));
            if (random_below(2))
                facts = left_alone(&problem, wanted,
                                   (enum cs_reason)(1 + random_below(CS_REASONS - 1)));
            if (facts.reason == CS_REASON_REPORT_ONLY)
                facts.tiling.axis[0] = CS_AXIS_D;
            run(account, &facts, 1 + (int)random_below(5));
            cs_account_site(account, &facts)->calls += random_below(INT64_C(1) << random_below(60));
        }
        CHECK(summarise(account, &head) < (int)sizeof text);
        check_form();
        free(account);
    }
}

int main(void)
{
    TEST(a_site_is_known_by_all_its_facts);
    TEST(every_outcome_is_counted_once);
    TEST(only_what_ran_counts_for_the_largest);
    TEST(sites_are_bounded);
    TEST(threads_count_exactly);
    TEST(threads_share_sites);
    TEST(a_site_tells_what_it_is);
    TEST(reasons_have_their_texts);
    TEST(the_summary_of_a_decoder);
    TEST(the_summary_of_a_report);
    TEST(the_summary_names_what_bypasses);
    TEST(the_summary_of_own_scratch);
    TEST(the_summary_is_silent_about_what_was_not);
    TEST(the_summary_of_rules);
    TEST(the_summary_of_a_large_program);
    TEST(the_summary_without_a_described_convolution);
    TEST(any_counters_keep_the_form);
    return REPORT();
}
