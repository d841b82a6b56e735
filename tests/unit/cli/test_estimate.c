/* The rule of thumb for the workspace that cuDNN requires. */
#include "check.h"
#include "cli/config/estimate.h"

static void pack(struct cs_tensor *tensor, const int64_t dims[CS_DIMS])
{
    int64_t stride = 1;
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        tensor->dims[dim] = dims[dim];
        tensor->strides[dim] = stride;
        stride *= dims[dim];
    }
}

static int64_t workspace_of(int64_t groups, int64_t channels, int64_t images, int64_t width)
{
    struct cs_problem problem = {.groups = groups, .spatial = 2, .tensors = CS_OPERANDS};
    pack(&problem.tensor[CS_X], (const int64_t[]){images, channels, 1, 1, width});
    pack(&problem.tensor[CS_FILTER], (const int64_t[]){8, 8, 1, 1, 1});
    pack(&problem.tensor[CS_Y], (const int64_t[]){1, 8, 1, 1, 1});
    for (int i = 0; i < CS_OPERANDS; i++)
        problem.tensor[i].dtype = CS_F16;
    return cs_estimate_workspace(&problem);
}

static void copies_have_channels_by_eights_unless_in_groups(void)
{
    CHECK_INT(workspace_of(1, 8, 3, 5), 3 * 8 * 5 * 2);
    CHECK_INT(workspace_of(1, 4, 3, 5), 3 * 8 * 5 * 2);
    CHECK_INT(workspace_of(1, 9, 3, 5), 3 * 16 * 5 * 2);
    CHECK_INT(workspace_of(2, 4, 3, 5), 3 * 4 * 5 * 2);
    CHECK_INT(workspace_of(2, INT64_C(1) << 40, 1 << 20, 1 << 20), INT64_MAX);
}

int main(void)
{
    TEST(copies_have_channels_by_eights_unless_in_groups);
    return REPORT();
}
