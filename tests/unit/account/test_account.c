/* src/account: counters, sites, and the summary against texts in tests/golden. */
#include "account/account.h"
#include "golden_file.h"

#include "account_fixture.h"
#include "check.h"
#include <pthread.h>

static const struct cs_summary_head head = {.version = "0.1.0",
                                            .vendor = "cuDNN 9.19.0",
                                            .policy = "fit",
                                            .config = "",
                                            .bypass = "",
                                            .workspace = 64 << 20,
                                            .threshold = 64 << 20};

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

static void site_is_found_by_all_its_facts(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2), other;
    struct cs_site_ref site = site_with(account, &facts);
    CHECK(same(site_with(account, &facts), site));
    CHECK_INT(account->sites, 1);
    struct cs_site_facts variants[13];
    for (int i = 0; i < 13; i++)
        variants[i] = facts;
    variants[0].engine = 1;
    variants[1].reason = CS_REASON_REPORT_ONLY;
    variants[2].tiling.axis[0] = CS_AXIS_W;
    variants[3].tiles = 3;
    variants[4].required = 101;
    variants[5].possible = 51;
    variants[6].problem.pre[1] = 0;
    variants[7].problem.tensor[CS_Y].alignment = 32;
    variants[8].tiling.axis[1] = CS_AXIS_W;
    variants[9].tiling.step[0] = 58;
    variants[10].tiling.step[1] = 2;
    variants[11].problem.direction = CS_BACKWARD_DATA;
    variants[12].tiling.lanes = 2;
    for (int i = 0; i < 13; i++) {
        struct cs_site_ref found = site_with(account, &variants[i]);
        CHECK(!same(found, site));
        CHECK_INT(account->sites, i + 2);
        CHECK(same(site_with(account, &variants[i]), found));
        CHECK(cs_account_facts(account, &found, &other));
        CHECK_INT(other.required, variants[i].required);
    }
    facts.tiling.lanes = 1; /* as 0 */
    CHECK(same(site_with(account, &facts), site));
    free(account);
}

static void every_outcome_is_counted_once(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    struct cs_site_ref site = site_with(account, &facts);
    CHECK_INT(cs_account_tiled(account, &site, 2, 3), 1);
    CHECK_INT(cs_account_tiled(account, &site, 2, 1), 2);
    CHECK_INT(account->reported_max, 50);
    CHECK_INT(account->lanes, 3);
    CHECK_INT(cs_account_fallback(account, &site), 3);
    CHECK_INT(cs_account_failed(account, &site), 4);
    CHECK_INT(account->reported_max, 50);
    CHECK_INT(cs_account_passed(account, &site, CS_REASON_PROVIDED), 5);
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

static void site_text_contains_its_properties(void)
{
    char line[300];
    struct cs_problem problem = problem_of(2, 512, 512, 512, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 541589504, 64487424, 9);
    const char shape[] = "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw";
    const char rest[] = ", engine 62: 516.5 MiB required, 61.5 MiB reported, ";
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
    CHECK_STR(cs_account_reason_text(CS_REASON_NONE), "");
    CHECK_STR(cs_account_reason_text(CS_REASON_SMALL), "needs no more than the limit");
    CHECK_STR(cs_account_reason_text((enum cs_reason)(CS_REASONS - 1)), "out of host memory");
    CHECK_STR(cs_account_reason_text(CS_REASONS), "");
    CHECK_STR(cs_account_reason_text((enum cs_reason) - 1), "");
}

static char text[1 << 14];

/* Fills the stack, so that a summary that reads uninitialized memory shows it. */
__attribute__((noinline)) static void fill_stack(char with)
{
    volatile char below[64 << 10];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = with;
}

static int summarise(const struct cs_account *account, const struct cs_summary_head *h)
{
    fill_stack('x');
    return cs_summary_text(account, h, text, sizeof text);
}

/* Checks the properties that every summary has. */
static void check_form(void)
{
    int lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++) {
        size_t length = strcspn(line, "\n");
        CHECK(length > 0 && line[length] == '\n' && line[length - 1] != ' ');
    }
    CHECK(lines <= 50);
}

static void check_golden(const char *name)
{
    golden_file(".", name, text);
    check_form();
}

static void the_summary_of_a_decoder(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    int length = summarise(account, &head);
    CHECK_INT(length, strlen(text));
    check_golden("summary_decoder.txt");
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
    check_golden("summary_report.txt");
    free(account);
}

static void bypassing_libraries_are_named(void)
{
    static const char rest[] =
        "\n                  their convolutions are not intercepted (cuDNN 8, RTLD_DEEPBIND, or "
        "cuDNN linked in)\nlargest ";
    const struct {
        const char *objects, *line;
    } cases[] = {
        {"libdeep.so", "\nbypassed by       libdeep.so"},
        {"libdeep.so, libinside.so.1", "\nbypassed by       libdeep.so, libinside.so.1"},
        {"liba_library_with_a_long_name.so, libanother_one.so.12, libthis_one_is_cut_off.so.2.0",
         "\nbypassed by       liba_library_with_a_long_name.so, libanother_one.so.12, "
         "libthis_one_is_cut_off.so.2.0"}};
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

/* Layers of one kind, called so often. */
static struct cs_account *layers(bool channels_last, int64_t required, enum cs_reason reason)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    for (int i = 0; i < CS_OPERANDS && channels_last; i++) {
        struct cs_tensor *tensor = &problem.tensor[i];
        tensor->strides[CS_C] = 1;
        tensor->strides[CS_W] = tensor->dims[CS_C];
        tensor->strides[CS_H] = tensor->strides[CS_W] * tensor->dims[CS_W];
    }
    struct cs_site_facts facts = left_alone(&problem, required, reason);
    run(account, &facts, 3);
    return account;
}

static void advice_is_given_for_each_weak_point(void)
{
    const struct {
        bool channels_last;
        int64_t required;
        enum cs_reason reason;
        const char *advice;
    } cases[] = {
        {false, 5 << 20, CS_REASON_SMALL,
         "Nothing was tiled, because no convolution requires more than the limit. The largest "
         "requires 5 MiB."},
        {true, 0, CS_REASON_SMALL,
         "Nothing was tiled, because cuDNN requires no workspace for channels-last tensors."},
        {false, 0, CS_REASON_SMALL,
         "Nothing was tiled, because no convolution requires more than the limit."},
        {false, 1 << 30, CS_REASON_NO_TILING,
         "Nothing was tiled, because no tiling fits 64 MiB. Try a larger --workspace."},
        {false, 1 << 30, CS_REASON_NO_GAIN,
         "Nothing was tiled. Main reason: policy finds no tiling worthwhile."},
        {false, 1 << 30, CS_REASON_PROVIDED,
         "Nothing was tiled, because the program allocates its own workspaces."},
        {false, 1 << 30, CS_REASON_VENDOR,
         "Nothing was tiled. Main reason: cuDNN refused the tile plans."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];
        struct cs_account *account =
            layers(cases[i].channels_last, cases[i].required, cases[i].reason);
        summarise(account, &head);
        snprintf(want, sizeof want, "\nadvice            %s\n", cases[i].advice);
        CHECK(strstr(text, want) != NULL);
        check_form();
        free(account);
    }
}

static void good_run_gets_the_command_that_compares(void)
{
    struct cs_account *account = new_account();
    struct cs_problem small = problem_of(2, 512, 512, 512, CS_F16);
    struct cs_site_facts well = facts_of(&small, 500 * mib, 49 * mib, 5);
    run(account, &well, 1);
    summarise(account, &head);
    CHECK(strstr(text, "\nadvice            " GOOD_RUN "\n") != NULL);
    struct cs_summary_head bypassed = head;
    bypassed.bypass = "libdeep.so";
    summarise(account, &bypassed);
    CHECK(strstr(text, "\nadvice            Some calls bypass convshim. To find out why") != NULL);
    struct cs_problem problem = problem_of(2, 512, 512, 4096, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 30000 * mib, 64 * mib, 130);
    site_with(account, &facts);
    summarise(account, &head);
    CHECK(strstr(text, "\nadvice            " GOOD_RUN "\n") != NULL); /* it was not called */
    run(account, &facts, 1);
    summarise(account, &head);
    CHECK(strstr(text, "One call runs as 130 tiles, which takes time. With workspace = 256 MiB it "
                       "is about 33.\n") != NULL);
    check_form();
    struct cs_summary_head large = head; /* as long as there is such a size */
    large.workspace = INT64_MAX / 4 - 1;
    summarise(account, &large);
    CHECK(strstr(text, "One call runs as 130 tiles") != NULL);
    large.workspace = INT64_MAX / 4;
    summarise(account, &large);
    CHECK(!strstr(text, "One call runs as 130 tiles"));
    free(account);
}

/* More scratch than the limit, for time's sake. */
static void limits_that_were_raised_are_named(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_problem problem = problem_of(2, 128, 256, 1024, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 900 * mib, 120 * mib, 11);
    struct cs_summary_head automatic = head;
    automatic.workspace = -1;
    facts.raised = true;
    struct cs_site_ref site = site_with(account, &facts);
    summarise(account, &automatic);
    CHECK(!strstr(text, "raised")); /* it was not called */
    cs_account_tiled(account, &site, 11, 1);
    summarise(account, &automatic);
    CHECK(strstr(text, "limit             1 convolution uses more than the limit (up to 120 MiB): "
                       "smaller tiles would be too slow, or are impossible\n"));
    CHECK(strstr(text, " H x 11, raised "));
    check_form();
    free(account);
}

/* The decoder with layers on two lanes, and scratch of the library's own. */
static void the_summary_of_own_scratch(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_problem problem = problem_of(2, 128, 256, 1024, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 300 * mib, 60 * mib, 11);
    facts.tiling.lanes = 2;
    struct cs_site_ref site = site_with(account, &facts);
    cs_account_tiled(account, &site, 11, 2);
    cs_account_tiled(account, &site, 11, 1);
    struct cs_summary_head own = head;
    own.own = (struct cs_summary_own){.limit = 128 * mib,
                                      .peak = 124 * mib,
                                      .allocations = 3,
                                      .captured = 60 * mib,
                                      .lost = mib / 2,
                                      .handed_over = 571,
                                      .refused = 1};
    own.gate = (struct cs_summary_gate){
        .waits = 40, .timed_out = 3, .nanoseconds = 12345678901, .given_up = true};
    summarise(account, &own);
    check_golden("summary_own.txt");
    free(account);
}

/* A line appears only if there is a figure for it. */
static void own_scratch_is_omitted_if_unused(void)
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
        {{.limit = 128 * mib, .peak = mib, .handed_over = 1},
         "own scratch       1 MiB held at most (limit 128 MiB)\n"
         "                  passed between streams 1 time\n"},
        {{.limit = 128 * mib, .peak = mib, .handed_over = 2},
         "own scratch       1 MiB held at most (limit 128 MiB)\n"
         "                  passed between streams 2 times\n"},
        {{.limit = 4 << 20, .refused = 12},
         "own scratch       0 B held at most (limit 4 MiB)\n"
         "                  12 calls had no scratch available: raise arena or interleave.budget\n"},
    };
    struct cs_account *account = decoder(CS_REASON_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[300];
        struct cs_summary_head with = head;
        with.own = cases[i].own;
        summarise(account, &with);
        snprintf(want, sizeof want,
                 "no safe way to run within the limit if tiling fails\n%slargest workspaces now ",
                 cases[i].lines);
        CHECK(strstr(text, want) != NULL);
        check_form();
    }
    struct cs_summary_head gate = head;
    gate.gate = (struct cs_summary_gate){.waits = 2, .nanoseconds = 50000000};
    summarise(account, &gate);
    CHECK(strstr(text,
                 "\nturns             threads waited 2 times for another's memory peak, 0.1 s "
                 "in all; 0 timed out\nlargest"));
    free(account);
}

/* Calls by rule. A rule that matched no call is listed, since it may be a mistake. */
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
    const struct cs_site_ref first = site_with(account, &other),
                             second = site_with(account, &facts);
    cs_account_passed(account, &first, CS_REASON_SMALL);
    CHECK(first.place != second.place);
    for (int i = 0; i < 3; i++)
        cs_account_passed(account, &second, CS_REASON_RULE);
    ruled.rules = two;
    summarise(account, &ruled);
    CHECK(strstr(text, "\nfollowed rules    3 vae, 0 old\n") != NULL);
    CHECK(strstr(text, " 3 skipped by a rule\n") != NULL);
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

/* A list of rules fills its line and no more, however long their names are. */
static void rules_that_fill_their_line(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 128, 128, 64, CS_F16);
    struct cs_site_facts facts = left_alone(&problem, mib, CS_REASON_SMALL);
    const struct cs_site_ref site = site_with(account, &facts);
    struct cs_summary_head ruled = head;
    cs_account_passed(account, &site, CS_REASON_SMALL);
    for (size_t length = 1; length < 400; length++) {
        char name[400], whole[500], line[500];
        const char *const rules[] = {name, "b", NULL};
        memset(name, 'n', sizeof name);
        name[length] = '\0';
        ruled.rules = rules;
        summarise(account, &ruled);
        const char *found = strstr(text, "\nfollowed rules    ");
        CHECK(found);
        if (!found)
            break;
        found += strlen("\nfollowed rules    ");
        snprintf(line, sizeof line, "%.*s", (int)strcspn(found, "\n"), found);
        snprintf(whole, sizeof whole, "0 %s, 0 b", name);
        CHECK_STR(line, whole);
        check_form();
    }
    cs_account_refused(account);
    summarise(account, &head);
    CHECK(strstr(text,
                 "\nplans             1 refused, so that the program takes an engine that fits"));
    free(account);
}

/* More of everything than fits. */
static void the_summary_of_a_large_program(void)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(3, 128, 128, 1000000, CS_BF16);
    struct cs_site_facts facts = facts_of(&problem, 0, 0, 1024);
    for (int64_t i = 0; i < CS_MAX_SITES + 7; i++) {
        facts.required = (1023 * 10 + i) * mib / 10;
        facts.possible = 63 * mib;
        facts.engine = i;
        facts.problem.stride[i % 3] = 1 + i % 2;
        run(account, &facts, 1);
        site_with(account, &facts);
        account->site[i % CS_MAX_SITES].counter[CS_COUNT_CALLS] += (uint64_t)i * 1000000;
    }
    for (int i = 1; i < CS_REASONS; i++)
        cs_account_passed(account, NULL, (enum cs_reason)i);
    struct cs_site_ref site = site_with(account, &facts);
    cs_account_fallback(account, &site);
    cs_account_failed(account, &site);
    struct cs_summary_head long_head = head;
    long_head.config = "/a/very/long/path/of/a/configuration/file/that/does/not/fit/into/the/line/"
                       "with/everything/else/convshim.ini";
    summarise(account, &long_head);
    check_golden("summary_large.txt");
    long_head.bypass = "liba_library_with_a_long_name.so, libanother_one.so.12, "
                       "libthis_one_is_cut_off.so.2.0, libnot_told.so, ...";
    account->lanes = 8;
    long_head.own = (struct cs_summary_own){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                            INT64_MAX, INT64_MAX, INT64_MAX};
    long_head.rules = (const char *const[]){"a-rule", NULL};
    long_head.gate = (struct cs_summary_gate){INT64_MAX, INT64_MAX, INT64_MAX, true};
    summarise(account, &long_head);
    check_form();
    CHECK(strstr(text, "of other convolutions are not listed") != NULL);
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
    check_golden("summary_foreign.txt");
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

static void any_counters_give_a_well_formed_summary(void)
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
            int64_t required = random_below(INT64_C(1) << (20 + random_below(43)));
            struct cs_site_facts facts =
                facts_of(&problem, required, required / 2, random_below(1024));
            if (random_below(2))
                facts = left_alone(&problem, required,
                                   (enum cs_reason)(1 + random_below(CS_REASONS - 1)));
            if (facts.reason == CS_REASON_REPORT_ONLY)
                facts.tiling.axis[0] = CS_AXIS_D;
            run(account, &facts, 1 + (int)random_below(5));
            struct cs_site_ref one = site_with(account, &facts);
            account->site[one.place - 1].counter[CS_COUNT_CALLS] +=
                (uint64_t)random_below(INT64_C(1) << random_below(43));
        }
        CHECK(summarise(account, &head) < (int)sizeof text);
        check_form();
        free(account);
    }
}

int main(void)
{
    TEST(site_is_found_by_all_its_facts);
    TEST(every_outcome_is_counted_once);
    TEST(launched_calls_alone_count_for_the_largest);
    TEST(threads_count_exactly);
    TEST(threads_share_sites);
    TEST(site_text_contains_its_properties);
    TEST(reasons_have_their_texts);
    TEST(the_summary_of_a_decoder);
    TEST(the_summary_of_a_report);
    TEST(bypassing_libraries_are_named);
    TEST(advice_is_given_for_each_weak_point);
    TEST(good_run_gets_the_command_that_compares);
    TEST(the_summary_of_own_scratch);
    TEST(limits_that_were_raised_are_named);
    TEST(own_scratch_is_omitted_if_unused);
    TEST(the_summary_of_rules);
    TEST(rules_that_fill_their_line);
    TEST(the_summary_of_a_large_program);
    TEST(the_summary_without_a_described_convolution);
    TEST(any_counters_give_a_well_formed_summary);
    return REPORT();
}
