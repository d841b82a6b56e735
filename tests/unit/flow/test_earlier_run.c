/* Option keep_record: the record of memory that a process leaves for the next run of the program.
 */
#include "check.h"
#include "fake_vendor.h"
#include "flow/earlier_run.h"
#include "flow/instance.h"
#include "flow/request.h"
#include <stdlib.h>
#include <unistd.h>

static char path[300];
static int64_t model_number;

static int64_t fake_model(void *ctx)
{
    (void)ctx;
    return model_number;
}

static const struct cs_vendor vendor = {.model = fake_model};

static struct cs_request request(void)
{
    return (struct cs_request){
        .problem = same(4, 16, 8, 64, 64, 16), .engine = {.index = 5}, .required = 100 * MIB};
}

/* A process with option keep_record. */
static struct cs *process(void)
{
    struct cs *cs = calloc(1, sizeof *cs);
    cs->config.keep_record = CS_KEEP_RECORD_ON;
    cs->policy = cs_policy_find("fit");
    cs->limits = automatic;
    cs_store_init(&cs->store, path);
    cs_peak_init(&cs->peak);
    return cs;
}

static void end(struct cs *cs)
{
    cs_earlier_run_end(cs);
    cs_store_fini(&cs->store);
    free(cs);
}

/* Begins the process and returns the record of the first decision. */
static int64_t begun(struct cs *cs)
{
    const struct cs_request first = request();
    cs_earlier_run_begin(cs, &first, &vendor);
    return cs_peak_record(&cs->peak, 0);
}

/* One call that holds its operands and `reported` bytes. */
static void call(struct cs *cs, int64_t reported)
{
    const struct cs_request first = request();
    static const struct cs_addresses addresses;
    cs_peak_note(&cs->peak, 0, 1, reported, &first.problem, &addresses);
}

static void leave_record(int64_t reported)
{
    unlink(path);
    model_number = 7;
    struct cs *cs = process();
    CHECK_INT(begun(cs), 0);
    call(cs, reported);
    end(cs);
}

static void next_run_starts_with_the_record_of_the_first(void)
{
    leave_record(300 * MIB);
    struct cs *second = process();
    CHECK_INT(begun(second), 300 * MIB);
    call(second, 400 * MIB);
    end(second);
    struct cs *third = process();
    CHECK_INT(begun(third), 300 * MIB); /* so that every later run decides alike */
    end(third);
}

enum difference {
    OFF,
    WORKSPACE,
    PRICE,
    RULE,
    POLICY,
    MODEL,
    DIFFERENCES
};

/* A process that is unlike the one that left the record. */
static struct cs *unlike(enum difference difference)
{
    struct cs *cs = process();
    model_number = difference == MODEL ? 8 : 7;
    if (difference == OFF)
        cs->config.keep_record = CS_KEEP_RECORD_OFF;
    if (difference == WORKSPACE)
        cs->limits.workspace = 64 * MIB;
    if (difference == PRICE)
        cs->limits.price = 6000;
    if (difference == RULE)
        cs->rules.count = 1;
    if (difference == POLICY)
        cs->policy = cs_policy_find("off");
    return cs;
}

static void run_with_other_options_or_device_starts_without_a_record(void)
{
    for (int i = 0; i < DIFFERENCES; i++) {
        leave_record(300 * MIB);
        struct cs *cs = unlike((enum difference)i);
        CHECK_INT(begun(cs), 0);
        end(cs);
    }
}

/* Such a run has held other memory than its decisions intend. */
static void failed_run_or_forked_child_leaves_no_record(void)
{
    for (int i = 0; i < 4; i++) {
        unlink(path);
        model_number = 7;
        struct cs *cs = process();
        (void)begun(cs);
        call(cs, 300 * MIB);
        cs->account.fallbacks = i == 0;
        cs->account.failed = i == 1;
        cs->account.refused = i == 2;
        if (i == 3)
            cs_earlier_run_fork(cs);
        end(cs);
        cs = process();
        CHECK_INT(begun(cs), 0);
        end(cs);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "%s/records-%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (int)getpid());
    TEST(next_run_starts_with_the_record_of_the_first);
    TEST(run_with_other_options_or_device_starts_without_a_record);
    TEST(failed_run_or_forked_child_leaves_no_record);
    unlink(path);
    return REPORT();
}
