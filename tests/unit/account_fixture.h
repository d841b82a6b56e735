/* An account that contains an image decoder's convolutions, for tests of the outputs made from it.
 */
#ifndef ACCOUNT_FIXTURE_H
#define ACCOUNT_FIXTURE_H

#include "account/account.h"
#include "base/checked.h"
#include <stdlib.h>

static const int64_t mib = 1 << 20;

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
            stride = 1; /* only the extents of the absurd shapes below are used */
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

static struct cs_site_facts facts_of(const struct cs_problem *problem, int64_t required,
                                     int64_t reported, int64_t tiles)
{
    return (struct cs_site_facts){.problem = *problem,
                                  .engine = 62,
                                  .tiling = {.axis = {CS_AXIS_H}, .step = {57, 1}},
                                  .tiles = tiles,
                                  .required = required,
                                  .possible = reported};
}

static struct cs_site_facts left_alone(const struct cs_problem *problem, int64_t required,
                                       enum cs_reason reason)
{
    struct cs_site_facts facts = facts_of(problem, required, required, 1);
    facts.tiling = (struct cs_tiling){.step = {1, 1}};
    facts.reason = reason;
    return facts;
}

static void run(struct cs_account *account, const struct cs_site_facts *facts, int times)
{
    struct cs_site_ref site = cs_account_site(account, facts, "");
    for (int i = 0; i < times; i++) {
        if (facts->reason == CS_REASON_NONE)
            cs_account_tiled(account, &site, facts->tiles, 1);
        else
            cs_account_passed(account, &site, facts->reason);
    }
}

/* An image decoder with some layers of every outcome. */
static inline struct cs_account *decoder(enum cs_reason reason)
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
    facts = left_alone(&wide, 90 * mib, CS_REASON_NO_FALLBACK);
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

#endif
