/* Descriptors as they come and go: what is noted lives exactly as long as its descriptor, also
 * where cuDNN hands an address out again at once. */
#include "intercept/entry/entry.h"
#include "intercept/graph/plan_hooks.h"
#include "intercept/graph/populate.h"
#include "vendor_fixture.h"

static char descriptor[16];
static cudnnStatus_t answer;
static bool
    handed_out_again; /* another thread has the address before the destroying call is back */

static struct {
    int judged, run, passed, populated, updated, replayed, discarded;
    bool tiled_calls; /* every plan that is finalized */
} fake;

enum {
    RUN_STATUS = 3001,
    POPULATE_STATUS = 3002,
    UPDATE_STATUS = 3003,
    UNKNOWN = 99 /* no name of a test */
};

static struct cs *const instance = (struct cs *)(void *)&fake;

int cs_intercept_from(struct cs_entry_call *call, const void *caller)
{
    (void)caller;
    return call->handle(instance, call);
}

int cs_intercept_note_from(struct cs_entry_call *call, const void *caller)
{
    return cs_intercept_from(call, caller);
}

static void destroy_fallback(void *fallback)
{
    CHECK(fallback == &fake);
    fake.discarded++;
}

static struct cs_rewrite *rewriting(void)
{
    struct cs_rewrite *rewrite = calloc(1, sizeof *rewrite);
    CHECK(rewrite != NULL);
    *rewrite = (struct cs_rewrite){.fallback = &fake, .destroy = destroy_fallback};
    return rewrite;
}

void cs_plan_hooks_finalize(struct cs *cs, struct cs_shadow *plan)
{
    CHECK(cs == instance);
    fake.judged++;
    plan->plan.counted = true;
    plan->plan.verdict.reported = 100;
    plan->plan.verdict.rewrite = fake.tiled_calls ? rewriting() : NULL;
}

int64_t cs_plan_hooks_reported(struct cs *cs, const struct cs_shadow *configuration,
                               int64_t required)
{
    CHECK(cs == instance);
    CHECK_INT(configuration->type, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    return required / 2;
}

int cs_plan_hooks_run(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                      cudnnBackendDescriptor_t pack)
{
    (void)cs, (void)handle, (void)pack;
    CHECK(plan->plan.verdict.rewrite->fallback == &fake);
    fake.run++;
    return RUN_STATUS;
}

int cs_populate(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    (void)cs, (void)plan, (void)handle, (void)pack, (void)graph;
    fake.populated++;
    return POPULATE_STATUS;
}

int cs_populate_update(struct cs *cs, const struct cs_shadow *plan, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    (void)cs, (void)plan, (void)handle, (void)pack, (void)graph;
    fake.updated++;
    return UPDATE_STATUS;
}

void cs_plan_hooks_pass(struct cs *cs, const struct cs_shadow *plan, cudnnBackendDescriptor_t pack)
{
    (void)pack;
    CHECK(cs == instance && plan != NULL);
    CHECK_INT(plan->plan.counted, true);
    fake.passed++;
}

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
    (void)type;
    *made = descriptor;
    return answer;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t gone)
{
    CHECK(gone == descriptor);
    if (handed_out_again)
        cs_shadow_add(descriptor, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    return answer;
}

static cudnnStatus_t initialize(cudnnBackendDescriptor_t again)
{
    CHECK(again == descriptor);
    return answer;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    (void)name, (void)type, (void)count, (void)elements;
    CHECK(to == descriptor);
    return answer;
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t finished)
{
    CHECK(finished == descriptor);
    return answer;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t attribute,
                         cudnnBackendAttributeType_t type, int64_t requested, int64_t *count,
                         void *elements)
{
    static const int64_t bytes = 1000;
    (void)attribute, (void)type, (void)requested;
    CHECK(from == descriptor);
    if (count)
        *count = 1;
    memcpy(elements, &bytes, sizeof bytes);
    return answer;
}

static cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack)
{
    (void)handle, (void)plan, (void)pack;
    fake.replayed++;
    return answer;
}

static cudnnStatus_t populate(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                              cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    (void)handle, (void)plan, (void)pack, (void)graph;
    fake.replayed++;
    return answer;
}

static void start(void)
{
    memset(&fake, 0, sizeof fake);
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = create,
                              .cudnnBackendDestroyDescriptor = destroy,
                              .cudnnBackendInitialize = initialize,
                              .cudnnBackendSetAttribute = set,
                              .cudnnBackendFinalize = finalize,
                              .cudnnBackendGetAttribute = get,
                              .cudnnBackendExecute = execute,
                              .cudnnBackendPopulateCudaGraph = populate,
                              .cudnnBackendUpdateCudaGraph = populate};
    answer = CUDNN_STATUS_SUCCESS;
    handed_out_again = false;
    cs_shadow_remove(descriptor);
}

static cudnnStatus_t make(void)
{
    cudnnBackendDescriptor_t made;
    return cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &made);
}

static cudnnStatus_t name(int64_t uid)
{
    return cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                    &uid);
}

static int64_t noted_name(void)
{
    const struct cs_shadow *shadow = cs_shadow_find(descriptor);
    return shadow ? shadow->tensor.uid : UNKNOWN;
}

static void notes_live_as_long_as_their_descriptor(void)
{
    start();
    CHECK_INT(make(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(noted_name(), CS_NO_UID);
    CHECK_INT(name(7), CUDNN_STATUS_SUCCESS);
    CHECK_INT(noted_name(), 7);
    CHECK_INT(cudnnBackendInitialize(descriptor), CUDNN_STATUS_SUCCESS);
    CHECK_INT(noted_name(), CS_NO_UID);
    CHECK_INT(cudnnBackendDestroyDescriptor(descriptor), CUDNN_STATUS_SUCCESS);
    CHECK_INT(noted_name(), UNKNOWN);
}

static void an_address_that_is_handed_out_again_keeps_its_new_notes(void)
{
    start();
    CHECK_INT(make(), CUDNN_STATUS_SUCCESS);
    handed_out_again = true;
    CHECK_INT(cudnnBackendDestroyDescriptor(descriptor), CUDNN_STATUS_SUCCESS);
    const struct cs_shadow *shadow = cs_shadow_find(descriptor);
    CHECK(shadow != NULL);
    CHECK(shadow && shadow->type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cs_shadow_remove(descriptor);
}

static void what_cudnn_refuses_is_not_noted(void)
{
    start();
    answer = CUDNN_STATUS_ALLOC_FAILED;
    CHECK_INT(make(), CUDNN_STATUS_ALLOC_FAILED);
    CHECK_INT(noted_name(), UNKNOWN);
    answer = CUDNN_STATUS_SUCCESS;
    CHECK_INT(make(), CUDNN_STATUS_SUCCESS);
    CHECK_INT(name(7), CUDNN_STATUS_SUCCESS);
    answer = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(name(8), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(noted_name(), 7);
    CHECK_INT(cudnnBackendInitialize(descriptor), CUDNN_STATUS_BAD_PARAM);
    CHECK_INT(noted_name(), 7);
    start();
    vendor = (struct cs_real){0};
    CHECK_INT(make(), CUDNN_STATUS_NOT_SUPPORTED);
}

static void finish(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t made;
    CHECK_INT(cudnnBackendCreateDescriptor(type, &made), CUDNN_STATUS_SUCCESS);
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
}

static int64_t reported(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type)
{
    int64_t bytes = 0;
    CHECK_INT(cudnnBackendGetAttribute(descriptor, attribute, type, 1, NULL, &bytes),
              CUDNN_STATUS_SUCCESS);
    return bytes;
}

/* Some that nobody looks into. */
static cudnnHandle_t a_handle(void)
{
    static char place;
    return (cudnnHandle_t)(void *)&place;
}

static cudnnBackendDescriptor_t a_pack(void)
{
    static char place;
    return (cudnnBackendDescriptor_t)(void *)&place;
}

static cudaGraph_t a_graph(void)
{
    static char place;
    return (cudaGraph_t)(void *)&place;
}

static void a_tiled_plan_runs_and_reports_as_that(void)
{
    start();
    fake.tiled_calls = true;
    finish(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    CHECK_INT(fake.judged, 1);
    CHECK_INT(reported(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64), 100);
    CHECK_INT(reported(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_INT64), 1000);
    CHECK_INT(reported(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_DOUBLE), 1000);
    CHECK_INT(cudnnBackendExecute(a_handle(), descriptor, a_pack()), RUN_STATUS);
    CHECK_INT(cudnnBackendPopulateCudaGraph(a_handle(), descriptor, a_pack(), a_graph()),
              POPULATE_STATUS);
    CHECK_INT(cudnnBackendUpdateCudaGraph(a_handle(), descriptor, a_pack(), a_graph()),
              UPDATE_STATUS);
    CHECK_INT(fake.run, 1);
    CHECK_INT(fake.replayed + fake.passed, 0);
    CHECK_INT(cudnnBackendDestroyDescriptor(descriptor), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.discarded, 1);
}

static void a_plan_that_was_left_alone_is_counted_and_run_as_it_is(void)
{
    start();
    finish(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    CHECK_INT(reported(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64), 1000);
    answer = CUDNN_STATUS_EXECUTION_FAILED;
    CHECK_INT(cudnnBackendExecute(a_handle(), descriptor, a_pack()), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(cudnnBackendUpdateCudaGraph(a_handle(), descriptor, a_pack(), a_graph()),
              CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(fake.passed, 1);
    CHECK_INT(fake.replayed, 2);
    CHECK_INT(fake.run + fake.populated + fake.updated, 0);
}

/* cuDNN refuses to run what is no plan, and it is not counted. */
static void what_is_no_plan_is_not_counted(void)
{
    static const int types[] = {
        CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        cudnnBackendDescriptor_t made;
        start();
        CHECK_INT(cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)types[i], &made),
                  CUDNN_STATUS_SUCCESS);
        answer = CUDNN_STATUS_BAD_PARAM;
        CHECK_INT(cudnnBackendExecute(a_handle(), made, a_pack()), answer);
        CHECK_INT(cudnnBackendPopulateCudaGraph(a_handle(), made, a_pack(), a_graph()), answer);
        CHECK_INT(cudnnBackendUpdateCudaGraph(a_handle(), made, a_pack(), a_graph()), answer);
        CHECK_INT(fake.replayed, 3);
        CHECK_INT(fake.run + fake.populated + fake.updated + fake.passed, 0);
        answer = CUDNN_STATUS_SUCCESS;
        CHECK_INT(cudnnBackendDestroyDescriptor(made), CUDNN_STATUS_SUCCESS);
    }
}

/* Tiles, or a fallback plan, would run with what is missing. */
static void what_is_not_there_is_left_to_cudnn(void)
{
    static const struct {
        bool handle, pack, graph;
    } given[] = {{false, true, true}, {true, false, true}, {false, false, false}};
    start();
    fake.tiled_calls = true;
    finish(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    answer = CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    for (int i = 0; i < 3; i++) {
        cudnnHandle_t handle = given[i].handle ? a_handle() : NULL;
        cudnnBackendDescriptor_t pack = given[i].pack ? a_pack() : NULL;
        CHECK_INT(cudnnBackendExecute(handle, descriptor, pack), answer);
        CHECK_INT(cudnnBackendPopulateCudaGraph(handle, descriptor, pack, a_graph()), answer);
        CHECK_INT(cudnnBackendUpdateCudaGraph(handle, descriptor, pack, a_graph()), answer);
        CHECK_INT(fake.replayed, 3 * i + 3);
    }
    CHECK_INT(cudnnBackendPopulateCudaGraph(a_handle(), descriptor, a_pack(), NULL), answer);
    CHECK_INT(cudnnBackendUpdateCudaGraph(a_handle(), descriptor, a_pack(), NULL), answer);
    CHECK_INT(fake.run + fake.populated + fake.updated + fake.passed, 0);
}

static void a_pack_is_known_to_be_finished(void)
{
    cudnnBackendDescriptor_t made;
    start();
    CHECK_INT(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &made),
              CUDNN_STATUS_SUCCESS);
    answer = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_BAD_PARAM);
    CHECK(!cs_shadow_find(made)->pack.finalized);
    answer = CUDNN_STATUS_SUCCESS;
    CHECK_INT(cudnnBackendFinalize(made), CUDNN_STATUS_SUCCESS);
    CHECK(cs_shadow_find(made)->pack.finalized);
}

static void an_engine_configuration_tells_what_its_plan_will(void)
{
    start();
    finish(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    CHECK_INT(fake.judged, 0);
    CHECK_INT(reported(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64), 500);
    CHECK_INT(reported(CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT64), 1000);
}

static void what_was_never_seen_is_run_as_it_is(void)
{
    start();
    CHECK_INT(cudnnBackendExecute(NULL, descriptor, NULL), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.replayed, 1);
    CHECK_INT(fake.passed, 0);
    CHECK_INT(reported(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64), 1000);
    answer = CUDNN_STATUS_BAD_PARAM;
    CHECK_INT(cudnnBackendFinalize(descriptor), CUDNN_STATUS_BAD_PARAM);
}

int main(void)
{
    TEST(a_tiled_plan_runs_and_reports_as_that);
    TEST(a_plan_that_was_left_alone_is_counted_and_run_as_it_is);
    TEST(what_is_no_plan_is_not_counted);
    TEST(what_is_not_there_is_left_to_cudnn);
    TEST(a_pack_is_known_to_be_finished);
    TEST(an_engine_configuration_tells_what_its_plan_will);
    TEST(what_was_never_seen_is_run_as_it_is);
    TEST(notes_live_as_long_as_their_descriptor);
    TEST(an_address_that_is_handed_out_again_keeps_its_new_notes);
    TEST(what_cudnn_refuses_is_not_noted);
    return REPORT();
}
