/* The search of cuDNN that allocates its own memory: with the tensors and no more workspace than
 * is reported, all of it freed; cuDNN's own where nothing is reported less or memory is short. */
#include "intercept/legacy/find_algorithm.h"

#include "legacy_fixture.h"

enum {
    WANTED = 1000,
    BLOCK = 4096
};

static struct {
    size_t reports;         /* of what requires WANTED */
    int allocated, freed;   /* blocks of device memory */
    int fails_at;           /* this allocation, from 1; 0: none */
    size_t asked[8];        /* bytes of each */
    int searches, searched; /* on memory that is given, on cuDNN's own */
    size_t provided;        /* to the former */
    const void *workspace;  /* likewise */
    int told;               /* results changed to what is reported */
} fake;
static _Alignas(64) char blocks[8][BLOCK];

size_t cs_legacy_report_as(struct cs *cs, const struct cs_legacy_call *call, size_t required)
{
    (void)cs, (void)call;
    CHECK_INT(required, WANTED);
    return fake.reports;
}

bool cs_legacy_try(struct cs *cs, const struct cs_legacy_call *call, int *status_p)
{
    (void)cs, (void)call, (void)status_p;
    return false;
}

void cs_legacy_report_results(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_legacy_results *results)
{
    (void)cs, (void)call;
    CHECK_INT(*results->returned, 1);
    fake.told++;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    if (fake.allocated + 1 == fake.fails_at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fake.asked[fake.allocated] = bytes;
    *address = (CUdeviceptr)(uintptr_t)blocks[fake.allocated++];
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address)
{
    CHECK((char *)(uintptr_t)address >= blocks[0]);
    fake.freed++;
    return CUDA_SUCCESS;
}

static cudnnStatus_t size_of(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                             const cudnnFilterDescriptor_t filter,
                             const cudnnConvolutionDescriptor_t window,
                             const cudnnTensorDescriptor_t out, cudnnConvolutionFwdAlgo_t algorithm,
                             size_t *bytes)
{
    (void)handle, (void)in, (void)filter, (void)window, (void)out;
    *bytes = WANTED;
    return algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT ? CUDNN_STATUS_SUCCESS
                                                        : CUDNN_STATUS_BAD_PARAM;
}

static void answer(int *returned, cudnnConvolutionFwdAlgoPerf_t *result)
{
    *returned = 1;
    result[0] = (cudnnConvolutionFwdAlgoPerf_t){
        .algo = CUDNN_CONVOLUTION_FWD_ALGO_GEMM, .status = CUDNN_STATUS_SUCCESS, .memory = WANTED};
}

static cudnnStatus_t search_in(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                               const void *in_data, const cudnnFilterDescriptor_t filter,
                               const void *filter_data, const cudnnConvolutionDescriptor_t window,
                               const cudnnTensorDescriptor_t out, void *out_data, int most,
                               int *returned, cudnnConvolutionFwdAlgoPerf_t *result,
                               void *workspace, size_t bytes)
{
    (void)handle, (void)in, (void)filter, (void)window, (void)out, (void)most;
    CHECK(in_data == blocks[CS_X] && filter_data == blocks[CS_FILTER] && out_data == blocks[CS_Y]);
    fake.searches++;
    fake.provided = bytes;
    fake.workspace = workspace;
    answer(returned, result);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t search(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                            const cudnnFilterDescriptor_t filter,
                            const cudnnConvolutionDescriptor_t window,
                            const cudnnTensorDescriptor_t out, int most, int *returned,
                            cudnnConvolutionFwdAlgoPerf_t *result)
{
    (void)handle, (void)in, (void)filter, (void)window, (void)out, (void)most;
    fake.searched++;
    answer(returned, result);
    return CUDNN_STATUS_SUCCESS;
}

static bool indescribable;

/* One search where WANTED is reported as `reports`, and where allocation `fails_at` fails. */
static void find(size_t reports, int fails_at)
{
    cudnnConvolutionFwdAlgoPerf_t result[2];
    int returned = 0;
    const struct cs_legacy_results to = {2, &returned, result};
    struct cs_legacy_call call = sound(CS_FORWARD);
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_of;
    vendor.cudnnFindConvolutionForwardAlgorithmEx = search_in;
    vendor.cudnnFindConvolutionForwardAlgorithm = search;
    driver = (struct cs_driver){.cuMemAlloc_v2 = allocate, .cuMemFree_v2 = release};
    memset(&fake, 0, sizeof fake);
    fake.reports = reports;
    fake.fails_at = fails_at;
    call.execution = (struct cs_legacy_execution){NULL};
    if (indescribable)
        x.rank = 2;
    CHECK_INT(cs_find_algorithm(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
    CHECK_INT(returned, 1);
    CHECK_INT(result[0].memory, fake.searches ? reports : WANTED);
    CHECK_INT(fake.freed, fake.allocated);
}

static void in_what_is_reported(void)
{
    find(100, 0);
    CHECK_INT(fake.searches, 1);
    CHECK_INT(fake.searched, 0);
    CHECK_INT(fake.allocated, CS_OPERANDS + 1);
    CHECK_INT(fake.asked[CS_OPERANDS], 100);
    CHECK_INT(fake.provided, 100);
    CHECK(fake.workspace == blocks[CS_OPERANDS]);
}

static void in_no_workspace_at_all(void)
{
    find(0, 0);
    CHECK_INT(fake.searches, 1);
    CHECK_INT(fake.allocated, CS_OPERANDS);
    CHECK_INT(fake.provided, 0);
    CHECK(fake.workspace == NULL);
}

static void by_cudnn_where_nothing_is_less(void)
{
    find(WANTED, 0);
    CHECK_INT(fake.searched, 1);
    CHECK_INT(fake.searches + fake.allocated + fake.told, 0);
}

static void by_cudnn_where_memory_is_short(void)
{
    for (int fails_at = 1; fails_at <= CS_OPERANDS + 1; fails_at++) {
        find(100, fails_at);
        CHECK_INT(fake.searched, 1);
        CHECK_INT(fake.searches, 0);
        CHECK_INT(fake.allocated, fails_at - 1);
        CHECK_INT(fake.told, 1);
    }
}

static void by_cudnn_where_the_tensors_are_none(void)
{
    indescribable = true;
    find(100, 0);
    CHECK_INT(fake.searched, 1);
    CHECK_INT(fake.searches + fake.allocated, 0);
    CHECK_INT(fake.told, 1);
    indescribable = false;
}

int main(void)
{
    TEST(in_what_is_reported);
    TEST(in_no_workspace_at_all);
    TEST(by_cudnn_where_nothing_is_less);
    TEST(by_cudnn_where_memory_is_short);
    TEST(by_cudnn_where_the_tensors_are_none);
    return REPORT();
}
