/* The line of advice: the choice among all possible advice, and the threshold of each. */
#include "account/account.h"

#include "account_fixture.h"
#include "base/log.h"
#include "check.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct cs_summary_head plain = {.policy = "fit", .bypass = "", .workspace = 1 << 20};

/* Checks that the advice contains a phrase. */
static void check_advice(const struct cs_account *account, const struct cs_summary_head *head,
                         const char *phrase)
{
    char text[CS_ADVICE_TEXT], cut[12];
    int length = cs_advice_text(account, head, text, sizeof text);
    CHECK_INT(length, strlen(text));
    CHECK_INT(cs_advice_text(account, head, cut, sizeof cut), length);
    CHECK(strncmp(text, cut, sizeof cut - 1) == 0 && strlen(cut) == sizeof cut - 1);
    if (!strstr(text, phrase) && check_fails(__LINE__))
        printf("# \"%s\" lacks \"%s\"\n", text, phrase);
}

#define VERIFY "convshim verify"
#define WITHIN "no convolution requires more than the threshold."
#define CHANNELS_LAST "requires no workspace for channels-last tensors"

static void pass(struct cs_account *account, enum cs_reason reason, int times)
{
    for (int i = 0; i < times; i++)
        cs_account_passed(account, NULL, reason);
}

/* One that was tiled so. */
static struct cs_account *tiled_into(int64_t tiles, int times)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 64 * mib, mib, tiles);
    run(account, &facts, times);
    return account;
}

static void many_tiles(void)
{
    static const struct {
        int64_t tiles, workspace;
        bool many;
    } rows[] = {
        {31, 1 << 20, false},
        {32, 1 << 20, true},
        {33, 1 << 20, true},
        {37, 0, true},
        {100, -1, false},
        {100, INT64_MAX / 4, false},
        {100, INT64_MAX / 4 - 1, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_account *account = tiled_into(rows[i].tiles, 1);
        struct cs_summary_head head = plain;
        head.workspace = rows[i].workspace;
        char size[CS_SIZE_TEXT], many[128];
        snprintf(many, sizeof many, "as %lld tiles, which takes time. With workspace = %s it ",
                 (long long)rows[i].tiles, cs_log_size_text(size, 4 * head.workspace));
        check_advice(account, &head, rows[i].many ? many : VERIFY);
        free(account);
    }
}

/* The largest of several, among sites that were called. */
static void the_most_tiles_count(void)
{
    static const int64_t tiles[] = {40, 90, 50};
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 64, CS_F16);
    for (int i = 0; i < 3; i++) {
        struct cs_site_facts facts = facts_of(&problem, 64 * mib, mib, tiles[i]);
        run(account, &facts, 1);
    }
    check_advice(account, &plain,
                 "as 90 tiles, which takes time. With workspace = 4 MiB it would run as about 23.");
    struct cs_site_facts never = facts_of(&problem, 64 * mib, mib, 200);
    (void)cs_account_site(account, &never, "");
    check_advice(account, &plain,
                 "as 90 tiles, which takes time. With workspace = 4 MiB it would run as about 23.");
    free(account);
}

static void bypass_has_priority(void)
{
    struct cs_account *account = tiled_into(100, 1);
    struct cs_summary_head head = plain;
    head.bypass = "libx.so";
    check_advice(account, &head, "Some calls bypass convshim.");
    free(account);
}

/* If anything was tiled, the advice does not mention the rest. */
static void untiled_run_gets_its_reason(void)
{
    struct cs_account *account = new_account();
    pass(account, CS_REASON_NO_TILING, 1);
    check_advice(account, &plain, "no tiling fits 1 MiB");
    struct cs_summary_head head = plain;
    head.workspace = -1;
    check_advice(account, &head, cs_account_reason_text(CS_REASON_NO_TILING));
    head.workspace = 0;
    check_advice(account, &head, "no tiling fits 0 B");
    free(account);
    for (int i = 0; i < 2; i++) {
        struct cs_site_ref none = {0};
        account = new_account();
        pass(account, CS_REASON_NO_TILING, 1);
        (void)(i ? cs_account_fallback : cs_account_failed)(account, &none);
        check_advice(account, &plain, VERIFY);
        free(account);
    }
}

static void changeable_reason_precedes_the_most_frequent(void)
{
    struct cs_account *account = new_account();
    pass(account, CS_REASON_SMALL, 8);
    pass(account, CS_REASON_DYNAMIC, 9);
    check_advice(account, &plain, cs_account_reason_text(CS_REASON_DYNAMIC));
    pass(account, CS_REASON_PROVIDED, 1);
    check_advice(account, &plain, "allocates its own workspaces");
    pass(account, CS_REASON_SLOW, 1);
    check_advice(account, &plain, "too slow");
    pass(account, CS_REASON_NO_TILING, 1);
    check_advice(account, &plain, "no tiling fits 1 MiB");
    pass(account, CS_REASON_REPORT_ONLY, 1);
    check_advice(account, &plain, "Policy fit only reports");
    free(account);
}

/* If reasons have the same number of calls, the first reason. */
static void each_reason_can_be_the_main_one(void)
{
    for (int reason = CS_REASON_NONE + 1; reason < CS_REASONS; reason++) {
        struct cs_account *account = new_account();
        bool own = reason == CS_REASON_REPORT_ONLY || reason == CS_REASON_NO_TILING ||
                   reason == CS_REASON_SLOW || reason == CS_REASON_PROVIDED ||
                   reason == CS_REASON_SMALL;
        const char *want = cs_account_reason_text((enum cs_reason)reason);
        pass(account, (enum cs_reason)reason, 2);
        if (!own)
            check_advice(account, &plain, want);
        pass(account, reason == CS_REASON_DYNAMIC ? CS_REASON_SMALL : CS_REASON_DYNAMIC, 1);
        if (!own)
            check_advice(account, &plain, want);
        free(account);
    }
}

static struct cs_account *small_ones(int64_t required, bool last)
{
    struct cs_account *account = new_account();
    struct cs_problem problem = problem_of(2, 64, 64, 64, CS_F16);
    for (int i = 0; i < CS_OPERANDS && last; i++) {
        struct cs_tensor *tensor = &problem.tensor[i];
        tensor->strides[CS_C] = 1;
        tensor->strides[CS_W] = tensor->dims[CS_C];
        tensor->strides[CS_H] = tensor->strides[CS_W] * tensor->dims[CS_W];
    }
    struct cs_site_facts facts = left_alone(&problem, required, CS_REASON_SMALL);
    run(account, &facts, 1);
    return account;
}

static void small_calls(void)
{
    struct cs_account *account = small_ones(12345, true);
    check_advice(account, &plain, "The largest requires 12.1 KiB.");
    free(account);
    account = small_ones(1, false);
    check_advice(account, &plain, "The largest requires 1 B.");
    free(account);
    account = small_ones(0, false);
    check_advice(account, &plain, WITHIN);
    free(account);
    account = small_ones(0, true);
    check_advice(account, &plain, CHANNELS_LAST);
    struct cs_problem first = problem_of(2, 64, 64, 32, CS_F16);
    struct cs_site_facts facts = left_alone(&first, 0, CS_REASON_SMALL);
    (void)cs_account_site(account, &facts, ""); /* described, never called */
    check_advice(account, &plain, CHANNELS_LAST);
    run(account, &facts, 1);
    check_advice(account, &plain, WITHIN);
    free(account);
    account = small_ones(0, true);
    atomic_store(&account->folds, 1); /* of those nothing is known */
    check_advice(account, &plain, WITHIN);
    free(account);
    account = new_account();
    pass(account, CS_REASON_SMALL, 1);
    check_advice(account, &plain, WITHIN);
    free(account);
}

static void launches_without_gain_are_reported(void)
{
    struct cs_account *account = tiled_into(4, 1);
    check_advice(account, &plain, VERIFY);
    struct cs_problem problem = problem_of(2, 64, 64, 64, CS_F16);
    struct cs_site_facts facts = left_alone(&problem, 64 * mib, CS_REASON_NO_TILING);
    run(account, &facts, 1);
    check_advice(account, &plain, "do not lower the largest workspace, 64 MiB");
    free(account);
}

/* Not for networks with a 3-D convolution, nor for float32. */
static void conversions_to_channels_last_are_reported(void)
{
    static const struct {
        int spatial;
        enum cs_dtype dtype;
        bool advised;
    } rows[] = {{2, CS_F16, true}, {2, CS_BF16, true}, {2, CS_F32, false}, {3, CS_F16, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_account *account = new_account();
        struct cs_problem problem = problem_of(rows[i].spatial, 64, 64, 64, rows[i].dtype);
        struct cs_site_facts facts = facts_of(&problem, 900 * mib, 890 * mib, 2);
        run(account, &facts, 1);
        check_advice(account, &plain,
                     rows[i].advised ? "cuDNN uses up to 890 MiB to convert" : VERIFY);
        free(account);
    }
}

int main(void)
{
    TEST(launches_without_gain_are_reported);
    TEST(conversions_to_channels_last_are_reported);
    TEST(many_tiles);
    TEST(the_most_tiles_count);
    TEST(bypass_has_priority);
    TEST(untiled_run_gets_its_reason);
    TEST(changeable_reason_precedes_the_most_frequent);
    TEST(each_reason_can_be_the_main_one);
    TEST(small_calls);
    return REPORT();
}
