/* A rule of thumb for the workspace that cuDNN requires: converted and padded copies of tensors. */
#include "cli/config/estimate.h"

#include "base/checked.h"

enum {
    CHANNELS = 8 /* that tensor cores take at once */
};

static int64_t pad_channels(int64_t channels)
{
    return cs_ceil_div(channels, CHANNELS) * CHANNELS;
}

static bool channels_last(const struct cs_tensor *tensor)
{
    return tensor->dims[CS_C] == 1 || tensor->strides[CS_C] == 1;
}

/* Computes the bytes of a copy in the form that tensor cores require. 0 if the tensor already has
 * this form. False beyond 64 bits. */
static bool copy_bytes(const struct cs_problem *problem, enum cs_operand operand, int64_t *bytes_p)
{
    struct cs_tensor copy = problem->tensor[operand];
    bool alone = problem->groups == 1;
    bool fits = !alone || (copy.dims[CS_C] % CHANNELS == 0 &&
                           (operand != CS_FILTER || copy.dims[CS_N] % CHANNELS == 0));
    *bytes_p = 0;
    if (fits && channels_last(&copy))
        return true;
    if (alone && copy.dims[CS_C] <= INT64_MAX - CHANNELS)
        copy.dims[CS_C] = pad_channels(copy.dims[CS_C]);
    return cs_problem_tensor_bytes(&copy, bytes_p) == CS_OK;
}

int64_t cs_estimate_workspace(const struct cs_problem *problem)
{
    int64_t sum = 0, bytes;
    for (int i = 0; i < CS_OPERANDS; i++)
        if (!copy_bytes(problem, (enum cs_operand)i, &bytes) || !cs_add(sum, bytes, &sum))
            return INT64_MAX;
    return sum;
}
