/* Plans are finalized when they are built. Plans of engines that cuDNN compiles are finalized at
 * their first run, once, with the handle of that run. A plan that only answers queries is never
 * finalized. */
#include "cudnn/plan/execution_plan.h"

#include "cudnn/plan/handle_id.h"
#include "heap.h"
#include "sample_problem.h"
#include "vendor_fixture.h"
#include <pthread.h>

enum {
    CONFIGURATION = 1,
    PLAN,
    TOLD = 1000 /* bytes */
};

/* Calls that the test's cuDNN has received, and its results. */
static struct {
    atomic_int alive, finalized, asked, graphs;
    void *handle; /* of the last plan */
    void *graph_handle;
    cudnnStatus_t finalize, ask;
    int64_t configured, planned; /* bytes that the configuration and the plan report */
    pthread_barrier_t *together; /* that plans are finalized in, two by two */
} fake;

static _Thread_local CUstreamCaptureMode mode; /* of the thread */

static CUresult exchange_mode(CUstreamCaptureMode *with)
{
    const CUstreamCaptureMode before = mode;
    mode = *with;
    *with = before;
    return CUDA_SUCCESS;
}

static char first[16], second[16];

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
    int *descriptor = malloc(sizeof *descriptor);
    if (!descriptor)
        return CUDNN_STATUS_ALLOC_FAILED;
    *descriptor = type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? PLAN : CONFIGURATION;
    *made = descriptor;
    fake.alive++;
    fake.graphs += type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t descriptor)
{
    free(descriptor);
    fake.alive--;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    (void)descriptor, (void)type, (void)count;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE && !fake.together)
        memcpy(&fake.handle, elements, sizeof fake.handle);
    if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE && !fake.together)
        memcpy(&fake.graph_handle, elements, sizeof fake.graph_handle);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t most, int64_t *count,
                         void *elements)
{
    bool of_plan = name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE;
    (void)type, (void)most;
    CHECK_INT(*(const int *)descriptor, of_plan ? PLAN : CONFIGURATION);
    fake.asked += !of_plan;
    *count = 1;
    memcpy(elements, of_plan ? &fake.planned : &fake.configured, sizeof fake.planned);
    return of_plan ? CUDNN_STATUS_SUCCESS : fake.ask;
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor)
{
    if (*(const int *)descriptor != PLAN)
        return CUDNN_STATUS_SUCCESS;
    CHECK_INT(mode, CU_STREAM_CAPTURE_MODE_RELAXED); /* captures forbid to load code */
    fake.finalized++;
    if (fake.together)
        pthread_barrier_wait(fake.together);
    return fake.finalize;
}

static void start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.configured = fake.planned = TOLD;
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = create,
                              .cudnnBackendDestroyDescriptor = destroy,
                              .cudnnBackendSetAttribute = set,
                              .cudnnBackendGetAttribute = get,
                              .cudnnBackendFinalize = finalize};
    driver = (struct cs_driver){.cuThreadExchangeStreamCaptureMode = exchange_mode};
}

/* `heap`: requests for memory that are granted; -1: all. */
static enum cs_status make_late(void *handle, int heap, void **made_p, int64_t *workspace_p)
{
    struct cs_descriptor_builder builder = {CUDNN_STATUS_SUCCESS, 0, {NULL}};
    const struct cs_recipe recipe = {.target.handle = (cudnnHandle_t)handle,
                                     .problem = rows(CS_FORWARD, 1)};
    cudnnBackendDescriptor_t configuration =
        cs_descriptor_make(&builder, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    *made_p = NULL;
    *workspace_p = -77;
    heap_left = heap;
    return cs_late_plan(&builder, &recipe, configuration, made_p, workspace_p);
}

static struct cs_execution_plan *make(void *handle)
{
    void *made;
    int64_t workspace;
    CHECK_INT(make_late(handle, -1, &made, &workspace), CS_OK);
    CHECK_INT(workspace, TOLD);
    return made;
}

static bool ready(struct cs_execution_plan *plan, void *handle)
{
    return cs_execution_plan_make_ready(plan, (cudnnHandle_t)handle);
}

static void end(struct cs_execution_plan *plan)
{
    CHECK_INT(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    cs_execution_plan_destroy(plan);
    CHECK_INT(fake.alive, 0);
}

static void plan_that_is_not_run_is_not_compiled(void)
{
    start();
    struct cs_execution_plan *plan = make(first);
    CHECK_INT(fake.asked, 1);
    CHECK_INT(fake.alive, 0); /* no descriptor is kept */
    CHECK(!cs_execution_plan_is_ready(plan));
    end(plan);
    CHECK_INT(fake.finalized, 0);
}

static void plan_that_runs_is_compiled_once(void)
{
    start();
    struct cs_execution_plan *plan = make(first);
    CHECK(ready(plan, second));
    CHECK(fake.handle == second && fake.graph_handle == second); /* the first may be gone */
    CHECK(cs_execution_plan_is_ready(plan));
    CHECK(ready(plan, second));
    CHECK_INT(fake.finalized, 1);
    end(plan);
}

static void late_refusal_is_final(void)
{
    start();
    struct cs_execution_plan *plan = make(first);
    fake.finalize = CUDNN_STATUS_NOT_SUPPORTED;
    CHECK(!ready(plan, first));
    fake.finalize = CUDNN_STATUS_SUCCESS;
    CHECK(!ready(plan, first));
    CHECK_INT(fake.finalized, 1);
    end(plan);
}

/* Callers rely on the reported size. */
static void plan_larger_than_reported_is_not_run(void)
{
    start();
    struct cs_execution_plan *plan = make(first);
    fake.planned = TOLD + 1;
    CHECK(!ready(plan, first));
    CHECK(!cs_execution_plan_is_ready(plan));
    end(plan);
}

static void a_moment_without_memory_is_no_refusal(void)
{
    start();
    struct cs_execution_plan *plan = make(first);
    fake.finalize = CUDNN_STATUS_ALLOC_FAILED;
    CHECK(!ready(plan, first));
    fake.finalize = CUDNN_STATUS_SUCCESS;
    CHECK(ready(plan, first));
    end(plan);
}

static void plan_reports_a_size_that_its_configuration_does_not(void)
{
    start();
    fake.ask = CUDNN_STATUS_NOT_SUPPORTED; /* as before 9.2 */
    struct cs_execution_plan *plan = make(first);
    CHECK(cs_execution_plan_is_ready(plan));
    CHECK_INT(fake.finalized, 1);
    end(plan);
    start();
    plan = make(NULL); /* for a device that may be elsewhere: no thread runs it here */
    CHECK(cs_execution_plan_is_ready(plan));
    CHECK_INT(fake.asked, 0);
    end(plan);
}

/* By the results of cuDNN for a configuration and for its plan: which is queried, and the outcome.
 */
static void each_pair_of_results_has_its_outcome(void)
{
    static const struct {
        cudnnStatus_t ask;
        int64_t configured;
        cudnnStatus_t finalize;
        int64_t planned;
        enum cs_status outcome;
        bool late;
    } row[] = {
        {CUDNN_STATUS_SUCCESS, 0, CUDNN_STATUS_SUCCESS, 5, CS_OK, true},
        {CUDNN_STATUS_SUCCESS, 1, CUDNN_STATUS_NOT_SUPPORTED, 5, CS_OK, true},
        {CUDNN_STATUS_SUCCESS, -1, CUDNN_STATUS_SUCCESS, 5, CS_OK, false},
        {CUDNN_STATUS_NOT_SUPPORTED, 1, CUDNN_STATUS_SUCCESS, 0, CS_OK, false},
        {CUDNN_STATUS_NOT_SUPPORTED, 1, CUDNN_STATUS_SUCCESS, -1, CS_REFUSED, false},
        {CUDNN_STATUS_NOT_SUPPORTED, 1, CUDNN_STATUS_NOT_SUPPORTED, 5, CS_REFUSED, false},
        {CUDNN_STATUS_NOT_SUPPORTED, 1, CUDNN_STATUS_ALLOC_FAILED, 5, CS_NOMEM, false},
        {CUDNN_STATUS_NOT_SUPPORTED, 1, CUDNN_STATUS_ALLOC_FAILED, -5, CS_NOMEM, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        void *made;
        int64_t workspace;
        start();
        fake.ask = row[i].ask;
        fake.configured = row[i].configured;
        fake.finalize = row[i].finalize;
        fake.planned = row[i].planned;
        CHECK_INT(make_late(first, -1, &made, &workspace), row[i].outcome);
        CHECK_INT(fake.finalized, !row[i].late);
        if (row[i].outcome == CS_OK) {
            CHECK_INT(workspace, row[i].late ? row[i].configured : row[i].planned);
            CHECK_INT(cs_execution_plan_is_ready(made), !row[i].late);
            cs_execution_plan_destroy(made);
        } else {
            CHECK(made == NULL);
            CHECK_INT(workspace, -77);
        }
        CHECK_INT(fake.alive, 0);
    }
}

/* Each allocation fails in turn, the library's or cuDNN's, and no object is left. */
static void without_memory(void)
{
#ifdef HEAP_REFUSES
    for (int late = 0; late < 2; late++) {
        bool all = false;
        for (int n = 0; !all; n++) {
            void *made;
            int64_t workspace;
            start();
            long long taken = heap_taken;
            fake.ask = late ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
            enum cs_status status = make_late(first, n, &made, &workspace);
            all = heap_left >= 0;
            heap_left = -1;
            CHECK_INT(status, all ? CS_OK : CS_NOMEM);
            CHECK_INT(made != NULL, all);
            CHECK_INT(workspace, all ? TOLD : -77);
            CHECK(!all || n == 2);
            cs_execution_plan_destroy(made);
            CHECK_INT(fake.alive, 0);
            CHECK_INT(heap_taken - taken, 0);
        }
    }
#endif
}

/* Of an engine that cuDNN compiles; fallback plans are not of that engine. */
static void plans_are_finalized_when_they_are_taken(void)
{
    start();
    struct cs_problem problem = rows(CS_FORWARD, 1);
    const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    struct cs_engine_choice choice;
    void *tile = NULL, *fallback = NULL;
    int64_t workspace;
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)first,
                          cs_handle_id((cudnnHandle_t)(void *)first));
    choice.notes.behaviour = 1u << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    struct cs_vendor plans = cs_execution_plan_vendor(&choice);
    CHECK_INT(plans.build(plans.ctx, &problem, CS_SAME_KNOBS, &tile, &workspace), CS_OK);
    CHECK_INT(plans.fallback(plans.ctx, TOLD, &fallback, &workspace), CS_OK);
    CHECK(!cs_execution_plan_is_ready(tile));
    CHECK(!cs_execution_plan_is_ready(fallback));
    CHECK_INT(plans.ready(plans.ctx, fallback), CS_OK);
    CHECK(cs_execution_plan_is_ready(fallback));
    cs_execution_plan_destroy(tile);
    end(fallback);
    choice.notes.behaviour = 0;
    CHECK_INT(plans.build(plans.ctx, &problem, CS_SAME_KNOBS, &tile, &workspace), CS_OK);
    CHECK(!cs_execution_plan_is_ready(tile)); /* until it is taken */
    CHECK_INT(plans.ready(plans.ctx, tile), CS_OK);
    CHECK(cs_execution_plan_is_ready(tile));
    CHECK_INT(fake.alive, 1); /* its parts are destroyed */
    end(tile);
    CHECK_INT(plans.build(plans.ctx, &problem, CS_SAME_KNOBS, &tile, &workspace), CS_OK);
    fake.finalize = CUDNN_STATUS_NOT_SUPPORTED;
    CHECK_INT(plans.ready(plans.ctx, tile), CS_REFUSED);
    end(tile);
}

/* Of a list of plans for one problem. */
static void engines_of_many_plans_share_one_graph(void)
{
    start();
    struct cs_problem problem = rows(CS_FORWARD, 1), other = rows(CS_FORWARD, 0);
    const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    struct cs_engine_choice choice;
    void *plan[3];
    int64_t workspace;
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)first,
                          cs_handle_id((cudnnHandle_t)(void *)first));
    choice.many = true;
    for (int i = 0; i < 3; i++) {
        struct cs_vendor plans = cs_execution_plan_vendor(&choice);
        choice.engine.knobs = 1;
        choice.engine.knob_value[0] = i;
        CHECK(plans.many);
        CHECK_INT(
            plans.build(plans.ctx, i < 2 ? &problem : &other, CS_SAME_KNOBS, &plan[i], &workspace),
            CS_OK);
        CHECK_INT(workspace, TOLD);
        CHECK(!cs_execution_plan_is_ready(plan[i]));
        CHECK_INT(fake.graphs, i < 2 ? 1 : 2);
    }
    CHECK_INT(fake.finalized, 0);
    cs_handle_retire((cudnnHandle_t)(void *)first);
    cs_kept_engine_forget();
    CHECK_INT(fake.alive, 0);
    CHECK(ready(plan[0], second)); /* the handle is destroyed, and all objects made for it */
    CHECK(fake.handle == second);
    fake.planned = TOLD + 1;
    CHECK(!ready(plan[1], second));
    for (int i = 0; i < 3; i++)
        cs_execution_plan_destroy(plan[i]);
    CHECK_INT(fake.alive, 0);
}

static void *run(void *plan)
{
    CHECK(ready(plan, first));
    return NULL;
}

static void one_of_two_threads_keeps_its_plan(void)
{
    pthread_barrier_t together;
    pthread_t thread[2];
    start();
    pthread_barrier_init(&together, NULL, 2);
    fake.together = &together;
    struct cs_execution_plan *plan = make(first);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, plan);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(fake.finalized, 2);
    CHECK_INT(fake.alive, 1); /* the configuration and one plan */
    pthread_barrier_destroy(&together);
    end(plan);
}

int main(void)
{
    heap_watch();
    TEST(plan_that_is_not_run_is_not_compiled);
    TEST(plan_that_runs_is_compiled_once);
    TEST(late_refusal_is_final);
    TEST(plan_larger_than_reported_is_not_run);
    TEST(a_moment_without_memory_is_no_refusal);
    TEST(plan_reports_a_size_that_its_configuration_does_not);
    TEST(each_pair_of_results_has_its_outcome);
    TEST(without_memory);
    TEST(plans_are_finalized_when_they_are_taken);
    TEST(engines_of_many_plans_share_one_graph);
    TEST(one_of_two_threads_keeps_its_plan);
    return REPORT();
}
