/* Legacy descriptors of any contents, as their getters may return them: a call that is described
 * and passes cs_describe_check also passes cs_problem_check. No algorithm, of any number, allows
 * more than one named algorithm. */
#include "bytes.h"
#include "legacy_fixture.h"

#include "flow/flow.h"
#include "intercept/graph/describe_graph.h"
#include "intercept/legacy/dispatch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int any(struct bytes *bytes)
{
    return (int)bytes_number(bytes);
}

/* Now and then a row is replaced, mostly single numbers of it. */
static void change(struct bytes *bytes, int *row, int count)
{
    int at = bytes_byte(bytes) % (2 * count);
    if (at < count)
        row[at] = any(bytes);
    else
        for (int i = 0; i < count; i++)
            row[i] = any(bytes);
}

static void change_tensor(struct bytes *bytes, struct tensor *tensor)
{
    switch (bytes_byte(bytes) % 4) {
    case 0:
        tensor->type = (cudnnDataType_t)(bytes_byte(bytes) % 18);
        break;
    case 1:
        tensor->rank = bytes_byte(bytes) % (CUDNN_DIM_MAX + 1);
        break;
    case 2:
        change(bytes, tensor->extent, CUDNN_DIM_MAX);
        break;
    default:
        change(bytes, tensor->stride, CUDNN_DIM_MAX);
    }
}

static void change_filter(struct bytes *bytes)
{
    switch (bytes_byte(bytes) % 4) {
    case 0:
        w.type = (cudnnDataType_t)(bytes_byte(bytes) % 18);
        break;
    case 1:
        w.rank = bytes_byte(bytes) % (CUDNN_DIM_MAX + 1);
        break;
    case 2:
        w.format = (cudnnTensorFormat_t)(bytes_byte(bytes) % 4);
        break;
    default:
        change(bytes, w.extent, CUDNN_DIM_MAX);
    }
}

static void change_window(struct bytes *bytes)
{
    int *rows[] = {conv.pad, conv.stride, conv.dilation};
    int what = bytes_byte(bytes) % 7;
    if (what < 3)
        change(bytes, rows[what], 3);
    else if (what == 3)
        conv.spatial = any(bytes) % 7;
    else if (what == 4)
        conv.groups = any(bytes);
    else if (what == 5)
        conv.mode = (cudnnConvolutionMode_t)(bytes_byte(bytes) % 3);
    else
        conv.compute = (cudnnDataType_t)(bytes_byte(bytes) % 18);
}

static void change_any(struct bytes *bytes, struct cs_legacy_call *call)
{
    struct tensor *tensors[] = {&x, &y, &z, &bias};
    int what = bytes_byte(bytes) % 8;
    if (what < 4)
        change_tensor(bytes, tensors[what]);
    else if (what == 4)
        change_filter(bytes);
    else if (what == 5)
        change_window(bytes);
    else if (what == 6)
        activation = (cudnnActivationMode_t)(bytes_byte(bytes) % 8);
    else
        call->execution.data[bytes_byte(bytes) % CS_OPERANDS] =
            (void *)(uintptr_t)bytes_number(bytes);
}

static void check_forbidden(const struct cs_legacy_call *call)
{
    struct cs_legacy_call named = *call;
    named.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    unsigned most = cs_legacy_call_forbidden(&named, CS_F32);
    if (cs_legacy_call_forbidden(call, CS_F32) & ~most)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float scales[] = {0, 1, 0.5F};
    static struct cs_problem problem;
    struct bytes bytes = {data, size};
    struct cs_addresses addresses;
    int choice = bytes_byte(&bytes);
    struct cs_legacy_call call = choice & 4 ? fused(&scales[(choice >> 3) % 3])
                                            : sound((enum cs_direction)((choice >> 3) % 3));
    call.algorithm = any(&bytes);
    call.math = (cudnnMathType_t)(bytes_byte(&bytes) % 5);
    check_forbidden(&call);
    while (bytes.left > 0)
        change_any(&bytes, &call);
    if (cs_describe_legacy(&call, &problem, &addresses) == CS_REASON_NONE &&
        cs_describe_check(&problem) == CS_REASON_NONE && cs_problem_check(&problem) != CS_OK)
        abort();
    return 0;
}
