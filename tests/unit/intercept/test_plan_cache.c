/* What was prepared for a legacy call serves the next one that is the same in everything that the
 * choice of an engine depends on, on the same handle, until that is destroyed. */
#include "intercept/legacy/plan_cache.h"

#include "cudnn/run/launcher.h"
#include "cudnn/run/timing.h"
#include "fake_device.h"
#include "flow/scoped_limit.h"
#include "heap.h"
#include "intercept/entry/entry.h"
#include "intercept/legacy/dispatch.h"
#include "intercept/legacy/query_filter.h"
#include "legacy_fixture.h"

static struct {
    int prepared, discarded, destroyed, run, passed;
    unsigned forbidden; /* to the engine that was picked last */
    int64_t engine;     /* that was prepared with last */
    bool none;          /* is picked */
    int64_t tells;
} fake;
static int64_t limit; /* of the program */
static bool limited;
static struct cs *instance;
static char handles[2][16];

enum {
    WANTED = 1000,
    TOLD = 100,
    RUN_STATUS = 3001
};

int cs_intercept_from(struct cs_entry_call *call, const void *caller)
{
    (void)caller;
    return call->handle(instance, call);
}

void cs_engine_choice_init(struct cs_engine_choice *choice, const struct cs_problem *whole,
                           const int64_t uid[CS_MAX_TENSORS], cudnnHandle_t handle)
{
    (void)whole, (void)uid;
    memset(choice, 0, sizeof *choice);
    choice->target.handle = handle;
}

void cs_engine_choice_fini(struct cs_engine_choice *choice)
{
    (void)choice;
}

bool cs_engine_choice_pick(struct cs_engine_choice *choice, unsigned forbidden)
{
    fake.forbidden = forbidden;
    choice->engine.index = 42;
    return !fake.none;
}

int64_t cs_engine_choice_scope(const struct cs_engine_choice *choice)
{
    return (int64_t)(intptr_t)choice->target.handle;
}

struct cs_vendor cs_timing_vendor(struct cs_engine_choice *choice)
{
    return (struct cs_vendor){.ctx = choice};
}

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p)
{
    *stream_p = NULL;
    return (struct cs_gpu){.ctx = launcher};
}

int64_t cs_scoped_limit(void)
{
    return limit;
}

bool cs_scoped_limit_used(void)
{
    return limited;
}

bool cs_flow_small(const struct cs *cs, int64_t required)
{
    (void)cs;
    return required < WANTED;
}

static void destroy_fallback(void *fallback)
{
    CHECK(fallback == &fake);
    CHECK_INT(fake.destroyed, 0); /* plans go before the handle that they were built with */
    fake.discarded++;
}

struct cs_verdict cs_flow_prepare(struct cs *cs, const struct cs_request *request,
                                  const struct cs_vendor *made_for)
{
    (void)cs, (void)made_for;
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    CHECK(rewrite != NULL);
    *rewrite = (struct cs_rewrite){.fallback = &fake, .destroy = destroy_fallback};
    fake.prepared++;
    fake.engine = request->engine.index;
    return (struct cs_verdict){
        .reported = request->limit > 0 ? request->limit : TOLD + fake.prepared,
        .rewrite = rewrite,
    };
}

struct cs_verdict cs_flow_runs_ours(struct cs *cs, const struct cs_request *request,
                                    const struct cs_vendor *made_for)
{
    return cs_flow_prepare(cs, request, made_for);
}

bool cs_flow_lends_scratch(const struct cs *cs, int64_t provided)
{
    (void)cs, (void)provided;
    return false;
}

int cs_flow_run(struct cs *cs, const struct cs_verdict *verdict, const struct cs_gpu *gpu,
                const struct cs_call *call)
{
    (void)cs, (void)gpu, (void)call;
    CHECK(verdict->rewrite != NULL);
    fake.run++;
    return RUN_STATUS;
}

struct cs_outcome cs_flow_try(struct cs *cs, const struct cs_verdict *verdict,
                              const struct cs_gpu *gpu, const struct cs_call *call)
{
    return (struct cs_outcome){.vendor = cs_flow_run(cs, verdict, gpu, call)};
}

void cs_flow_pass(struct cs *cs, const struct cs_verdict *verdict, enum cs_reason reason)
{
    (void)cs, (void)verdict, (void)reason;
    fake.passed++;
}

void cs_flow_watch(struct cs *cs, const struct cs_verdict *verdict,
                   const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    (void)cs, (void)verdict, (void)problem, (void)addresses;
}

static cudnnStatus_t destroy(cudnnHandle_t handle)
{
    CHECK((void *)handle == handles[0] || (void *)handle == handles[1]);
    fake.destroyed++;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnMathType_t math;
static size_t required_now; /* by cuDNN */

static cudnnStatus_t get_math(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t *found)
{
    CHECK((const void *)descriptor == &conv);
    *found = math;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t size_of(cudnnHandle_t handle, const cudnnTensorDescriptor_t in,
                             const cudnnFilterDescriptor_t filter,
                             const cudnnConvolutionDescriptor_t window,
                             const cudnnTensorDescriptor_t out, cudnnConvolutionFwdAlgo_t algorithm,
                             size_t *bytes)
{
    (void)handle, (void)in, (void)filter, (void)window, (void)out, (void)algorithm;
    *bytes = required_now;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnHandle_t handle_at(int number)
{
    return (cudnnHandle_t)(void *)handles[number];
}

static cudnnStatus_t destroy_handle(int number)
{
    fake.destroyed = 0;
    return cudnnDestroy(handle_at(number));
}

static struct cs_legacy_call start(void)
{
    instance = instance ? instance : calloc(1, sizeof *instance);
    struct cs_legacy_call call = sound(CS_FORWARD);
    vendor.cudnnDestroy = destroy;
    vendor.cudnnGetConvolutionMathType = get_math;
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_of;
    math = CUDNN_DEFAULT_MATH;
    required_now = WANTED;
    limit = 0;
    limited = false;
    for (int i = 0; i < 2; i++)
        CHECK_INT(destroy_handle(i), CUDNN_STATUS_SUCCESS);
    memset(&fake, 0, sizeof fake);
    call.handle = handle_at(0);
    call.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    call.execution.provided = WANTED / 2;
    return call;
}

/* How many calls are prepared to tell about one. */
static int prepared_for(struct cs_legacy_call call)
{
    int before = fake.prepared;
    CHECK(cs_legacy_report(instance, &call, WANTED) < WANTED);
    return fake.prepared - before;
}

static void the_same_call_is_prepared_once(void)
{
    struct cs_legacy_call call = start();
    CHECK_INT(prepared_for(call), 1);
    CHECK_INT(prepared_for(call), 0);
    CHECK_INT(cs_legacy_report(instance, &call, WANTED), TOLD + 1);
    CHECK_INT(cs_legacy_report(instance, &call, WANTED - 1), WANTED - 1);
    call.handle = handle_at(1);
    CHECK_INT(prepared_for(call), 1);
    x.extent[0] = y.extent[0] = 1;
    CHECK_INT(prepared_for(call), 1);
}

/* -1 is what summaries and rules know for none. */
static void a_call_without_an_engine_has_none(void)
{
    for (int none = 0; none < 2; none++) {
        struct cs_legacy_call call = start();
        fake.none = none;
        CHECK_INT(prepared_for(call), 1);
        CHECK_INT(fake.engine, none ? -1 : 42);
    }
}

/* One that requires so little that no tiles are thought of has an engine where the caller brings
 * less than even that. */
static void a_small_call_that_brings_less_has_an_engine(void)
{
    for (size_t provided = 0; provided <= 11; provided++) {
        struct cs_legacy_call call = start();
        int status = 0;
        required_now = 10;
        call.execution.provided = provided;
        CHECK(cs_legacy_try(instance, &call, &status));
        CHECK_INT(status, RUN_STATUS);
        CHECK_INT(fake.prepared, provided < 10 ? 2 : 1);
        CHECK_INT(fake.engine, provided < 10 ? 42 : -1);
    }
}

/* An engine that serves one of them may be forbidden to the other. */
static void each_math_type_has_an_engine_of_its_own(void)
{
    static const cudnnMathType_t types[] = {CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH,
                                            CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, CUDNN_FMA_MATH};
    const unsigned cores = 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    struct cs_legacy_call call = start();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            math = types[i];
            CHECK_INT(prepared_for(call), round == 0);
            if (round == 0)
                CHECK_INT((fake.forbidden & cores) != 0, types[i] == CUDNN_FMA_MATH);
        }
    }
}

static void each_algorithm_has_an_engine_of_its_own(void)
{
    struct cs_legacy_call call = start();
    for (int round = 0; round < 2; round++) {
        for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; algorithm++) {
            call.algorithm = algorithm;
            CHECK_INT(prepared_for(call), round == 0);
        }
    }
}

/* What was planned under one keeps its size. */
static void each_limit_of_the_program_has_its_own(void)
{
    struct cs_legacy_call call = start();
    CHECK_INT(prepared_for(call), 1);
    limit = TOLD;
    CHECK_INT(prepared_for(call), 1);
    CHECK_INT(cs_legacy_report(instance, &call, WANTED), TOLD + 2);
    limit = 0;
    CHECK_INT(prepared_for(call), 0);
    CHECK_INT(cs_legacy_report(instance, &call, WANTED), TOLD + 1);
}

/* Answers of ours go only where there is room for one. */
static void a_query_without_room_is_not_answered(void)
{
    struct cs_legacy_call call = start();
    cs_legacy_result result;
    int returned = 77;
    const struct cs_legacy_results given[] = {
        {.result = NULL, .returned = &returned, .requested = 1},
        {.result = &result, .returned = NULL, .requested = 1},
        {.result = &result, .returned = &returned, .requested = 0},
        {.result = &result, .returned = &returned, .requested = -1}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        CHECK(!cs_legacy_answer_oversized(instance, &call, &given[i]));
    CHECK_INT(returned, 77);
}

/* All that is taken for a handle's plans is given back with it. */
static void nothing_is_left_of_a_destroyed_handle(void)
{
    struct cs_legacy_call call = start();
    long long taken = heap_taken;
    for (int images = 1; images <= 20; images++) {
        x.extent[0] = y.extent[0] = images;
        CHECK_INT(prepared_for(call), 1);
    }
    CHECK(heap_taken > taken);
    CHECK_INT(destroy_handle(0), CUDNN_STATUS_SUCCESS);
    CHECK_INT(heap_taken, taken);
}

/* The next handle at the address may be another device's, and its plans are not those. */
static void a_destroyed_handle_takes_its_plans_with_it(void)
{
    struct cs_legacy_call call = start(), other = call;
    other.handle = handle_at(1);
    CHECK_INT(prepared_for(call), 1);
    CHECK_INT(prepared_for(other), 1);
    CHECK_INT(destroy_handle(0), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.destroyed, 1);
    CHECK_INT(fake.discarded, 1);
    CHECK_INT(prepared_for(other), 0);
    CHECK_INT(prepared_for(call), 1);
}

static void a_handle_with_many_shapes_starts_afresh(void)
{
    struct cs_legacy_call call = start();
    for (int images = 1; images <= 300; images++) {
        x.extent[0] = y.extent[0] = images;
        CHECK_INT(prepared_for(call), 1);
    }
    CHECK_INT(fake.discarded, 256);
    CHECK_INT(prepared_for(call), 0);
}

static int run(struct cs_legacy_call call, size_t provided)
{
    int status = -1;
    call.execution.provided = provided;
    return cs_legacy_run(instance, &call, &status) ? status : -1;
}

/* What was provided decides: all that is required, what was told, or less. */
static void what_was_brought_decides(void)
{
    struct cs_legacy_call call = start();
    CHECK_INT(prepared_for(call), 1);
    CHECK_INT(run(call, WANTED), -1);
    CHECK_INT(fake.passed, 1);
    CHECK_INT(run(call, WANTED - 1), RUN_STATUS);
    CHECK_INT(run(call, TOLD + 1), RUN_STATUS);
    CHECK_INT(fake.run, 2);
    CHECK_INT(fake.prepared, 1);
    CHECK_INT(run(call, TOLD), RUN_STATUS); /* within that: another decision */
    CHECK_INT(fake.prepared, 2);
    CHECK_INT(run(call, TOLD), RUN_STATUS);
    CHECK_INT(fake.prepared, 2);
    CHECK_INT(run(call, 0), RUN_STATUS);
    CHECK_INT(fake.prepared, 3);
}

/* It is cuDNN's to say so: tiles would run on what is missing. */
static void nothing_runs_without_an_operand(void)
{
    struct cs_legacy_call call = start();
    CHECK_INT(prepared_for(call), 1);
    for (int i = 0; i < CS_OPERANDS; i++) {
        struct cs_legacy_call less = call;
        less.execution.data[i] = NULL;
        CHECK_INT(run(less, TOLD + 1), -1);
        CHECK_INT(fake.passed, i + 1);
    }
    CHECK_INT(fake.run, 0);
    CHECK_INT(run(call, TOLD + 1), RUN_STATUS);
}

static struct {
    void *stream, *workspace;
    size_t provided;
    int runs;
} lent;

static cudnnStatus_t get_stream(cudnnHandle_t handle, cudaStream_t *stream)
{
    CHECK(handle == handle_at(0));
    *stream = lent.stream;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t run_fused(cudnnHandle_t handle, const void *alpha1,
                               const cudnnTensorDescriptor_t in, const void *in_data,
                               const cudnnFilterDescriptor_t filter, const void *filter_data,
                               const cudnnConvolutionDescriptor_t window,
                               cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t bytes,
                               const void *alpha2, const cudnnTensorDescriptor_t side,
                               const void *side_data, const cudnnTensorDescriptor_t shift,
                               const void *shift_data, const cudnnActivationDescriptor_t behind,
                               const cudnnTensorDescriptor_t out, void *out_data)
{
    (void)handle, (void)alpha1, (void)in, (void)in_data, (void)filter, (void)filter_data;
    (void)window, (void)algorithm, (void)alpha2, (void)side, (void)side_data, (void)shift;
    (void)shift_data, (void)behind, (void)out, (void)out_data;
    lent.workspace = workspace;
    lent.provided = bytes;
    lent.runs++;
    device_touch(lent.stream, workspace, (int64_t)bytes, true);
    return CUDNN_STATUS_SUCCESS;
}

/* What is fused does not tile; but its query, which does not know that, was answered with less. */
static void what_was_told_too_little_is_lent_the_rest(void)
{
    struct cs_legacy_call call = start(), larger;
    device_reset();
    cs_exec_init(&instance->exec, &fake_device_functions, CS_BACKING_AUTO, 1 << 20);
    lent.stream = device_new_stream();
    CHECK_INT(prepared_for(call), 1);
    larger = fused(&zero);
    vendor.cudnnGetConvolutionMathType = get_math;
    vendor.cudnnGetConvolutionForwardWorkspaceSize = size_of;
    vendor.cudnnGetStream = get_stream;
    vendor.cudnnConvolutionBiasActivationForward = run_fused;
    larger.handle = call.handle;
    larger.algorithm = call.algorithm;
    activation = CUDNN_ACTIVATION_TANH;
    for (int round = 1; round <= 2; round++) {
        CHECK_INT(run(larger, TOLD + 1), CUDNN_STATUS_SUCCESS);
        CHECK_INT(lent.runs, round);
        CHECK_INT(lent.provided, WANTED);
        CHECK(device_owns(lent.workspace, WANTED));
        CHECK_INT(cs_arena_facts(&instance->exec.arena).used, 0);
    }
    CHECK_INT(run(larger, TOLD), -1); /* less than it was told */
    limited = true;
    CHECK_INT(run(larger, TOLD), CUDNN_STATUS_SUCCESS); /* it may have been told under a limit */
    limited = false;
    CHECK_INT(run(larger, WANTED), -1); /* all that it needs */
    x.extent[0] = y.extent[0] = z.extent[0] = 1;
    CHECK_INT(run(larger, TOLD + 1), -1); /* nobody asked about this one */
    CHECK_INT(lent.runs, 3);
    CHECK_INT(fake_device.allocations, 1);
    CHECK_INT(fake_device.races + fake_device.misuses, 0);
    instance->exec.device = NULL;
}

/* What did not succeed has no workspace to be answered with less. */
static void results_that_succeeded_are_answered_with_less(void)
{
    static const struct {
        cudnnStatus_t status;
        size_t found, answered;
    } rows[] = {{CUDNN_STATUS_SUCCESS, WANTED, TOLD + 1},
                {CUDNN_STATUS_SUCCESS, WANTED - 1, WANTED - 1},
                {CUDNN_STATUS_NOT_SUPPORTED, WANTED, WANTED},
                {CUDNN_STATUS_ALLOC_FAILED, WANTED, WANTED}};
    enum {
        ROWS = sizeof rows / sizeof *rows
    };
    struct cs_legacy_call call = start();
    cs_legacy_result result[ROWS] = {0};
    for (int returned = 0; returned <= ROWS; returned++) {
        for (int i = 0; i < ROWS; i++) {
            result[i].status = rows[i].status;
            result[i].memory = rows[i].found;
            result[i].algo = CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
            result[i].mathType = CUDNN_DEFAULT_MATH;
        }
        const struct cs_legacy_results results = {ROWS, &returned, result};
        cs_legacy_report_results(instance, &call, &results);
        for (int i = 0; i < ROWS; i++)
            CHECK_INT(result[i].memory, i < returned ? rows[i].answered : rows[i].found);
    }
}

static int ran_by_cudnn;
static cudnnStatus_t ran_with;

static cudnnStatus_t run_whole(cudnnHandle_t handle, const void *alpha,
                               const cudnnTensorDescriptor_t in, const void *in_data,
                               const cudnnFilterDescriptor_t filter, const void *filter_data,
                               const cudnnConvolutionDescriptor_t window,
                               cudnnConvolutionFwdAlgo_t algorithm, void *workspace, size_t bytes,
                               const void *beta, const cudnnTensorDescriptor_t out, void *out_data)
{
    (void)handle, (void)alpha, (void)in, (void)in_data, (void)filter, (void)filter_data;
    (void)window, (void)algorithm, (void)workspace, (void)bytes, (void)beta, (void)out;
    (void)out_data;
    ran_by_cudnn++;
    return ran_with;
}

/* The application's call, where cuDNN's own answer would be `answer`. */
static int called(const struct cs_legacy_call *call, cudnnStatus_t answer)
{
    const struct cs_legacy_execution *how = &call->execution;
    vendor.cudnnConvolutionForward = run_whole;
    ran_by_cudnn = 0;
    ran_with = answer;
    return cudnnConvolutionForward(call->handle, how->alpha, call->x, how->data[CS_X], call->w,
                                   how->data[CS_FILTER], call->conv,
                                   (cudnnConvolutionFwdAlgo_t)call->algorithm, how->workspace,
                                   how->provided, how->beta, call->y, how->data[CS_Y]);
}

/* Before any query was answered with less, and after one about another algorithm: cuDNN runs it,
 * and it is looked at only where cuDNN refuses it, which may be for what another shape was told. */
static void what_no_query_met_is_passed_on_first(void)
{
    static const struct {
        cudnnStatus_t answer;
        bool refused;
    } rows[] = {{CUDNN_STATUS_SUCCESS, false},
                {CUDNN_STATUS_EXECUTION_FAILED, false},
                {CUDNN_STATUS_BAD_PARAM, true},
                {CUDNN_STATUS_NOT_SUPPORTED, true}};
    for (int met = 0; met < 2; met++) {
        struct cs_legacy_call call = start(), other = call;
        other.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_FFT;
        CHECK(met || cs_query_filter_empty());
        CHECK(!met || prepared_for(other) == 1);
        CHECK_INT(cs_query_filter_has(&other), met);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const bool again = met && rows[i].refused;
            CHECK_INT(destroy_handle(0), CUDNN_STATUS_SUCCESS);
            fake.passed = fake.run = 0;
            CHECK(cs_legacy_unfiltered(instance, &call));
            CHECK_INT(called(&call, rows[i].answer), again ? RUN_STATUS : (int)rows[i].answer);
            CHECK_INT(ran_by_cudnn, 1);
            CHECK_INT(fake.passed, !again);
            CHECK_INT(fake.run, again);
        }
    }
}

/* What a query met, and everything where somebody wants to know of each call. */
static void what_is_looked_at_is_looked_at_first(void)
{
    struct cs_legacy_call call = start();
    CHECK_INT(prepared_for(call), 1);
    CHECK(!cs_legacy_unfiltered(instance, &call));
    CHECK_INT(called(&call, CUDNN_STATUS_SUCCESS), RUN_STATUS);
    CHECK_INT(ran_by_cudnn, 0);
    call.execution.provided = WANTED;
    CHECK_INT(called(&call, CUDNN_STATUS_SUCCESS), CUDNN_STATUS_SUCCESS);
    CHECK_INT(ran_by_cudnn, 1);
    call.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
    CHECK(cs_legacy_unfiltered(instance, &call));
    instance->config.interleave = CS_INTERLEAVE_STAGE;
    CHECK(!cs_legacy_unfiltered(instance, &call));
    instance->config.interleave = CS_INTERLEAVE_OFF;
    instance->config.summary.form = CS_SUMMARY_JSON;
    CHECK(!cs_legacy_unfiltered(instance, &call));
    instance->config.summary.form = CS_SUMMARY_TEXT;
    CHECK(cs_legacy_unfiltered(instance, &call));
    instance->limits.huge = 1; /* some query met something */
    CHECK(!cs_legacy_unfiltered(instance, &call));
    instance->limits.huge = 0;
    CHECK(cs_legacy_unfiltered(instance, &call));
}

int main(void)
{
    heap_watch();
    TEST(what_no_query_met_is_passed_on_first);
    TEST(what_is_looked_at_is_looked_at_first);
    TEST(the_same_call_is_prepared_once);
    TEST(a_call_without_an_engine_has_none);
    TEST(a_small_call_that_brings_less_has_an_engine);
    TEST(each_math_type_has_an_engine_of_its_own);
    TEST(each_algorithm_has_an_engine_of_its_own);
    TEST(each_limit_of_the_program_has_its_own);
    TEST(nothing_is_left_of_a_destroyed_handle);
    TEST(a_query_without_room_is_not_answered);
    TEST(a_destroyed_handle_takes_its_plans_with_it);
    TEST(a_handle_with_many_shapes_starts_afresh);
    TEST(what_was_brought_decides);
    TEST(nothing_runs_without_an_operand);
    TEST(what_was_told_too_little_is_lent_the_rest);
    TEST(results_that_succeeded_are_answered_with_less);
    return REPORT();
}
