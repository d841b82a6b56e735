/* The line of advice: the choice among all possible advice, and the threshold of each. */
#include "account/advice.h"

#include "account_fixture.h"
#include "check.h"
#include <stdatomic.h>

static const struct cs_summary_head plain = {.policy = "fit", .bypass = "", .workspace = 1 << 20};

static void check_advice(const struct cs_account *account, const struct cs_summary_head *head,
                         struct cs_advice want)
{
    struct cs_advice advice = cs_advice_of(account, head);
    CHECK_INT(advice.kind, want.kind);
    CHECK_INT(advice.bytes, want.bytes);
    CHECK_INT(advice.tiles, want.tiles);
    CHECK_INT(advice.reason, want.reason);
}

#define ADVICE(...) ((struct cs_advice){.kind = CS_ADVICE_##__VA_ARGS__})

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
        check_advice(account, &head,
                     rows[i].many
                         ? ADVICE(MANY_TILES, .bytes = 4 * head.workspace, .tiles = rows[i].tiles)
                         : ADVICE(VERIFY));
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
    check_advice(account, &plain, ADVICE(MANY_TILES, .bytes = 4 * mib, .tiles = 90));
    struct cs_site_facts never = facts_of(&problem, 64 * mib, mib, 200);
    (void)cs_account_site(account, &never, "");
    check_advice(account, &plain, ADVICE(MANY_TILES, .bytes = 4 * mib, .tiles = 90));
    free(account);
}

static void bypass_has_priority(void)
{
    struct cs_account *account = tiled_into(100, 1);
    struct cs_summary_head head = plain;
    head.bypass = "libx.so";
    check_advice(account, &head, ADVICE(BYPASSED));
    free(account);
}

/* If anything was tiled, the advice does not mention the rest. */
static void untiled_run_gets_its_reason(void)
{
    struct cs_account *account = new_account();
    pass(account, CS_REASON_NO_TILING, 1);
    check_advice(account, &plain, ADVICE(NO_TILING, .bytes = mib));
    struct cs_summary_head head = plain;
    head.workspace = -1;
    check_advice(account, &head, ADVICE(REASON, .reason = CS_REASON_NO_TILING));
    head.workspace = 0;
    check_advice(account, &head, ADVICE(NO_TILING));
    free(account);
    for (int i = 0; i < 2; i++) {
        struct cs_site_ref none = {0};
        account = new_account();
        pass(account, CS_REASON_NO_TILING, 1);
        (void)(i ? cs_account_fallback : cs_account_failed)(account, &none);
        check_advice(account, &plain, ADVICE(VERIFY));
        free(account);
    }
}

static void changeable_reason_precedes_the_most_frequent(void)
{
    struct cs_account *account = new_account();
    pass(account, CS_REASON_SMALL, 8);
    pass(account, CS_REASON_DYNAMIC, 9);
    check_advice(account, &plain, ADVICE(REASON, .reason = CS_REASON_DYNAMIC));
    pass(account, CS_REASON_PROVIDED, 1);
    check_advice(account, &plain, ADVICE(PROVIDED));
    pass(account, CS_REASON_SLOW, 1);
    check_advice(account, &plain, ADVICE(SLOW));
    pass(account, CS_REASON_NO_TILING, 1);
    check_advice(account, &plain, ADVICE(NO_TILING, .bytes = mib));
    pass(account, CS_REASON_REPORT_ONLY, 1);
    check_advice(account, &plain, ADVICE(REPORT_ONLY));
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
        const struct cs_advice want = ADVICE(REASON, .reason = (enum cs_reason)reason);
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
    check_advice(account, &plain, ADVICE(LARGEST_WITHIN, .bytes = 12345));
    free(account);
    account = small_ones(1, false);
    check_advice(account, &plain, ADVICE(LARGEST_WITHIN, .bytes = 1));
    free(account);
    account = small_ones(0, false);
    check_advice(account, &plain, ADVICE(WITHIN));
    free(account);
    account = small_ones(0, true);
    check_advice(account, &plain, ADVICE(CHANNELS_LAST));
    struct cs_problem first = problem_of(2, 64, 64, 32, CS_F16);
    struct cs_site_facts facts = left_alone(&first, 0, CS_REASON_SMALL);
    (void)cs_account_site(account, &facts, ""); /* described, never called */
    check_advice(account, &plain, ADVICE(CHANNELS_LAST));
    run(account, &facts, 1);
    check_advice(account, &plain, ADVICE(WITHIN));
    free(account);
    account = small_ones(0, true);
    atomic_store(&account->folds, 1); /* of those nothing is known */
    check_advice(account, &plain, ADVICE(WITHIN));
    free(account);
    account = new_account();
    pass(account, CS_REASON_SMALL, 1);
    check_advice(account, &plain, ADVICE(WITHIN));
    free(account);
}

static void launches_without_gain_are_reported(void)
{
    struct cs_account *account = tiled_into(4, 1);
    check_advice(account, &plain, ADVICE(VERIFY));
    struct cs_problem problem = problem_of(2, 64, 64, 64, CS_F16);
    struct cs_site_facts facts = left_alone(&problem, 64 * mib, CS_REASON_NO_TILING);
    run(account, &facts, 1);
    check_advice(account, &plain, ADVICE(NO_GAIN, .bytes = 64 * mib));
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
                     rows[i].advised ? ADVICE(CONVERSION, .bytes = 890 * mib) : ADVICE(VERIFY));
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
