/* Streams, events, memory and captures through the driver: the calls, their capture mode, and the
 * mapping of their results. */
#include "cudnn/run/launcher.h"

#include "heap.h"
#include "vendor_fixture.h"

static struct {
    CUresult answer; /* of every call that makes or queues something */
    CUstreamCaptureStatus capture;
    CUresult capture_answer, priority_answer;
    CUresult green_answer;
    void *green;
    int priority, created_priority;
    unsigned created_flags, event_flags, wait_flags;
    CUstreamCaptureMode mode; /* the thread's */
    int relaxed;              /* calls that were made in the relaxed mode */
    int calls, destroyed, released;
    CUhostFn tell;
    void *reported;
} fake;

static char graph_handle, object_handle, stream_handle, event_handle, memory_handle[16];

/* Every call that makes or queues something. */
static CUresult called(void)
{
    fake.calls++;
    fake.relaxed += fake.mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    return fake.answer;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = fake.mode;
    fake.mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *state, cuuint64_t *id,
                             CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    CHECK(stream == (CUstream)&stream_handle && nodes == NULL && count == NULL);
    *state = fake.capture;
    *id = 41;
    *graph = (CUgraph)&graph_handle;
    return fake.capture_answer;
}

static CUresult get_priority(CUstream stream, int *priority)
{
    CHECK(stream == (CUstream)&stream_handle);
    *priority = fake.priority;
    return fake.priority_answer;
}

static CUresult get_green(CUstream stream, void **green)
{
    CHECK(stream == (CUstream)&stream_handle);
    *green = fake.green;
    return fake.green_answer;
}

static CUresult create_stream(CUstream *stream, unsigned flags, int priority)
{
    fake.created_flags = flags;
    fake.created_priority = priority;
    *stream = (CUstream)&stream_handle;
    return called();
}

static CUresult destroy_stream(CUstream stream)
{
    fake.destroyed += stream == (CUstream)&stream_handle;
    return CUDA_SUCCESS;
}

static CUresult create_event(CUevent *event, unsigned flags)
{
    fake.event_flags = flags;
    *event = (CUevent)&event_handle;
    return called();
}

static CUresult destroy_event(CUevent event)
{
    fake.destroyed += event == (CUevent)&event_handle;
    return CUDA_SUCCESS;
}

static CUresult record_event(CUevent event, CUstream stream)
{
    CHECK(event == (CUevent)&event_handle && stream == (CUstream)&stream_handle);
    return called();
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
    CHECK(event == (CUevent)&event_handle && stream == (CUstream)&stream_handle);
    fake.wait_flags = flags;
    return called();
}

static CUresult query_event(CUevent event)
{
    CHECK(event == (CUevent)&event_handle);
    return called();
}

static CUresult allocate(CUdeviceptr *memory, size_t bytes)
{
    CHECK_INT(bytes, 512);
    *memory = (CUdeviceptr)(uintptr_t)memory_handle;
    return called();
}

static CUresult release(CUdeviceptr memory)
{
    CHECK(memory == (CUdeviceptr)(uintptr_t)memory_handle);
    fake.released++;
    return called();
}

static CUresult create_object(CUuserObject *object, void *value, CUhostFn tell, unsigned count,
                              unsigned flags)
{
    CHECK_INT(count, 1);
    CHECK_INT(flags, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    *object = (CUuserObject)&object_handle;
    fake.tell = tell;
    fake.reported = value;
    return called();
}

static CUresult retain_object(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
    CHECK(graph == (CUgraph)&graph_handle && object == (CUuserObject)&object_handle);
    CHECK_INT(count, 1);
    CHECK_INT(flags, CU_GRAPH_USER_OBJECT_MOVE);
    return fake.capture_answer;
}

/* The last reference: the driver calls back. */
static CUresult release_object(CUuserObject object, unsigned count)
{
    CHECK(object == (CUuserObject)&object_handle);
    CHECK_INT(count, 1);
    fake.tell(fake.reported);
    fake.released++;
    return CUDA_SUCCESS;
}

static CUresult current_context(CUcontext *context)
{
    *context = (CUcontext)fake.reported;
    return fake.capture_answer;
}

static CUresult context_id(CUcontext context, unsigned long long *id)
{
    CHECK(context != NULL);
    *id = (unsigned long long)fake.calls;
    return fake.priority_answer;
}

static CUresult stream_number(CUstream stream, unsigned long long *id)
{
    CHECK(stream == (CUstream)&stream_handle);
    *id = (unsigned long long)fake.calls;
    return fake.priority_answer;
}

static void start(void)
{
    memset(&fake, 0, sizeof fake);
    driver = (struct cs_driver){.cuThreadExchangeStreamCaptureMode = exchange_mode,
                                .cuStreamGetCaptureInfo_v2 = capture_info,
                                .cuStreamGetGreenCtx = get_green,
                                .cuStreamGetPriority = get_priority,
                                .cuStreamCreateWithPriority = create_stream,
                                .cuStreamDestroy_v2 = destroy_stream,
                                .cuEventCreate = create_event,
                                .cuEventDestroy_v2 = destroy_event,
                                .cuEventRecord = record_event,
                                .cuStreamWaitEvent = wait_event,
                                .cuEventQuery = query_event,
                                .cuMemAlloc_v2 = allocate,
                                .cuMemFree_v2 = release,
                                .cuUserObjectCreate = create_object,
                                .cuGraphRetainUserObject = retain_object,
                                .cuUserObjectRelease = release_object,
                                .cuCtxGetCurrent = current_context,
                                .cuCtxGetId = context_id,
                                .cuStreamGetId = stream_number};
}

static const struct cs_device *const device = &cs_device_cuda;

/* A void capture gets neither lanes nor scratch, because these must not become part of it. */
static void a_void_capture_is_a_failure(void)
{
    static const struct {
        CUstreamCaptureStatus state;
        CUresult answer;
        int status;
        uint64_t id;
    } cases[] = {
        {CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS, CUDNN_STATUS_SUCCESS, 0},
        {CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_SUCCESS, CUDNN_STATUS_SUCCESS, 42},
        {CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUDA_SUCCESS, CUDNN_STATUS_EXECUTION_FAILED, 0},
        {CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_ERROR_INVALID_HANDLE, CUDNN_STATUS_EXECUTION_FAILED,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_capture found = {99, &found};
        start();
        fake.capture = cases[i].state;
        fake.capture_answer = cases[i].answer;
        CHECK_INT(device->capture(NULL, &stream_handle, &found), cases[i].status);
        CHECK_INT(found.id, cases[i].id);
        CHECK(found.graph == (cases[i].id ? &graph_handle : NULL));
    }
    start();
    driver.cuStreamGetCaptureInfo_v2 = NULL;
    struct cs_capture found = {99, &found};
    CHECK_INT(device->capture(NULL, &stream_handle, &found), CUDNN_STATUS_SUCCESS);
    CHECK_INT(found.id, 0);
}

static void lanes_have_the_priority_of_the_callers_stream(void)
{
    void *stream = NULL;
    start();
    fake.priority = -3;
    CHECK_INT(device->stream_create(NULL, &stream_handle, &stream), CUDNN_STATUS_SUCCESS);
    CHECK(stream == &stream_handle);
    CHECK_INT(fake.created_priority, -3);
    CHECK_INT(fake.created_flags, CU_STREAM_NON_BLOCKING);
    fake.priority_answer = CUDA_ERROR_INVALID_HANDLE; /* then the value that it wrote is ignored */
    CHECK_INT(device->stream_create(NULL, &stream_handle, &stream), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.created_priority, 0);
    device->stream_destroy(NULL, stream);
    CHECK_INT(fake.destroyed, 1);
}

static void a_green_contexts_stream_is_confined(void)
{
    start();
    CHECK(!device->confined(NULL, &stream_handle));
    fake.green = &graph_handle;
    CHECK(device->confined(NULL, &stream_handle));
    fake.green_answer = CUDA_ERROR_INVALID_HANDLE;
    CHECK(!device->confined(NULL, &stream_handle));
    driver.cuStreamGetGreenCtx = NULL; /* a driver without them */
    CHECK(!device->confined(NULL, &stream_handle));
}

/* An object created in a strict mode would invalidate another thread's capture. */
static void objects_are_created_in_relaxed_mode(void)
{
    void *made = NULL;
    start();
    fake.mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CHECK_INT(device->stream_create(NULL, &stream_handle, &made), CUDNN_STATUS_SUCCESS);
    CHECK_INT(device->event_create(NULL, &made), CUDNN_STATUS_SUCCESS);
    CHECK(made == &event_handle);
    CHECK_INT(fake.event_flags, CU_EVENT_DISABLE_TIMING);
    CHECK(device->done(NULL, &event_handle));
    CHECK_INT(device->allocate(NULL, 512, &made), CUDNN_STATUS_SUCCESS);
    CHECK(made == memory_handle);
    device->free(NULL, memory_handle);
    CHECK_INT(fake.released, 1);
    CHECK_INT(fake.calls, 5);
    CHECK_INT(fake.relaxed, 5);
    CHECK_INT(fake.mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CHECK_INT(device->record(NULL, &event_handle, &stream_handle), CUDNN_STATUS_SUCCESS);
    CHECK_INT(device->wait(NULL, &stream_handle, &event_handle), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.wait_flags, 0);
    CHECK_INT(fake.relaxed, 5); /* these are to become part of the caller's capture */
    device->event_destroy(NULL, &event_handle);
    CHECK_INT(fake.destroyed, 1);
}

static void failures_become_statuses_without_objects(void)
{
    static const struct {
        CUresult result;
        int status;
    } cases[] = {{CUDA_ERROR_OUT_OF_MEMORY, CUDNN_STATUS_ALLOC_FAILED},
                 {CUDA_ERROR_LAUNCH_FAILED, CUDNN_STATUS_EXECUTION_FAILED}};
    for (int i = 0; i < 2; i++) {
        void *made = NULL;
        start();
        fake.answer = cases[i].result;
        CHECK_INT(device->stream_create(NULL, &stream_handle, &made), cases[i].status);
        CHECK_INT(device->event_create(NULL, &made), cases[i].status);
        CHECK_INT(device->allocate(NULL, 512, &made), cases[i].status);
        CHECK_INT(device->record(NULL, &event_handle, &stream_handle), cases[i].status);
        CHECK_INT(device->wait(NULL, &stream_handle, &event_handle), cases[i].status);
        CHECK(!device->done(NULL, &event_handle));
        CHECK(made == NULL);
        CHECK_INT(fake.mode, 0);
    }
}

static int gone;

static void count(void *arg)
{
    CHECK(arg == &gone);
    gone++;
}

static void end_of_a_graph_is_reported_once(void)
{
    start();
    gone = 0;
    CHECK_INT(device->keep(NULL, &graph_handle, count, &gone), CUDNN_STATUS_SUCCESS);
    CHECK_INT(gone, 0);
    long long with_keepsake = heap_taken;
    fake.tell(fake.reported);
    CHECK_INT(gone, 1);
    CHECK_INT(heap_taken, with_keepsake - 1);
    start();
    fake.answer = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK_INT(device->keep(NULL, &graph_handle, count, &gone), CUDNN_STATUS_ALLOC_FAILED);
    start();
    fake.capture_answer = CUDA_ERROR_INVALID_VALUE; /* the graph does not take it */
    CHECK_INT(device->keep(NULL, &graph_handle, count, &gone), CUDNN_STATUS_EXECUTION_FAILED);
    CHECK_INT(fake.released, 1);
    CHECK_INT(gone, 1);
}

static void numbers_begin_at_one(void)
{
    start();
    CHECK_INT(device->context(NULL), 0);
    fake.reported = &graph_handle;
    CHECK_INT(device->context(NULL), 1);
    CHECK_INT(device->stream_id(NULL, &stream_handle), 1);
    fake.calls = 7;
    CHECK_INT(device->context(NULL), 8);
    CHECK_INT(device->stream_id(NULL, &stream_handle), 8);
    fake.calls = -1; /* the number is still counted */
    CHECK_INT(device->context(NULL), 0);
    fake.calls = 7;
    fake.priority_answer = CUDA_ERROR_INVALID_HANDLE;
    CHECK_INT(device->context(NULL), 0);
    CHECK_INT(device->stream_id(NULL, &stream_handle), 0);
    fake.priority_answer = CUDA_SUCCESS;
    fake.capture_answer = CUDA_ERROR_NOT_INITIALIZED;
    CHECK_INT(device->context(NULL), 0);
}

/* A driver without the functions: an old one, or none at all. */
static void a_driver_without_the_functions_fails(void)
{
    void *made = NULL;
    int failed = CUDNN_STATUS_EXECUTION_FAILED;
    start();
    driver = (struct cs_driver){.cuThreadExchangeStreamCaptureMode = NULL};
    CHECK_INT(device->context(NULL), 0);
    CHECK(device->handle(NULL) == NULL);
    CHECK(device->lives(NULL, &graph_handle, 1)); /* its end is never reported */
    CHECK_INT(device->stream_id(NULL, &stream_handle), 0);
    CHECK_INT(device->stream_create(NULL, &stream_handle, &made), failed);
    CHECK_INT(device->event_create(NULL, &made), failed);
    CHECK_INT(device->record(NULL, &event_handle, &stream_handle), failed);
    CHECK_INT(device->wait(NULL, &stream_handle, &event_handle), failed);
    CHECK(!device->done(NULL, &event_handle));
    CHECK_INT(device->allocate(NULL, 512, &made), failed);
    CHECK_INT(device->keep(NULL, &graph_handle, count, &gone), failed);
    device->free(NULL, memory_handle);
    device->stream_destroy(NULL, &stream_handle);
    device->event_destroy(NULL, &event_handle);
    CHECK(made == NULL && fake.released == 0 && fake.destroyed == 0);
    driver.cuUserObjectCreate = create_object; /* and one that can make objects alone */
    gone = 0;
    CHECK_INT(device->keep(NULL, &graph_handle, count, &gone), failed);
    fake.tell(fake.reported); /* a later report by the driver comes too late */
    CHECK_INT(gone, 0);
    driver.cuStreamCreateWithPriority = create_stream;
    CHECK_INT(device->stream_create(NULL, &stream_handle, &made), CUDNN_STATUS_SUCCESS);
    CHECK_INT(fake.created_priority, 0);
}

int main(void)
{
    heap_watch();
    TEST(a_driver_without_the_functions_fails);
    TEST(a_void_capture_is_a_failure);
    TEST(lanes_have_the_priority_of_the_callers_stream);
    TEST(a_green_contexts_stream_is_confined);
    TEST(objects_are_created_in_relaxed_mode);
    TEST(failures_become_statuses_without_objects);
    TEST(end_of_a_graph_is_reported_once);
    TEST(numbers_begin_at_one);
    return REPORT();
}
