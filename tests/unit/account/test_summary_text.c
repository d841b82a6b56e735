/* The summary of a run. All its texts are in tests/golden/summary.txt, and no other test repeats
 * them. */
#include "account/account.h"
#include "base/text.h"
#include "golden_file.h"

#include "account_fixture.h"
#include "check.h"

static const struct cs_summary_head head = {.version = "0.1.0",
                                            .vendor = "cuDNN 9.19.0",
                                            .policy = "fit",
                                            .config = "",
                                            .bypass = "",
                                            .peak_without = 1570LL << 20,
                                            .peak_with = 1111LL << 20,
                                            .workspace = 64 << 20,
                                            .threshold = 64 << 20};
static char text[1 << 14];

/* Fills the stack, so that a summary that reads uninitialized memory shows it. */
__attribute__((noinline)) static void fill_stack(char with)
{
    volatile char below[64 << 10];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = with;
}

/* Writes `text` and checks the properties that every summary has. */
static void summarise(const struct cs_account *account, const struct cs_summary_head *h)
{
    int lines = 0;
    fill_stack('x');
    CHECK_INT(cs_summary_text(account, h, text, sizeof text), strlen(text));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++) {
        size_t length = strcspn(line, "\n");
        CHECK(length > 0 && line[length] == '\n' && line[length - 1] != ' ');
    }
    CHECK(lines <= 50);
}

/* The texts for the golden file. */
static char kept[1 << 15];
static struct cs_text golden = {.at = kept, .size = sizeof kept};

static void keep(const char *title)
{
    cs_text_put(&golden, "--- %s\n%s", title, text);
}

/* The line that begins so, and the lines that continue it. */
static void keep_line(const char *label)
{
    const char *line = text;
    while (*line && strncmp(line, label, strlen(label)) != 0)
        line += strcspn(line, "\n") + 1;
    CHECK(*line);
    do {
        int length = (int)strcspn(line, "\n");
        cs_text_put(&golden, "%.*s\n", length, line);
        line += length + 1;
    } while (strncmp(line, "                  ", 18) == 0);
}

/* More of everything than fits. */
static struct cs_account *large_program(void)
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
        (void)cs_account_site(account, &facts, "");
        account->site[i % CS_MAX_SITES].counter[CS_COUNT_CALLS] += (uint64_t)i * 1000000;
    }
    for (int i = 1; i < CS_REASONS; i++)
        cs_account_passed(account, NULL, (enum cs_reason)i);
    struct cs_site_ref site = cs_account_site(account, &facts, "");
    cs_account_fallback(account, &site);
    cs_account_failed(account, &site);
    return account;
}

/* Programs whose allocator reports its memory. */
static void keep_levels(void)
{
    const struct cs_summary_gpu gpus[] = {
        {.number = 0, .without = 2577 * mib, .with = 1745 * mib, .reserved = 1812 * mib},
        {.number = 3,
         .pool = true,
         .without = 30 * 1024 * mib,
         .with = 21 * 1024 * mib,
         .reserved = 22 * 1024 * mib}};
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_summary_head known = head;
    known.gpu = gpus;
    known.gpus = 1;
    cs_account_added(account, 1260000, 12300000);
    summarise(account, &known);
    keep("PyTorch");
    known.gpus = 2;
    summarise(account, &known);
    keep_line("GPU 0");
    keep_line("GPU 3");
    free(account);

    account = decoder(CS_REASON_REPORT_ONLY);
    summarise(account, &known);
    keep_line("peak of convolutions");
    free(account);
}

static void keep_programs(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    summarise(account, &head);
    keep("an image decoder");
    free(account);

    account = decoder(CS_REASON_REPORT_ONLY);
    struct cs_summary_head off = head;
    off.policy = "off";
    off.config = "/etc/convshim.ini";
    summarise(account, &off);
    keep("policy off");
    free(account);

    account = new_account();
    struct cs_problem problem = problem_of(2, 8, 8, 16, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 900 * mib, 50 * mib, 2);
    run(account, &facts, 1);
    facts.reason = CS_REASON_REPORT_ONLY;
    facts.required = 400 * mib;
    run(account, &facts, 1);
    summarise(account, &off);
    keep("policy off, with a rule that tiles");
    free(account);

    account = large_program();
    struct cs_summary_head path = head;
    path.config = "/a/very/long/path/of/a/configuration/file/that/does/not/fit/into/the/line/"
                  "with/everything/else/convshim.ini";
    summarise(account, &path);
    keep("a large program");
    free(account);

    account = new_account();
    cs_account_passed(account, NULL, CS_REASON_FUSED);
    struct cs_summary_head bare = head;
    bare.vendor = "";
    summarise(account, &bare);
    keep("without a described convolution");
    free(account);
}

static void keep_scratch(const struct cs_account *account)
{
    static const struct cs_summary_own own[] = {
        {.limit = 128 << 20,
         .peak = 124 << 20,
         .allocations = 3,
         .captured = 60 << 20,
         .lost = 1 << 19,
         .handed_over = 571,
         .refused = 1},
        {.limit = 128 << 20, .peak = 1 << 20},
        {.limit = 128 << 20, .peak = 1 << 20, .allocations = 1, .handed_over = 1},
        {.limit = 4 << 20, .refused = 12},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct cs_summary_head with = head;
        with.own = own[i];
        summarise(account, &with);
        keep_line("own scratch");
    }
}

static void keep_lines(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    cs_text_put(&golden, "--- lines for some runs\n");
    keep_scratch(account);
    struct cs_summary_head bypassed = head;
    bypassed.bypass = "libdeep.so, libinside.so.1";
    summarise(account, &bypassed);
    keep_line("bypassed");
    struct cs_summary_head ruled = head;
    ruled.rules = (const char *const[]){"vae", "old", NULL};
    summarise(account, &ruled);
    keep_line("followed rules");
    cs_account_refused(account);
    summarise(account, &head);
    keep_line("plans");
    struct cs_problem problem = problem_of(2, 128, 256, 1024, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 900 * mib, 120 * mib, 11);
    facts.raised = true;
    facts.tiling.lanes = 2;
    facts.rule = 2;
    run(account, &facts, 1);
    summarise(account, &ruled);
    keep_line("limit");
    keep_line("  1x128x1024x1024");
    free(account);
}

static void the_texts_of_summaries(void)
{
    keep_programs();
    keep_levels();
    keep_lines();
    golden_file(".", "summary.txt", kept);
}

static void a_summary_that_does_not_fit_is_cut(void)
{
    char part[101];
    struct cs_account *account = decoder(CS_REASON_NONE);
    summarise(account, &head);
    CHECK_INT(cs_summary_text(account, &head, part, sizeof part), strlen(text));
    CHECK(strncmp(part, text, sizeof part - 1) == 0);
    CHECK_INT(strlen(part), sizeof part - 1);
    CHECK_INT(cs_summary_text(account, &head, NULL, 0), strlen(text));
    free(account);
}

static void without_calls_there_is_no_summary(void)
{
    struct cs_account *account = new_account();
    summarise(account, &head);
    CHECK_STR(text, "");
    free(account);
}

static bool has_line(const char *label)
{
    char start[40];
    snprintf(start, sizeof start, "\n%s ", label);
    return strstr(text, start) != NULL;
}

/* Labels of the lines that some runs alone have. */
static void a_line_without_a_figure_is_omitted(void)
{
    static const char *const labels[] = {"bypassed by",   "followed rules", "own scratch",
                                         "turns",         "limit",          "plans",
                                         "fallback plan", "failed"};
    struct cs_account *account = decoder(CS_REASON_NONE);
    struct cs_problem problem = problem_of(2, 128, 256, 1024, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 900 * mib, 120 * mib, 11);
    facts.raised = true;
    (void)cs_account_site(account, &facts, ""); /* it was not called */
    struct cs_summary_head unused = head;
    unused.own.limit = 128 * mib;
    unused.rules = (const char *const[]){NULL};
    summarise(account, &unused);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        CHECK(!has_line(labels[i]));
    free(account);
}

/* A path, and names of rules and libraries, are never cut. */
static void names_are_written_whole(void)
{
    struct cs_account *account = decoder(CS_REASON_NONE);
    for (size_t length = 1; length < 400; length += 1 + length / 16) {
        char name[400];
        const char *const rules[] = {name, "b", NULL};
        memset(name, 'n', sizeof name);
        name[length] = '\0';
        struct cs_summary_head named = head;
        named.config = named.bypass = name;
        named.rules = rules;
        summarise(account, &named);
        int found = 0;
        for (const char *at = strstr(text, name); at; at = strstr(at + length, name))
            found += at[-1] == ' ' && (at[length] == '\n' || at[length] == ',');
        CHECK_INT(found, 3);
    }
    free(account);
}

static void largest_figures_fit(void)
{
    struct cs_account *account = large_program();
    struct cs_summary_head most = head;
    account->lanes = 8;
    most.bypass = "liba_library_with_a_long_name.so, libanother_one.so.12, ...";
    most.own = (struct cs_summary_own){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                       INT64_MAX, INT64_MAX, INT64_MAX};
    most.rules = (const char *const[]){"a-rule", NULL};
    summarise(account, &most);
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
            struct cs_site_ref one = cs_account_site(account, &facts, "");
            account->site[one.place - 1].counter[CS_COUNT_CALLS] +=
                (uint64_t)random_below(INT64_C(1) << random_below(43));
        }
        summarise(account, &head);
        free(account);
    }
}

int main(void)
{
    TEST(the_texts_of_summaries);
    TEST(a_summary_that_does_not_fit_is_cut);
    TEST(without_calls_there_is_no_summary);
    TEST(a_line_without_a_figure_is_omitted);
    TEST(names_are_written_whole);
    TEST(largest_figures_fit);
    TEST(any_counters_give_a_well_formed_summary);
    return REPORT();
}
