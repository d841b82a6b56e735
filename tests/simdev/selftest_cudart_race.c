/* Tests of the race check, of orders from a seed, and of dropped calls. Prints TAP. */
#include "selftest_cuda.h"
#include <stdatomic.h>
#include <string.h>

enum {
    BYTES = 4096,
    ORDER = 32,
    MEETINGS = 20
};

/* These programs race on purpose, which ThreadSanitizer would report too. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_bugs=0";
}

static unsigned char *memory;

/* A program, and the expected result. */
struct program {
    const char *name;
    bool races;
    void (*run)(cudaStream_t a, cudaStream_t b, cudaEvent_t event);
};

static void write_bytes(cudaStream_t stream, size_t from, size_t bytes)
{
    (void)cudaMemsetAsync(memory + from, 1, bytes, stream);
}

static void read_bytes(cudaStream_t stream, size_t from)
{
    static unsigned char *copies, *copy;
    if (!copies)
        copy = copies = device_alloc(16 * BYTES);
    copy += 16; /* different bytes each time, so that only the source can race */
    (void)cudaMemcpyAsync(copy, memory + from, 8, cudaMemcpyDeviceToDevice, stream);
}

static void order_by_event(cudaStream_t from, cudaStream_t to, cudaEvent_t event)
{
    (void)cudaEventRecord(event, from);
    (void)cudaStreamWaitEvent(to, event, 0);
}

static void two_writes(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    write_bytes(a, 0, 64);
    write_bytes(b, 32, 64);
}

static void write_and_read(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    read_bytes(a, 0);
    write_bytes(b, 0, 64);
}

static void two_reads(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    read_bytes(a, 0);
    read_bytes(b, 0);
}

/* Copies eight rows of `bytes` bytes at a distance of 64. */
static void put_rows(cudaStream_t stream, size_t from, size_t bytes)
{
    static unsigned char *source;
    if (!source)
        source = device_alloc(BYTES);
    (void)cudaMemcpy2DAsync(memory + from, 64, source, 64, bytes, 8, cudaMemcpyDeviceToDevice,
                            stream);
}

static void interleaved_rows(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put_rows(a, 0, 32);
    put_rows(b, 32, 32);
}

static void overlapping_rows(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put_rows(a, 0, 34);
    put_rows(b, 32, 32);
}

static void ordered_by_event(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    write_bytes(a, 0, 64);
    order_by_event(a, b, event);
    write_bytes(b, 0, 64);
}

static void recorded_too_early(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)cudaEventRecord(event, a);
    write_bytes(a, 0, 64);
    (void)cudaStreamWaitEvent(b, event, 0);
    write_bytes(b, 0, 64);
}

static void awaited_too_late(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    write_bytes(a, 0, 64);
    (void)cudaEventRecord(event, a);
    write_bytes(b, 0, 64);
    (void)cudaStreamWaitEvent(b, event, 0);
}

static void ordered_by_host_wait(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    write_bytes(a, 0, 64);
    (void)cudaStreamSynchronize(a);
    write_bytes(b, 0, 64);
}

static void ordered_by_queries(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    write_bytes(a, 0, 64);
    (void)cudaEventRecord(event, a);
    while (cudaEventQuery(event) == cudaErrorNotReady)
        (void)cudaGetLastError();
    write_bytes(b, 0, 64);
}

static void ordered_by_legacy_stream(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)b, (void)event;
    write_bytes(a, 0, 64);
    write_bytes(NULL, 0, 64);
    write_bytes(a, 0, 64);
}

static void with_non_blocking_stream(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)a, (void)event;
    write_bytes(NULL, 0, 64);
    write_bytes(b, 0, 64);
}

/* b takes part in a's capture. With `joined`, the two writes are ordered. */
static cudaGraphExec_t capture(cudaStream_t a, cudaStream_t b, cudaEvent_t event, bool joined)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed);
    order_by_event(a, b, event);
    write_bytes(b, 0, 64);
    if (joined)
        order_by_event(b, a, event);
    write_bytes(a, 0, 64);
    if (!joined)
        order_by_event(b, a, event);
    (void)cudaStreamEndCapture(a, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphDestroy(graph);
    return exec;
}

static void launch_and_end(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)cudaGraphLaunch(exec, stream);
    (void)cudaGraphExecDestroy(exec);
}

static void graph_without_edge(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, false), a);
}

static void graph_with_edge(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, true), a);
}

/* The end of a graph may show the host that its replays are over, so it comes after the parallel
 * work is queued. */
static void replay_parallel_to_work(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    cudaGraphExec_t exec = capture(a, b, event, true);
    (void)cudaGraphLaunch(exec, a);
    write_bytes(b, 0, 64);
    (void)cudaGraphExecDestroy(exec);
}

static void replay_before_work(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, true), a);
    order_by_event(a, b, event);
    write_bytes(b, 0, 64);
}

static void replays_of_one_graph(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    cudaGraphExec_t exec = capture(a, b, event, true);
    (void)cudaGraphLaunch(exec, a);
    launch_and_end(exec, b);
}

static void raise_flag(void *flag)
{
    atomic_store((atomic_bool *)flag, true);
}

/* With a seed, the device continues when the host makes a query. */
static void await_flag(atomic_bool *flag, cudaEvent_t beside)
{
    while (!atomic_load(flag))
        if (cudaEventQuery(beside) != cudaSuccess)
            (void)cudaGetLastError();
}

/* A graph that writes, calls the host and retains an object. */
static cudaGraphExec_t capture_kept(cudaStream_t stream, atomic_bool *ran, atomic_bool *gone)
{
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)cudaUserObjectCreate(&object, gone, raise_flag, 1, cudaUserObjectNoDestructorSync);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    write_bytes(stream, 0, 64);
    (void)cudaLaunchHostFunc(stream, raise_flag, ran);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphDestroy(graph);
    return exec;
}

/* May run between the end of the replay and the stream's notice of it. A host that has seen the
 * object's destruction may use the memory that the graph used. */
static void ordered_by_user_object(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    for (int i = 0; i < MEETINGS; i++) {
        static atomic_bool ran, gone;
        atomic_store(&ran, false);
        atomic_store(&gone, false);
        cudaGraphExec_t exec = capture_kept(a, &ran, &gone);
        (void)cudaEventRecord(event, b);
        (void)cudaGraphLaunch(exec, a);
        await_flag(&ran, event);
        (void)cudaGraphExecDestroy(exec);
        await_flag(&gone, event);
        write_bytes(b, 0, 64);
        (void)cudaStreamSynchronize(b);
    }
}

static void ordered_by_driver_event(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    write_bytes(a, 0, 64);
    (void)cu.cuEventRecord(event, a);
    (void)cu.cuStreamWaitEvent(b, event, 0);
    write_bytes(b, 0, 64);
}

static void dropped_wait(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    simdev_drop("cuStreamWaitEvent", 1);
    ordered_by_driver_event(a, b, event);
    simdev_drop("cuStreamWaitEvent", 0);
}

static void dropped_record(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    simdev_drop("cuEventRecord", UINT64_MAX);
    ordered_by_driver_event(a, b, event);
    simdev_drop("cuEventRecord", 0);
}

static const struct program programs[] = {
    {"two streams: two writes, race", true, two_writes},
    {"two streams: a write and a read, race", true, write_and_read},
    {"two streams: two reads, no race", false, two_reads},
    {"two streams: interleaved rows, no race", false, interleaved_rows},
    {"two streams: rows that share bytes, race", true, overlapping_rows},
    {"event: orders two streams", false, ordered_by_event},
    {"event: recorded before the work, race", true, recorded_too_early},
    {"event: waited for after the work, race", true, awaited_too_late},
    {"host: wait orders two streams", false, ordered_by_host_wait},
    {"host: queries until the end order two streams", false, ordered_by_queries},
    {"legacy stream: ordered with a blocking stream", false, ordered_by_legacy_stream},
    {"legacy stream: with a non-blocking stream, race", true, with_non_blocking_stream},
    {"graph: nodes without an edge, race", true, graph_without_edge},
    {"graph: nodes with edges, no race", false, graph_with_edge},
    {"replay: with parallel work, race", true, replay_parallel_to_work},
    {"replay: ordered by an event", false, replay_before_work},
    {"replay: two of one graph, ordered", false, replays_of_one_graph},
    {"user object: its destruction orders replays before the host", false, ordered_by_user_object},
    {"driver: events order two streams", false, ordered_by_driver_event},
    {"driver: dropped wait, race", true, dropped_wait},
    {"driver: dropped record, race", true, dropped_record},
};

/* Runs the program in the orders of a few seeds, because the result must not depend on the order.
 */
static bool has_expected_result(const struct program *program)
{
    bool good = true;
    for (uint64_t seed = 0; seed < 12; seed++) {
        cudaStream_t a, b;
        cudaEvent_t event;
        simdev_seed(seed);
        const uint64_t before = simdev_violations();
        (void)cudaStreamCreate(&a);
        (void)cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
        (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        program->run(a, b, event);
        (void)cudaDeviceSynchronize();
        (void)cudaEventDestroy(event);
        (void)cudaStreamDestroy(a);
        (void)cudaStreamDestroy(b);
        good = (simdev_violations() > before) == program->races && good;
    }
    simdev_seed(0);
    return good;
}

/* --- orders --- */

static int order[ORDER], ordered;

static void record_order(void *arg)
{
    order[ordered++] = (int)(intptr_t)arg;
}

/* Queues eight operations on each of four streams and records the order in which they run. */
static void run_order(uint64_t seed)
{
    cudaStream_t stream[4];
    simdev_seed(seed);
    ordered = 0;
    for (int s = 0; s < 4; s++)
        (void)cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking);
    for (int i = 0; i < ORDER; i++)
        (void)enqueue(stream[i % 4], record_order, (void *)(intptr_t)i);
    (void)cudaDeviceSynchronize();
    for (int s = 0; s < 4; s++)
        (void)cudaStreamDestroy(stream[s]);
    simdev_seed(0);
}

static void test_orders(void)
{
    int first[ORDER], differ = 0, starved = 0;
    bool same = true, legal = true;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        run_order(seed);
        memcpy(first, order, sizeof order);
        int last[4] = {-1, -1, -1, -1};
        for (int i = 0; i < ORDER; i++) {
            legal = legal && order[i] > last[order[i] % 4];
            last[order[i] % 4] = order[i];
            differ += order[i] != i;
        }
        for (int s = 0; s < 4; s++) /* the last eight all from one stream */
            starved +=
                order[ORDER - 1] % 4 == s && order[ORDER - 8] % 4 == s && order[ORDER - 4] % 4 == s;
        run_order(seed);
        same = same && memcmp(first, order, sizeof order) == 0;
    }
    check(legal, "seed: order of each stream kept");
    check(same, "seed: same seed, same order");
    check(differ > 200, "seed: different from the order of the calls");
    check(starved > 0, "seed: some seed starves a stream");
}

int main(void)
{
    setenv("SIMDEV_RACES", "1", 1);
    (void)freopen("/dev/null", "w", stderr); /* hides the expected violations */
    memory = device_alloc(BYTES);
    check(memory && bind_driver(), "device and driver: available");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check(has_expected_result(&programs[i]), programs[i].name);
    test_orders();
    return finish_checks();
}
