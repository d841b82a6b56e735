/* The exported functions, on a cuDNN that the test provides: every argument and status is passed
 * on, and only calls that cuDNN has accepted are recorded. */
#include "intercept/entry/entry.h"

#include "base/nest.h"
#include "entry_fixture.h"
#include "intercept/graph/shadow.h"

enum {
    MOST = 18, /* arguments of any entry */
    SOME_STATUS = 4321
};

typedef uintptr_t any_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                         uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                         uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static _Alignas(256) char room[MOST + 1][256]; /* argument i is the address of room[i] */
static uintptr_t seen[MOST];
static int calls, answer;

/* The function of each slot. Integer and pointer arguments are passed in the same places, so this
 * one has as many as any. */
#define PLACE(i) (uintptr_t)(room[i] + i)
static uintptr_t record(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
                        uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t i, uintptr_t j,
                        uintptr_t k, uintptr_t l, uintptr_t m, uintptr_t n, uintptr_t o,
                        uintptr_t p, uintptr_t q, uintptr_t r)
{
    const uintptr_t all[MOST] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};
    memcpy(seen, all, sizeof seen);
    calls++;
    return (uintptr_t)(unsigned)answer;
}

/* An entry, its slot, and the number of its arguments. */
#define ENTRIES(ENTRY)                                                                             \
    ENTRY(cudnnBackendCreateDescriptor, 2)                                                         \
    ENTRY(cudnnBackendDestroyDescriptor, 1)                                                        \
    ENTRY(cudnnBackendExecute, 3)                                                                  \
    ENTRY(cudnnBackendFinalize, 1)                                                                 \
    ENTRY(cudnnBackendGetAttribute, 6)                                                             \
    ENTRY(cudnnBackendInitialize, 1)                                                               \
    ENTRY(cudnnBackendPopulateCudaGraph, 4)                                                        \
    ENTRY(cudnnBackendSetAttribute, 5)                                                             \
    ENTRY(cudnnBackendUpdateCudaGraph, 4)                                                          \
    ENTRY(cudnnConvolutionBackwardData, 13)                                                        \
    ENTRY(cudnnConvolutionBackwardFilter, 13)                                                      \
    ENTRY(cudnnConvolutionBiasActivationForward, 18)                                               \
    ENTRY(cudnnConvolutionForward, 13)                                                             \
    ENTRY(cudnnCreate, 1)                                                                          \
    ENTRY(cudnnDestroy, 1)                                                                         \
    ENTRY(cudnnFindConvolutionBackwardDataAlgorithm, 8)                                            \
    ENTRY(cudnnFindConvolutionBackwardDataAlgorithmEx, 13)                                         \
    ENTRY(cudnnFindConvolutionBackwardFilterAlgorithm, 8)                                          \
    ENTRY(cudnnFindConvolutionBackwardFilterAlgorithmEx, 13)                                       \
    ENTRY(cudnnFindConvolutionForwardAlgorithm, 8)                                                 \
    ENTRY(cudnnFindConvolutionForwardAlgorithmEx, 13)                                              \
    ENTRY(cudnnGetConvolutionBackwardDataAlgorithm_v7, 8)                                          \
    ENTRY(cudnnGetConvolutionBackwardDataWorkspaceSize, 7)                                         \
    ENTRY(cudnnGetConvolutionBackwardFilterAlgorithm_v7, 8)                                        \
    ENTRY(cudnnGetConvolutionBackwardFilterWorkspaceSize, 7)                                       \
    ENTRY(cudnnGetConvolutionForwardAlgorithm_v7, 8)                                               \
    ENTRY(cudnnGetConvolutionForwardWorkspaceSize, 7)

static const struct {
    const char *name;
    size_t slot;
    void (*entry)(void);
    int arguments;
} entries[] = {
#define ENTRY(name, arguments)                                                                     \
    {#name, offsetof(struct cs_real, name), (void (*)(void))name, arguments},
    ENTRIES(ENTRY)
#undef ENTRY
};
enum {
    COUNT = sizeof entries / sizeof *entries
};
enum {
#define CS_ENTRY(name, part) LISTED_##name,
#include "intercept/entry/entries.def"
#undef CS_ENTRY
    LISTED
};
_Static_assert((int)COUNT == (int)LISTED, "an entry has no row");

static uintptr_t call(any_fn *function)
{
    return function(PLACE(0), PLACE(1), PLACE(2), PLACE(3), PLACE(4), PLACE(5), PLACE(6), PLACE(7),
                    PLACE(8), PLACE(9), PLACE(10), PLACE(11), PLACE(12), PLACE(13), PLACE(14),
                    PLACE(15), PLACE(16), PLACE(17));
}

/* Integers are the lower half of an argument. */
static void check_passed_on(bool nested)
{
    for (int i = 0; i < COUNT; i++) {
        void *any = (void *)record;
        CASE("%s", entries[i].name);
        vendor = (struct cs_real){0};
        memcpy((char *)&vendor + entries[i].slot, &any, sizeof any);
        memset(seen, 0, sizeof seen);
        calls = 0;
        answer = SOME_STATUS;
        CHECK_INT((int)call((any_fn *)entries[i].entry), SOME_STATUS);
        CHECK(calls >= 1 && calls <= (nested ? 1 : 2));
        /* The library asks for all results of a search. */
        int same = !nested && strstr(entries[i].name, "Find") ? 0 : entries[i].arguments;
        for (int k = 0; k < same; k++)
            CHECK_INT((unsigned)seen[k], (unsigned)PLACE(k));
    }
}

static void nested_calls_reach_cudnn_unchanged(void)
{
    cs_nest_enter();
    check_passed_on(true);
    cs_nest_leave();
}

/* A run that cuDNN refuses is tried once more, after its description has failed. */
static void refused_calls_return_cudnns_status(void)
{
    check_passed_on(false);
}

/* --- records --- */

static char object[64];
static cudnnStatus_t status;

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
    (void)type;
    *made = object;
    return status;
}

static cudnnStatus_t take_one(cudnnBackendDescriptor_t descriptor)
{
    CHECK(descriptor == object);
    return status;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    (void)name, (void)type, (void)count, (void)elements;
    return take_one(descriptor);
}

static void backend_start(void)
{
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = create,
                              .cudnnBackendDestroyDescriptor = take_one,
                              .cudnnBackendInitialize = take_one,
                              .cudnnBackendFinalize = take_one,
                              .cudnnBackendSetAttribute = set};
}

static cudnnStatus_t set_uid(int64_t uid)
{
    return cudnnBackendSetAttribute(object, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
}

static void refused_attribute_is_not_recorded(void)
{
    cudnnBackendDescriptor_t made;
    backend_start();
    status = CUDNN_STATUS_ALLOC_FAILED;
    CHECK_INT(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made), status);
    CHECK(!cs_shadow_find(object));
    status = CUDNN_STATUS_SUCCESS;
    CHECK_INT(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made), status);
    const struct cs_shadow *shadow = cs_shadow_find(object);
    CHECK(shadow && shadow->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    CHECK_INT(set_uid(7), status);
    CHECK_INT(shadow->tensor.uid, 7);
    status = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(set_uid(8), status);
    CHECK_INT(shadow->tensor.uid, 7);
    CHECK_INT(cudnnBackendInitialize(object), status);
    CHECK_INT(cs_shadow_find(object)->tensor.uid, 7);
    status = CUDNN_STATUS_SUCCESS;
    CHECK_INT(cudnnBackendInitialize(object), status);
    CHECK(cs_shadow_find(object)->tensor.uid != 7);
    status = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(cudnnBackendDestroyDescriptor(object), status);
    CHECK(!cs_shadow_find(object)); /* the address may be used again at once */
}

/* Of the graph, the plan and the pack, the finalized ones alone. */
static void refused_finalization_is_not_recorded(void)
{
    cudnnBackendDescriptor_t made;
    backend_start();
    for (int turn = 0; turn < 2; turn++) {
        status = CUDNN_STATUS_SUCCESS;
        (void)cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &made);
        status = turn == 0 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
        CHECK_INT(cudnnBackendFinalize(object), status);
        CHECK_INT(cs_shadow_find(object)->graph != NULL, turn == 1);
        (void)cudnnBackendDestroyDescriptor(object);
        status = CUDNN_STATUS_SUCCESS;
        (void)cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &made);
        status = turn == 0 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
        CHECK_INT(cudnnBackendFinalize(object), status);
        CHECK_INT(cs_shadow_find(object)->pack.finalized, turn == 1);
        (void)cudnnBackendDestroyDescriptor(object);
    }
}

static int64_t told;
static const int64_t size_now = 123456;

static cudnnStatus_t get_size(const cudnnBackendDescriptor_t descriptor,
                              cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              int64_t requested, int64_t *count, void *elements)
{
    (void)name, (void)type, (void)requested;
    if (count)
        *count = told;
    if (elements)
        memcpy(elements, &size_now, sizeof size_now);
    return take_one((cudnnBackendDescriptor_t)descriptor);
}

/* Without a convolution the size of any descriptor is cuDNN's. */
static void sizes_without_a_convolution_are_cudnns(void)
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t name;
    } rows[] = {{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE},
                {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE},
                {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID}};
    cudnnBackendDescriptor_t made;
    backend_start();
    vendor.cudnnBackendGetAttribute = get_size;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        status = CUDNN_STATUS_SUCCESS;
        (void)cudnnBackendCreateDescriptor(rows[i].type, &made);
        for (told = 0; told < 3; told++) {
            int64_t size = 0, count = -1;
            CHECK_INT(
                cudnnBackendGetAttribute(object, rows[i].name, CUDNN_TYPE_INT64, 1, &count, &size),
                status);
            CHECK_INT(count, told);
            CHECK_INT(size, size_now);
            CHECK_INT(
                cudnnBackendGetAttribute(object, rows[i].name, CUDNN_TYPE_INT64, 1, NULL, &size),
                status);
            CHECK_INT(
                cudnnBackendGetAttribute(object, rows[i].name, CUDNN_TYPE_INT64, 0, &count, NULL),
                status);
        }
        (void)cudnnBackendDestroyDescriptor(object);
    }
}

/* --- legacy queries --- */

static cudnnStatus_t get_bytes(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                               const cudnnFilterDescriptor_t w,
                               const cudnnConvolutionDescriptor_t conv,
                               const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                               size_t *bytes)
{
    (void)handle, (void)x, (void)w, (void)conv, (void)y, (void)algorithm;
    calls++;
    if (!bytes)
        return CUDNN_STATUS_BAD_PARAM;
    *bytes = (size_t)size_now;
    return status;
}

/* Of descriptors that cannot be read: cuDNN's size and status. */
static void size_of_an_unknown_convolution_is_cudnns(void)
{
    static const cudnnStatus_t rows[] = {CUDNN_STATUS_SUCCESS, CUDNN_STATUS_NOT_SUPPORTED};
    vendor = (struct cs_real){.cudnnGetConvolutionForwardWorkspaceSize = get_bytes};
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = 1;
        status = rows[i];
        CHECK_INT(cudnnGetConvolutionForwardWorkspaceSize(NULL, NULL, NULL, NULL, NULL,
                                                          CUDNN_CONVOLUTION_FWD_ALGO_GEMM, &bytes),
                  status);
        CHECK_INT(bytes, size_now);
    }
    calls = 0;
    CHECK_INT(cudnnGetConvolutionForwardWorkspaceSize(NULL, NULL, NULL, NULL, NULL,
                                                      CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL),
              CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(calls, 1);
}

int main(void)
{
    setenv("CONVSHIM_CONFIG", "summary=off", 1);
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
    TEST(nested_calls_reach_cudnn_unchanged);
    TEST(refused_calls_return_cudnns_status);
    TEST(refused_attribute_is_not_recorded);
    TEST(refused_finalization_is_not_recorded);
    TEST(sizes_without_a_convolution_are_cudnns);
    TEST(size_of_an_unknown_convolution_is_cudnns);
    return REPORT();
}
