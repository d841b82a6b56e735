/* The search of cuDNN on the caller's memory: which algorithms are timed again as they are tiled,
 * what is said of them, in which order, and what of that is lost when the driver fails. */
#include "intercept/legacy/find_algorithm.h"

#include "legacy_fixture.h"

enum {
    MOST = 8
};

static const cudnnStatus_t not_supported = CUDNN_STATUS_NOT_SUPPORTED;

static struct {
    cs_legacy_result found[MOST]; /* by cuDNN */
    int count;
    cudnnStatus_t status;                  /* of its search */
    size_t required[MOST], reported[MOST]; /* by algorithm; required 0: asking fails */
    int asked_for;                         /* results, of cuDNN */
    int runs[MOST];                        /* of an algorithm */
    size_t provided;                       /* to the last one */
    cudnnMathType_t math;                  /* likewise */
    bool whole;                            /* nothing is tiled after all */
    int run_status;
    int created, destroyed, recorded, calls, fails_at; /* of the driver; from 1 */
} fake;

size_t cs_legacy_report_as(struct cs *cs, const struct cs_legacy_call *call, size_t required)
{
    (void)cs;
    CHECK_INT(required, fake.required[call->algorithm]);
    return fake.reported[call->algorithm];
}

void cs_legacy_report_results(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_legacy_results *results)
{
    (void)cs, (void)call, (void)results;
    CHECK(false);
}

bool cs_legacy_try(struct cs *cs, const struct cs_legacy_call *call, int *status_p)
{
    (void)cs;
    fake.runs[call->algorithm]++;
    fake.provided = call->execution.provided;
    fake.math = call->math;
    *status_p = fake.run_status;
    return !fake.whole;
}

static CUresult driver_status(void)
{
    return ++fake.calls == fake.fails_at ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
    CHECK_INT(flags, CU_EVENT_DEFAULT);
    CUresult status = driver_status();
    if (status == CUDA_SUCCESS)
        *event = (CUevent)(void *)&memory[fake.created++];
    return status;
}

static CUresult event_destroy(CUevent event)
{
    CHECK(event != NULL);
    fake.destroyed++;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    CHECK((void *)event == &memory[fake.created - 2 + fake.recorded++ % 2]);
    CHECK((void *)stream == memory);
    return driver_status();
}

static CUresult event_synchronize(CUevent event)
{
    CHECK((void *)event == &memory[fake.created - 1]);
    return driver_status();
}

/* Longer the first time. */
static CUresult event_elapsed(float *time, CUevent begin, CUevent end)
{
    CHECK((void *)begin == &memory[fake.created - 2] && (void *)end == &memory[fake.created - 1]);
    CUresult status = driver_status();
    if (status == CUDA_SUCCESS)
        *time = fake.recorded % 4 == 2 ? 50 : 5;
    return status;
}

static cudnnStatus_t get_stream(cudnnHandle_t handle, cudaStream_t *stream)
{
    (void)handle;
    *stream = (cudaStream_t)(void *)memory;
    return driver_status() == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t get_math(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t *found)
{
    (void)descriptor;
    *found = CUDNN_FMA_MATH;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t size_of(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                             const cudnnFilterDescriptor_t filter,
                             const cudnnConvolutionDescriptor_t window,
                             const cudnnTensorDescriptor_t out, cudnnConvolutionFwdAlgo_t algorithm,
                             size_t *bytes)
{
    (void)handle, (void)in, (void)filter, (void)window, (void)out;
    *bytes = fake.required[algorithm];
    return *bytes > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t search(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                            const void *in_data, const cudnnFilterDescriptor_t filter,
                            const void *filter_data, const cudnnConvolutionDescriptor_t window,
                            const cudnnTensorDescriptor_t out, void *out_data, int most,
                            int *returned, cudnnConvolutionFwdAlgoPerf_t *result, void *workspace,
                            size_t bytes)
{
    (void)handle, (void)in, (void)in_data, (void)filter, (void)filter_data, (void)window, (void)out;
    (void)out_data, (void)workspace, (void)bytes;
    fake.asked_for = most;
    if (fake.status == CUDNN_STATUS_SUCCESS && returned && result) {
        *returned = fake.count;
        memcpy(result, fake.found, (size_t)fake.count * sizeof *result);
    }
    return fake.status;
}

/* A call that brings as much. cuDNN finds nothing yet. */
static struct cs_legacy_call start(size_t provided)
{
    struct cs_legacy_call call = sound(CS_FORWARD);
    memset(&fake, 0, sizeof fake);
    vendor.cudnnGetConvolutionMathType = get_math;
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_of;
    vendor.cudnnFindConvolutionForwardAlgorithmEx = search;
    vendor.cudnnGetStream = get_stream;
    driver = (struct cs_driver){.cuEventCreate = event_create,
                                .cuEventDestroy_v2 = event_destroy,
                                .cuEventRecord = event_record,
                                .cuEventSynchronize = event_synchronize,
                                .cuEventElapsedTime = event_elapsed};
    call.execution.provided = provided;
    return call;
}

/* One more result of cuDNN's, of the next algorithm, and what is reported for that. */
static void add(cudnnStatus_t status, float time, size_t required, size_t reported)
{
    int algorithm = fake.count++;
    fake.found[algorithm] = (cs_legacy_result){.algo = (cudnnConvolutionFwdAlgo_t)algorithm,
                                               .status = status,
                                               .time = time,
                                               .memory = required,
                                               .mathType = CUDNN_TENSOR_OP_MATH};
    fake.required[algorithm] = required;
    fake.reported[algorithm] = reported;
}

static void what_is_reported_less_is_timed_anew(void)
{
    static const struct {
        cudnnStatus_t status;
        size_t required, reported, provided;
        bool anew;
    } rows[] = {{CUDNN_STATUS_SUCCESS, 1000, 1000, 1000, false},
                {CUDNN_STATUS_SUCCESS, 1000, 999, 1000, true},
                {CUDNN_STATUS_SUCCESS, 1000, 0, 1000, true},
                {CUDNN_STATUS_SUCCESS, 1000, 100, 99, false},
                {CUDNN_STATUS_SUCCESS, 1000, 100, 100, true},
                {CUDNN_STATUS_SUCCESS, 0, 0, 1000, false},
                {CUDNN_STATUS_NOT_SUPPORTED, 1000, 100, 500, true},
                {CUDNN_STATUS_NOT_SUPPORTED, 501, 100, 500, true},
                {CUDNN_STATUS_NOT_SUPPORTED, 500, 100, 500, false},
                {CUDNN_STATUS_NOT_SUPPORTED, 0, 0, 500, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cs_legacy_result result[1];
        int returned = 0;
        const struct cs_legacy_results to = {1, &returned, result};
        const bool anew = rows[i].anew, ran = rows[i].status == CUDNN_STATUS_SUCCESS;
        struct cs_legacy_call call = start(rows[i].provided);
        add(rows[i].status, 77, rows[i].required, rows[i].reported);
        CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
        CHECK_INT(returned, 1);
        CHECK_INT(fake.runs[0], anew ? 2 : 0);
        CHECK_INT(result[0].time, anew ? 5 : 77);
        CHECK_INT(result[0].memory, anew ? rows[i].reported : rows[i].required);
        CHECK_INT(result[0].status, anew ? CUDNN_STATUS_SUCCESS : rows[i].status);
        CHECK_INT(result[0].mathType, anew && !ran ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH);
        if (anew) {
            CHECK_INT(fake.provided, rows[i].reported);
            CHECK_INT(fake.math, result[0].mathType);
        }
        CHECK_INT(fake.created, anew ? 2 : 0);
        CHECK_INT(fake.destroyed, fake.created);
        CHECK_INT(call.execution.provided, rows[i].provided);
    }
}

/* What ran comes first, the fastest first, and no more than were asked for. */
static void all_are_put_in_order(void)
{
    enum {
        FOUND = 6
    };
    static const int order[FOUND] = {4, 3, 0, 5, 2, 1};
    for (int requested = 1; requested <= FOUND + 1; requested++) {
        cs_legacy_result result[FOUND + 1];
        int returned = 0;
        const struct cs_legacy_results to = {requested, &returned, result};
        struct cs_legacy_call call = start(1000);
        memset(result, 0, sizeof result);
        add(CUDNN_STATUS_SUCCESS, 10, 1000, 1000);
        add(not_supported, 2, 0, 0);
        add(not_supported, 1, 0, 0);
        add(CUDNN_STATUS_SUCCESS, 20, 1000, 100); /* in 5 */
        add(CUDNN_STATUS_SUCCESS, 4, 1000, 1000);
        add(CUDNN_STATUS_SUCCESS, 11, 1000, 1000);
        CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
        CHECK(fake.asked_for > FOUND + 1);
        CHECK_INT(returned, requested < FOUND ? requested : FOUND);
        for (int i = 0; i < returned; i++)
            CHECK_INT(result[i].algo, order[i]);
        for (int i = returned; i < FOUND + 1; i++)
            CHECK_INT(result[i].memory, 0);
    }
}

/* Whichever call of the driver fails, what is tiled is not timed: nothing is left behind. */
static void failures_leave_it_untimed(void)
{
    int fails_at = 0, calls = 0;
    do {
        cs_legacy_result result[1];
        int returned = 0;
        const struct cs_legacy_results to = {1, &returned, result};
        struct cs_legacy_call call = start(500);
        add(not_supported, 77, 1000, 100);
        fake.fails_at = ++fails_at;
        CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
        calls = fake.calls;
        CHECK_INT(result[0].status, fails_at <= calls ? not_supported : CUDNN_STATUS_SUCCESS);
        CHECK_INT(result[0].mathType, fails_at <= calls ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH);
        CHECK_INT(fake.destroyed, fake.created);
    } while (fails_at <= calls);
    CHECK_INT(calls, 11);
    for (int whole = 0; whole < 2; whole++) {
        cs_legacy_result result[1];
        int returned = 0;
        const struct cs_legacy_results to = {1, &returned, result};
        struct cs_legacy_call call = start(500);
        add(not_supported, 77, 1000, 100);
        fake.whole = whole;
        fake.run_status = whole ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
        CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_SUCCESS);
        CHECK_INT(fake.runs[0], 1);
        CHECK_INT(result[0].status, not_supported);
        CHECK_INT(fake.destroyed, 2);
    }
}

/* With all that the caller gave, as cuDNN says what is wrong with it. */
static void what_is_no_question_is_cudnns(void)
{
    cs_legacy_result result[1];
    int returned = 77;
    const struct cs_legacy_results rows[] = {
        {0, &returned, result}, {-1, &returned, result}, {1, NULL, result}, {1, &returned, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_legacy_call call = start(500);
        fake.status = CUDNN_STATUS_BAD_PARAM;
        CHECK_INT(cs_find_algorithm_ex(NULL, &call, &rows[i]), CUDNN_STATUS_BAD_PARAM);
        CHECK_INT(fake.asked_for, rows[i].requested);
        CHECK_INT(returned, 77);
    }
    struct cs_legacy_call call = start(500);
    const struct cs_legacy_results to = {1, &returned, result};
    add(CUDNN_STATUS_SUCCESS, 77, 1000, 100);
    fake.status = CUDNN_STATUS_EXECUTION_FAILED;
    CHECK_INT(cs_find_algorithm_ex(NULL, &call, &to), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(returned, 77);
    CHECK_INT(fake.runs[0], 0);
}

int main(void)
{
    TEST(what_is_reported_less_is_timed_anew);
    TEST(all_are_put_in_order);
    TEST(failures_leave_it_untimed);
    TEST(what_is_no_question_is_cudnns);
    return REPORT();
}
