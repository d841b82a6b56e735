/* Before it runs tiles, the executor checks that scratch overlaps neither itself nor an operand. */
#include "exec/exec.h"

#include "base/invariant.h"
#include "check.h"
#include "sample_problem.h"

enum {
    TENSORS = 0x100000, /* the first one's address; the others follow at this distance */
    SCRATCH = 0x800000
};

static int64_t staged_shift, workspace_shift; /* of the first lane's */

WRAPPED(int64_t, cs_plan_scratch, const struct cs_plan *plan, int lanes, struct cs_lane lane[])
{
    int64_t bytes = __real_cs_plan_scratch(plan, lanes, lane);
    if (lane) {
        lane[0].staged += staged_shift;
        lane[0].workspace += workspace_shift;
    }
    return bytes;
}

static int binds;

static int bind(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    (void)ctx, (void)shape, (void)addresses;
    *launch_p = &binds;
    binds++;
    return 0;
}

static int launch(void *ctx, int shape, void *bound)
{
    (void)ctx, (void)shape, (void)bound;
    return 0;
}

static void release(void *ctx, void *bound)
{
    (void)ctx, (void)bound;
}

static int copy(void *ctx, const struct cs_copy *what, void *view, void *packed, bool in)
{
    (void)ctx, (void)what, (void)view, (void)packed, (void)in;
    return 0;
}

static struct cs_plan plan_of(const struct cs_problem *problem, struct cs_tiling tiling)
{
    struct cs_plan plan;
    CHECK_INT(cs_problem_check(problem), CS_OK);
    CHECK_INT(cs_plan_cut(problem, &tiling, &plan), CS_OK);
    for (int64_t i = 0; i < plan.shapes; i++)
        plan.shape[i].workspace = 1000;
    cs_plan_settle(&plan);
    return plan;
}

/* With the scratch at an address, and the first lane's part of it shifted. */
static void check(const struct cs_plan *plan, uintptr_t scratch, int64_t staged, int64_t workspace,
                  bool apart)
{
    const struct cs_gpu gpu = {NULL, bind, launch, release, NULL, NULL, copy, false};
    struct cs_call call = {.base = {.workspace = (void *)scratch}, .provided = plan->workspace};
    static struct cs_exec exec;
    cs_exec_init(&exec, NULL, CS_BACKING_CLIENT, 0);
    for (int i = 0; i < plan->problem.tensors; i++)
        call.base.tensor[i] = (void *)(uintptr_t)(TENSORS * (i + 1));
    staged_shift = staged;
    workspace_shift = workspace;
    binds = 0;
    struct cs_outcome got = cs_exec_run(&exec, plan, &gpu, &call);
    CHECK_INT(got.ran, CS_RAN_TILES);
    CHECK_INT(binds, plan->tiles);
    CHECK_INT(cs_invariant_faults() - check_broken, !apart);
    check_broken += !apart;
}

static void an_operand_in_the_scratch(void)
{
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    const struct cs_plan plan =
        plan_of(&problem, (struct cs_tiling){.axis = {CS_AXIS_H}, .step = {16, 1}});
    check(&plan, SCRATCH, 0, 0, true);
    for (int i = 0; i < CS_OPERANDS; i++) {
        uintptr_t begin = (uintptr_t)TENSORS * (uintptr_t)(i + 1);
        int64_t span;
        CHECK_INT(cs_problem_tensor_span(&problem.tensor[i], &span), CS_OK);
        check(&plan, begin + (uintptr_t)span, 0, 0, true);
        check(&plan, begin + (uintptr_t)span - 1, 0, 0, false);
        check(&plan, begin - 1000, 0, 0, true);
        check(&plan, begin - 999, 0, 0, false);
    }
}

static void a_copy_over_a_workspace(void)
{
    const struct cs_problem problem = deep();
    const struct cs_plan plan =
        plan_of(&problem, (struct cs_tiling){.axis = {CS_AXIS_K, CS_AXIS_C}, .step = {16, 8}});
    CHECK(plan.staged > 1000);
    check(&plan, SCRATCH, 0, 0, true);
    check(&plan, SCRATCH, 4096, 4096, true);
    for (int64_t shift = -256; shift <= 256; shift += 512) {
        check(&plan, SCRATCH, shift, 0, shift < 0);
        check(&plan, SCRATCH, 0, shift, shift > 0);
    }
}

int main(void)
{
    TEST(an_operand_in_the_scratch);
    TEST(a_copy_over_a_workspace);
    return REPORT();
}
