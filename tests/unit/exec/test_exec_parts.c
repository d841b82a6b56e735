/* What the executor asks before it runs tiles, question by question: which tensors share memory,
 * whose scratch will do, what can be copied; and that what lies behind a problem's tensors is none.
 */
#include "check.h"
#include "sample_problem.h"

#define cs_exec_init parts_exec_init
#define cs_exec_run parts_exec_run
#define cs_exec_fallback parts_exec_fallback
#define cs_exec_lend parts_exec_lend
#define cs_exec_take_back parts_exec_take_back
#define cs_exec_process_fork parts_exec_process_fork
#include "exec/exec.c" /* NOLINT(bugprone-suspicious-include) */

static char memory[1 << 16];

static void bytes_overlap_where_they_meet(void)
{
    static const struct {
        int at, bytes, other_at, other_bytes;
        bool overlap;
    } rows_of[] = {{0, 10, 10, 5, false}, {0, 11, 10, 5, true}, {10, 5, 0, 10, false},
                   {10, 5, 0, 11, true},  {3, 1, 3, 1, true},   {0, 10, 3, 2, true},
                   {3, 2, 0, 10, true}};
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++)
        CHECK_INT(overlap(memory + rows_of[i].at, rows_of[i].bytes, memory + rows_of[i].other_at,
                          rows_of[i].other_bytes),
                  rows_of[i].overlap);
}

static void elements_are_the_same_in_all_that_counts(void)
{
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    const struct cs_tensor tensor = problem.tensor[CS_Y];
    struct cs_tensor other = tensor;
    CHECK(same_elements(&tensor, &other));
    other.alignment *= 2;
    CHECK(same_elements(&tensor, &other));
    for (int dim = 0; dim < CS_DIMS; dim++) {
        other = tensor;
        other.dims[dim]++;
        CHECK(!same_elements(&tensor, &other));
        other = tensor;
        other.strides[dim]++;
        CHECK(!same_elements(&tensor, &other));
    }
    other = tensor;
    other.side++;
    CHECK(!same_elements(&tensor, &other));
    other = tensor;
    other.dtype = CS_F32;
    CHECK(!same_elements(&tensor, &other));
}

/* Addresses far from each other. */
static struct cs_addresses apart(void)
{
    struct cs_addresses base = {.workspace = NULL};
    for (int i = 0; i < CS_MAX_TENSORS; i++)
        base.tensor[i] = (void *)(uintptr_t)(0x1000000 * (i + 1));
    return base;
}

/* Of three operands with a bias, an addend and the sum: what stands where. */
static void who_shares_memory(void)
{
    enum {
        BIAS = CS_OPERANDS,
        ADDEND,
        SUM
    };
    static const struct {
        int moved, to;
        int64_t by;
        enum sharing sharing;
    } rows_of[] = {{SUM, ADDEND, 0, IN_PLACE}, {SUM, ADDEND, 2, MIXED},   {ADDEND, SUM, -2, MIXED},
                   {SUM, CS_X, 0, MIXED},      {SUM, BIAS, 0, MIXED},     {CS_X, ADDEND, 0, APART},
                   {SUM, CS_Y, 0, APART},      {CS_FILTER, SUM, 0, MIXED}};
    const struct cs_problem problem = fused();
    struct cs_addresses base = apart();
    CHECK_INT(sharing(&problem, &base), APART);
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        base = apart();
        base.tensor[rows_of[i].moved] = (char *)base.tensor[rows_of[i].to] + rows_of[i].by;
        CHECK_INT(sharing(&problem, &base), rows_of[i].sharing);
        base.tensor[SUM] = NULL; /* nobody's */
        CHECK_INT(sharing(&problem, &base), APART);
    }
    /* The worst of all counts, whichever is found last. */
    base = apart();
    base.tensor[SUM] = base.tensor[ADDEND] = base.tensor[CS_X];
    CHECK_INT(sharing(&problem, &base), MIXED);
    base.tensor[CS_X] = base.tensor[CS_FILTER];
    CHECK_INT(sharing(&problem, &base), IN_PLACE);
}

/* A tensor behind the last that is all that a tensor can be. */
static void what_lies_behind_the_tensors_is_none(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_addresses base = apart(), out = apart();
    const struct cs_tile tile = {.offset = {10, 20, 30, 40}};
    problem.tensor[CS_OPERANDS] = problem.tensor[CS_Y];
    base.tensor[CS_OPERANDS] = base.tensor[CS_X];
    CHECK(problem.tensor[CS_Y].written);
    CHECK_INT(sharing(&problem, &base), APART);
    problem.tensor[CS_OPERANDS].written = false;
    base.tensor[CS_OPERANDS] = base.tensor[CS_Y];
    CHECK_INT(sharing(&problem, &base), APART);
    out.tensor[CS_OPERANDS] = memory;
    shift(&problem, &base, &tile, &out);
    CHECK(out.tensor[CS_OPERANDS] == memory);
    for (int i = 0; i < CS_OPERANDS; i++)
        CHECK((char *)out.tensor[i] == (char *)base.tensor[i] + 10 * (i + 1));
    base.tensor[CS_FILTER] = NULL;
    problem.tensor[CS_X].by_value = true;
    shift(&problem, &base, &tile, &out);
    CHECK(out.tensor[CS_FILTER] == NULL && out.tensor[CS_X] == base.tensor[CS_X]);
}

static int choose_none(void *ctx, void *stream)
{
    (void)ctx, (void)stream;
    return 0;
}

static int copy_none(void *ctx, const struct cs_copy *boxes, void *view, void *packed, bool in)
{
    (void)ctx, (void)boxes, (void)view, (void)packed, (void)in;
    return 0;
}

static const struct cs_device device;

/* By the option, by what the caller brings, and by where launches go. */
static void whose_scratch_will_do(void)
{
    static const struct {
        enum cs_backing backing;
        int64_t provided;
        bool borrows; /* where launches go to streams of a device */
        bool none, all, more;
    } rows_of[] = {{CS_BACKING_AUTO, 0, true, true, false, false},
                   {CS_BACKING_AUTO, 1, false, true, false, false},
                   {CS_BACKING_AUTO, 1000, false, true, true, false},
                   {CS_BACKING_CLIENT, 0, false, true, false, false},
                   {CS_BACKING_CLIENT, 1000, false, true, true, false},
                   {CS_BACKING_OWN, 0, true, true, false, false},
                   {CS_BACKING_OWN, 1000, true, true, false, false}};
    static struct cs_plan plan;
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++)
        for (int streams = 0; streams < 4; streams++) {
            struct cs_exec exec = {.backing = rows_of[i].backing};
            const struct cs_gpu gpu = {.choose = streams & 1 ? choose_none : NULL};
            const struct cs_call call = {.provided = rows_of[i].provided};
            struct walk walk = {.exec = &exec, .plan = &plan, .gpu = &gpu, .call = &call};
            exec.device = streams & 2 ? &device : NULL;
            CHECK_INT(on_streams(&walk), streams == 3);
            CHECK_INT(may_borrow(&walk), streams == 3 && rows_of[i].borrows);
            CHECK_INT(client_suffices(&walk, 0), rows_of[i].none);
            CHECK_INT(client_suffices(&walk, 1000), rows_of[i].all);
            CHECK_INT(client_suffices(&walk, 1001), rows_of[i].more);
        }
}

/* Staged tensors want an address that they can be aligned at. */
static void staged_tensors_are_aligned(void)
{
    static struct cs_plan plan;
    struct cs_exec exec = {.backing = CS_BACKING_CLIENT};
    char *at_16 = memory + (CS_STAGED_ALIGNMENT - (uintptr_t)memory % CS_STAGED_ALIGNMENT);
    for (int staged = 0; staged < 2; staged++) {
        plan.staged = staged;
        for (int shifted = 0; shifted <= CS_STAGED_ALIGNMENT; shifted++) {
            const struct cs_call call = {.base = {.workspace = at_16 + shifted}, .provided = 1000};
            const struct walk walk = {.exec = &exec, .plan = &plan, .call = &call};
            CHECK_INT(client_suffices(&walk, 1000),
                      staged == 0 || shifted % CS_STAGED_ALIGNMENT == 0);
        }
        const struct cs_call nothing = {.provided = 1000};
        const struct walk walk = {.exec = &exec, .plan = &plan, .call = &nothing};
        CHECK_INT(client_suffices(&walk, 0), staged == 0);
    }
}

/* Only where something is staged, and then what is. */
static void what_is_staged_can_be_copied(void)
{
    static struct cs_plan plan;
    const struct cs_problem problem = deep();
    const struct cs_tiling tiling = {.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {16, 8}};
    struct cs_call call = {.base = apart()};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK(plan.staged > 0);
    for (int copies = 0; copies < 2; copies++)
        for (int i = 0; i <= CS_OPERANDS; i++) {
            const struct cs_gpu gpu = {.copy = copies ? copy_none : NULL};
            const struct walk walk = {.plan = &plan, .gpu = &gpu, .call = &call};
            call.base = apart();
            call.base.tensor[i] = NULL;
            CHECK_INT(can_copy(&walk), copies && i != CS_FILTER);
            CHECK_INT(is_ever_staged(&plan, i % CS_OPERANDS), i == CS_FILTER);
        }
    /* A tensor behind the last, and a plan that stages nothing. */
    const struct cs_gpu gpu = {.copy = copy_none};
    const struct walk walk = {.plan = &plan, .gpu = &gpu, .call = &call};
    call.base = apart();
    call.base.tensor[CS_OPERANDS] = NULL;
    plan.is_staged[CS_OPERANDS] = true;
    CHECK(can_copy(&walk));
    plan.staged = 0;
    CHECK(!is_ever_staged(&plan, CS_FILTER));
}

static void a_fork_holds_lanes_before_the_arena(void)
{
    static struct cs_exec exec;
    int faults = cs_lock_faults();
    parts_exec_init(&exec, NULL, CS_BACKING_CLIENT, 0);
    for (int child = 0; child <= 1; child++) {
        parts_exec_process_fork(&exec, true, false);
        CHECK_INT(cs_locks_held, 1U << CS_RANK_LANES | 1U << CS_RANK_ARENA);
        parts_exec_process_fork(&exec, false, child);
        CHECK_INT(cs_locks_held, 0);
    }
    CHECK_INT(cs_lock_faults(), faults);
}

int main(void)
{
    TEST(bytes_overlap_where_they_meet);
    TEST(elements_are_the_same_in_all_that_counts);
    TEST(who_shares_memory);
    TEST(what_lies_behind_the_tensors_is_none);
    TEST(whose_scratch_will_do);
    TEST(staged_tensors_are_aligned);
    TEST(what_is_staged_can_be_copied);
    TEST(a_fork_holds_lanes_before_the_arena);
    return REPORT();
}
