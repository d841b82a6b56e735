/* The exported functions of legacy tensor descriptors: what cuDNN's own take is theirs, argument by
 * argument; a tensor that they refuse for its size is answered about from what was noted. */
#include "base/lock.h"
#include "intercept/entry/entry.h"
#include "intercept/legacy/oversized_tensor.h"
#include "legacy_fixture.h"
#include <limits.h>

enum {
    MOST = 12
};

/* The last call that reached cuDNN. */
static struct {
    const char *name;
    int calls, count;
    int64_t argument[MOST];
} seen;
static cudnnStatus_t answer;
static bool unhandled; /* as where convshim is off */
static const cudnnTensorDescriptor_t tensor = (cudnnTensorDescriptor_t)(void *)&x;
static const cudnnConvolutionDescriptor_t window = (cudnnConvolutionDescriptor_t)(void *)&conv;
static const cudnnFilterDescriptor_t filter = (cudnnFilterDescriptor_t)(void *)&w;

int cs_intercept_from(struct cs_entry_call *call, const void *caller)
{
    (void)caller;
    return unhandled ? call->replay(call) : call->handle(NULL, call);
}

static cudnnStatus_t note(const char *name, int count, const int64_t *argument)
{
    seen.name = name;
    seen.calls++;
    seen.count = count;
    memcpy(seen.argument, argument, (size_t)count * sizeof *argument);
    return answer;
}

#define NOTE(name, ...)                                                                            \
    note(name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define AT(address) (int64_t)(intptr_t)(address)

static void check_seen(const char *name, int count, const int64_t *argument)
{
    CHECK_STR(seen.name, name);
    CHECK_INT(seen.count, count);
    for (int i = 0; i < count; i++)
        CHECK_INT(seen.argument[i], argument[i]);
}

#define CHECK_SEEN(name, ...)                                                                      \
    check_seen(name, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                    \
               (int64_t[]){__VA_ARGS__})

static cudnnStatus_t set_nd(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                            const int *extent, const int *stride)
{
    /* The two by which a tensor is noted are taken. */
    if (extent[0] == 1)
        return CUDNN_STATUS_SUCCESS;
    return NOTE("nd", AT(descriptor), (int64_t)type, rank, AT(extent), AT(stride));
}

static cudnnStatus_t set_nd_ex(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                               cudnnDataType_t type, int rank, const int *extent)
{
    return NOTE("nd ex", AT(descriptor), (int64_t)format, (int64_t)type, rank, AT(extent));
}

static cudnnStatus_t set_4d(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                            cudnnDataType_t type, int a, int b, int c, int d)
{
    return NOTE("4d", AT(descriptor), (int64_t)format, (int64_t)type, a, b, c, d);
}

static cudnnStatus_t set_4d_ex(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int a,
                               int b, int c, int d, int e, int f, int g, int h)
{
    return NOTE("4d ex", AT(descriptor), (int64_t)type, a, b, c, d, e, f, g, h);
}

static cudnnStatus_t get_nd(const cudnnTensorDescriptor_t descriptor, int requested,
                            cudnnDataType_t *type, int *rank, int *extent, int *stride)
{
    return NOTE("get nd", AT(descriptor), requested, AT(type), AT(rank), AT(extent), AT(stride));
}

static cudnnStatus_t get_4d(const cudnnTensorDescriptor_t descriptor, cudnnDataType_t *type, int *a,
                            int *b, int *c, int *d, int *e, int *f, int *g, int *h)
{
    return NOTE("get 4d", AT(descriptor), AT(type), AT(a), AT(b), AT(c), AT(d), AT(e), AT(f), AT(g),
                AT(h));
}

static cudnnStatus_t get_bytes(const cudnnTensorDescriptor_t descriptor, size_t *bytes)
{
    return NOTE("bytes", AT(descriptor), AT(bytes));
}

static cudnnStatus_t destroy(cudnnTensorDescriptor_t descriptor)
{
    struct cs_oversized_tensor large;
    CHECK(unhandled || !cs_oversized_tensor_find(descriptor, &large));
    return NOTE("destroy", AT(descriptor));
}

static cudnnStatus_t output_nd(const cudnnConvolutionDescriptor_t of,
                               const cudnnTensorDescriptor_t in, const cudnnFilterDescriptor_t with,
                               int rank, int *extent)
{
    return NOTE("output nd", AT(of), AT(in), AT(with), rank, AT(extent));
}

static cudnnStatus_t output_2d(const cudnnConvolutionDescriptor_t of,
                               const cudnnTensorDescriptor_t in, const cudnnFilterDescriptor_t with,
                               int *a, int *b, int *c, int *d)
{
    return NOTE("output 2d", AT(of), AT(in), AT(with), AT(a), AT(b), AT(c), AT(d));
}

static void start(cudnnStatus_t status)
{
    (void)sound(CS_FORWARD);
    vendor.cudnnSetTensorNdDescriptor = set_nd;
    vendor.cudnnSetTensorNdDescriptorEx = set_nd_ex;
    vendor.cudnnSetTensor4dDescriptor = set_4d;
    vendor.cudnnSetTensor4dDescriptorEx = set_4d_ex;
    vendor.cudnnGetTensorNdDescriptor = get_nd;
    vendor.cudnnGetTensor4dDescriptor = get_4d;
    vendor.cudnnGetTensorSizeInBytes = get_bytes;
    vendor.cudnnDestroyTensorDescriptor = destroy;
    vendor.cudnnGetConvolutionNdForwardOutputDim = output_nd;
    vendor.cudnnGetConvolution2dForwardOutputDim = output_2d;
    cs_oversized_tensor_drop(tensor);
    answer = status;
    unhandled = false;
    seen.calls = 0;
}

static const int extents[] = {4096, 64, 1024, 1023, 1, 1}, strides[] = {7000, 600, 50, 4, 1, 1};

/* Every way to set a tensor. */
static cudnnStatus_t set(int way)
{
    switch (way) {
    case 0:
        return cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_HALF, 4, extents, strides);
    case 1:
        return cudnnSetTensorNdDescriptorEx(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 4, extents);
    case 2:
        return cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 4096, 64,
                                          1024, 1023);
    default:
        return cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_HALF, 4096, 64, 1024, 1023, 7000,
                                            600, 50, 4);
    }
}

static void check_set(int way)
{
    const int64_t half = CUDNN_DATA_HALF, nhwc = CUDNN_TENSOR_NHWC;
    if (way == 0)
        CHECK_SEEN("nd", AT(tensor), half, 4, AT(extents), AT(strides));
    else if (way == 1)
        CHECK_SEEN("nd ex", AT(tensor), nhwc, half, 4, AT(extents));
    else if (way == 2)
        CHECK_SEEN("4d", AT(tensor), nhwc, half, 4096, 64, 1024, 1023);
    else
        CHECK_SEEN("4d ex", AT(tensor), half, 4096, 64, 1024, 1023, 7000, 600, 50, 4);
}

static void every_setter_passes_its_arguments_on(void)
{
    static const cudnnStatus_t statuses[] = {CUDNN_STATUS_SUCCESS, CUDNN_STATUS_BAD_PARAM,
                                             CUDNN_STATUS_NOT_SUPPORTED};
    struct cs_oversized_tensor large;
    for (int way = 0; way < 4; way++) {
        for (int off = 0; off <= 1; off++) {
            for (int i = 0; i < 3 - (off == 0); i++) {
                start(statuses[i]);
                unhandled = off;
                CHECK_INT(set(way), statuses[i]);
                CHECK_INT(seen.calls, 1);
                check_set(way);
                CHECK(!cs_oversized_tensor_find(tensor, &large));
            }
        }
    }
}

static void what_every_setter_was_refused_is_noted(void)
{
    for (int way = 0; way < 4; way++) {
        struct cs_oversized_tensor large;
        start(CUDNN_STATUS_NOT_SUPPORTED);
        CHECK_INT(set(way), CUDNN_STATUS_SUCCESS);
        CHECK_INT(seen.calls, 1);
        check_set(way);
        CHECK(cs_oversized_tensor_find(tensor, &large));
        CHECK_INT(large.type, CUDNN_DATA_HALF);
        CHECK_INT(large.rank, 4);
        const int packed[] = {64 * 1024 * 1023, 1, 64 * 1023, 64};
        for (int i = 0; i < 4; i++) {
            CHECK_INT(large.extent[i], extents[i]);
            CHECK_INT(large.stride[i], way == 1 || way == 2 ? packed[i] : strides[i]);
        }
    }
}

/* Once more by cuDNN itself, so that its descriptor is as it leaves it. */
static void what_cannot_be_noted_is_refused_again(void)
{
    start(CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_HALF, 6, extents, strides),
              CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(seen.calls, 2);
    CHECK_SEEN("nd", AT(tensor), CUDNN_DATA_HALF, 6, AT(extents), AT(strides));
}

/* Sets x as a tensor that is noted, with these strides. */
static void note_tensor(int rank, const int *stride)
{
    start(CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_HALF, rank, extents, stride),
              CUDNN_STATUS_SUCCESS);
    seen.calls = 0;
}

/* Of packed ones an int does not hold the first stride. */
static void note_wide_tensor(void)
{
    start(CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 4096, 1024,
                                         1024),
              CUDNN_STATUS_SUCCESS);
    seen.calls = 0;
}

static void as_many_dimensions_are_answered_as_were_asked_for(void)
{
    note_tensor(4, strides);
    for (int requested = 0; requested <= 6; requested++) {
        int extent[6], stride[6], rank = -1;
        cudnnDataType_t type = CUDNN_DATA_DOUBLE;
        for (int i = 0; i < 6; i++)
            extent[i] = stride[i] = -1;
        CHECK_INT(cudnnGetTensorNdDescriptor(tensor, requested, &type, &rank, extent, stride),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(type, CUDNN_DATA_HALF);
        CHECK_INT(rank, 4);
        for (int i = 0; i < 6; i++) {
            bool answered = i < requested && i < 4;
            CHECK_INT(extent[i], answered ? extents[i] : -1);
            CHECK_INT(stride[i], answered ? strides[i] : -1);
        }
    }
    CHECK_INT(seen.calls, 0);
}

/* Each of what a query asks for may be left out. */
static void what_is_not_asked_for_is_not_answered(void)
{
    int extent[4], stride[4], rank;
    cudnnDataType_t type;
    note_tensor(4, strides);
    for (unsigned asked = 0; asked < 16; asked++) {
        rank = extent[3] = stride[3] = -1;
        type = CUDNN_DATA_DOUBLE;
        CHECK_INT(cudnnGetTensorNdDescriptor(tensor, 4, asked & 1 ? &type : NULL,
                                             asked & 2 ? &rank : NULL, asked & 4 ? extent : NULL,
                                             asked & 8 ? stride : NULL),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(type, asked & 1 ? CUDNN_DATA_HALF : CUDNN_DATA_DOUBLE);
        CHECK_INT(rank, asked & 2 ? 4 : -1);
        CHECK_INT(extent[3], asked & 4 ? 1023 : -1);
        CHECK_INT(stride[3], asked & 8 ? 4 : -1);
    }
}

static void each_of_four_dimensions_is_answered_alone(void)
{
    note_tensor(4, strides);
    for (int missing = -1; missing < 9; missing++) {
        int value[8], *to[8];
        cudnnDataType_t type = CUDNN_DATA_DOUBLE;
        for (int i = 0; i < 8; i++) {
            value[i] = -1;
            to[i] = i == missing ? NULL : &value[i];
        }
        CHECK_INT(cudnnGetTensor4dDescriptor(tensor, missing == 8 ? NULL : &type, to[0], to[1],
                                             to[2], to[3], to[4], to[5], to[6], to[7]),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(type, missing == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_HALF);
        for (int i = 0; i < 8; i++) {
            int known = i < 4 ? extents[i] : strides[i - 4];
            CHECK_INT(value[i], i == missing ? -1 : known);
        }
    }
    CHECK_INT(seen.calls, 0);
    note_tensor(5, strides);
    int n;
    CHECK_INT(
        cudnnGetTensor4dDescriptor(tensor, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        CUDNN_STATUS_BAD_PARAM);
}

/* The largest int is a stride; what is more is answered only where nobody asks for it. */
static void a_stride_that_no_int_holds_is_not_answered(void)
{
    const int most[] = {INT_MAX, 600, 50, 4};
    int extent[4], stride[4] = {0}, n = 0, n_stride = 0;
    note_tensor(4, most);
    CHECK_INT(cudnnGetTensorNdDescriptor(tensor, 4, NULL, NULL, extent, stride),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(stride[0], INT_MAX);
    CHECK_INT(
        cudnnGetTensor4dDescriptor(tensor, NULL, &n, NULL, NULL, NULL, &n_stride, NULL, NULL, NULL),
        CUDNN_STATUS_SUCCESS);
    CHECK_INT(n_stride, INT_MAX);
    note_wide_tensor();
    CHECK_INT(cudnnGetTensorNdDescriptor(tensor, 4, NULL, NULL, extent, stride),
              CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(cudnnGetTensorNdDescriptor(tensor, 4, NULL, NULL, extent, NULL),
              CUDNN_STATUS_SUCCESS);
    CHECK_INT(extent[1], 4096);
    CHECK_INT(
        cudnnGetTensor4dDescriptor(tensor, NULL, &n, NULL, NULL, NULL, &n_stride, NULL, NULL, NULL),
        CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_INT(
        cudnnGetTensor4dDescriptor(tensor, NULL, &n, NULL, NULL, NULL, NULL, &n_stride, NULL, NULL),
        CUDNN_STATUS_SUCCESS);
    CHECK_INT(n, 2);
    CHECK_INT(n_stride, 1 << 20);
}

static void its_bytes_are_answered(void)
{
    size_t bytes = 7;
    note_wide_tensor();
    CHECK_INT(cudnnGetTensorSizeInBytes(tensor, &bytes), CUDNN_STATUS_SUCCESS);
    CHECK_INT(bytes, INT64_C(1) << 35);
    CHECK_INT(cudnnGetTensorSizeInBytes(tensor, NULL), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(seen.calls, 0);
}

static void its_outputs_extents_are_answered(void)
{
    int extent[4] = {0}, n = 0, c = 0, h = 0, width = 0;
    note_wide_tensor();
    w.extent[1] = 4096;
    conv.stride[1] = 2;
    CHECK_INT(cudnnGetConvolutionNdForwardOutputDim(window, tensor, filter, 4, extent),
              CUDNN_STATUS_SUCCESS);
    CHECK(extent[0] == 2 && extent[1] == 6 && extent[2] == 1024 && extent[3] == 512);
    for (int missing = 0; missing < 5; missing++) {
        n = c = h = width = -1;
        CHECK_INT(cudnnGetConvolution2dForwardOutputDim(
                      window, tensor, filter, missing == 0 ? NULL : &n, missing == 1 ? NULL : &c,
                      missing == 2 ? NULL : &h, missing == 3 ? NULL : &width),
                  CUDNN_STATUS_SUCCESS);
        CHECK_INT(n, missing == 0 ? -1 : 2);
        CHECK_INT(c, missing == 1 ? -1 : 6);
        CHECK_INT(h, missing == 2 ? -1 : 1024);
        CHECK_INT(width, missing == 3 ? -1 : 512);
    }
    w.extent[1] = 4095;
    n = c = h = width = -1;
    CHECK_INT(cudnnGetConvolutionNdForwardOutputDim(window, tensor, filter, 4, extent),
              CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(cudnnGetConvolution2dForwardOutputDim(window, tensor, filter, &n, &c, &h, &width),
              CUDNN_STATUS_BAD_PARAM);
    CHECK(n == -1 && c == -1 && h == -1 && width == -1);
    CHECK_INT(seen.calls, 0);
}

/* Of a tensor that is not noted cuDNN itself is asked, with the caller's own addresses. */
static void every_query_passes_its_arguments_on(void)
{
    int v[8], rank;
    size_t bytes;
    cudnnDataType_t type;
    for (int off = 0; off <= 1; off++) {
        if (off)
            note_wide_tensor();
        else
            start(CUDNN_STATUS_NOT_SUPPORTED);
        unhandled = off;
        answer = CUDNN_STATUS_INTERNAL_ERROR;
        CHECK_INT(cudnnGetTensorNdDescriptor(tensor, 3, &type, &rank, v, v + 4), answer);
        CHECK_SEEN("get nd", AT(tensor), 3, AT(&type), AT(&rank), AT(v), AT(v + 4));
        CHECK_INT(cudnnGetTensor4dDescriptor(tensor, &type, v, v + 1, v + 2, v + 3, v + 4, v + 5,
                                             v + 6, v + 7),
                  answer);
        CHECK_SEEN("get 4d", AT(tensor), AT(&type), AT(v), AT(v + 1), AT(v + 2), AT(v + 3),
                   AT(v + 4), AT(v + 5), AT(v + 6), AT(v + 7));
        CHECK_INT(cudnnGetTensorSizeInBytes(tensor, &bytes), answer);
        CHECK_SEEN("bytes", AT(tensor), AT(&bytes));
        CHECK_INT(cudnnGetConvolutionNdForwardOutputDim(window, tensor, filter, 4, v), answer);
        CHECK_SEEN("output nd", AT(window), AT(tensor), AT(filter), 4, AT(v));
        CHECK_INT(
            cudnnGetConvolution2dForwardOutputDim(window, tensor, filter, v, v + 1, v + 2, v + 3),
            answer);
        CHECK_SEEN("output 2d", AT(window), AT(tensor), AT(filter), AT(v), AT(v + 1), AT(v + 2),
                   AT(v + 3));
        CHECK_INT(cudnnDestroyTensorDescriptor(tensor), answer);
        CHECK_SEEN("destroy", AT(tensor));
        CHECK_INT(seen.calls, 6);
    }
}

/* Before cuDNN has the address back. */
static void what_is_destroyed_is_forgotten(void)
{
    struct cs_oversized_tensor large;
    note_wide_tensor();
    answer = CUDNN_STATUS_SUCCESS;
    CHECK(cs_oversized_tensor_find(tensor, &large));
    CHECK_INT(cudnnDestroyTensorDescriptor(tensor), CUDNN_STATUS_SUCCESS);
    CHECK(!cs_oversized_tensor_find(tensor, &large));
    CHECK_INT(seen.calls, 1);
}

int main(void)
{
    TEST(every_setter_passes_its_arguments_on);
    TEST(what_every_setter_was_refused_is_noted);
    TEST(what_cannot_be_noted_is_refused_again);
    TEST(as_many_dimensions_are_answered_as_were_asked_for);
    TEST(what_is_not_asked_for_is_not_answered);
    TEST(each_of_four_dimensions_is_answered_alone);
    TEST(a_stride_that_no_int_holds_is_not_answered);
    TEST(its_bytes_are_answered);
    TEST(its_outputs_extents_are_answered);
    TEST(every_query_passes_its_arguments_on);
    TEST(what_is_destroyed_is_forgotten);
    return REPORT();
}
