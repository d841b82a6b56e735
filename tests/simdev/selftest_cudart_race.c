/* Tests of the race check, of orders from a seed, and of calls left out. Prints TAP. */
#include "selftest_cuda.h"
#include <stdatomic.h>
#include <string.h>

enum {
    BYTES = 4096,
    ORDER = 32,
    MEETINGS = 200
};

/* These programs race on purpose; ThreadSanitizer would tell so, too. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_bugs=0";
}

static unsigned char *memory;

/* A program, and whether it has a race. */
struct program {
    const char *name;
    bool races;
    void (*run)(cudaStream_t a, cudaStream_t b, cudaEvent_t event);
};

static void put(cudaStream_t stream, size_t from, size_t bytes)
{
    (void)cudaMemsetAsync(memory + from, 1, bytes, stream);
}

static void get(cudaStream_t stream, size_t from)
{
    static unsigned char *copies, *copy;
    if (!copies)
        copy = copies = device_alloc(16 * BYTES);
    copy += 16; /* another place every time, so that only the source can race */
    (void)cudaMemcpyAsync(copy, memory + from, 8, cudaMemcpyDeviceToDevice, stream);
}

static void hand_over(cudaStream_t from, cudaStream_t to, cudaEvent_t event)
{
    (void)cudaEventRecord(event, from);
    (void)cudaStreamWaitEvent(to, event, 0);
}

static void two_writes(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put(a, 0, 64);
    put(b, 32, 64);
}

static void write_and_read(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    get(a, 0);
    put(b, 0, 64);
}

static void two_reads(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    get(a, 0);
    get(b, 0);
}

/* Eight rows of `bytes`, every 64. */
static void put_rows(cudaStream_t stream, size_t from, size_t bytes)
{
    static unsigned char *source;
    if (!source)
        source = device_alloc(BYTES);
    (void)cudaMemcpy2DAsync(memory + from, 64, source, 64, bytes, 8, cudaMemcpyDeviceToDevice,
                            stream);
}

static void neighbours(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put_rows(a, 0, 32);
    put_rows(b, 32, 32);
}

static void neighbours_too_close(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put_rows(a, 0, 34);
    put_rows(b, 32, 32);
}

static void by_an_event(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    put(a, 0, 64);
    hand_over(a, b, event);
    put(b, 0, 64);
}

static void recorded_too_early(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)cudaEventRecord(event, a);
    put(a, 0, 64);
    (void)cudaStreamWaitEvent(b, event, 0);
    put(b, 0, 64);
}

static void awaited_too_late(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    put(a, 0, 64);
    (void)cudaEventRecord(event, a);
    put(b, 0, 64);
    (void)cudaStreamWaitEvent(b, event, 0);
}

static void by_the_host(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)event;
    put(a, 0, 64);
    (void)cudaStreamSynchronize(a);
    put(b, 0, 64);
}

static void by_asking(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    put(a, 0, 64);
    (void)cudaEventRecord(event, a);
    while (cudaEventQuery(event) == cudaErrorNotReady)
        (void)cudaGetLastError();
    put(b, 0, 64);
}

static void by_the_legacy_stream(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)b, (void)event;
    put(a, 0, 64);
    put(NULL, 0, 64);
    put(a, 0, 64);
}

static void beside_the_legacy_stream(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    (void)a, (void)event;
    put(NULL, 0, 64);
    put(b, 0, 64);
}

/* b takes part in a's capture; with `joined` the two writes are ordered there. */
static cudaGraphExec_t capture(cudaStream_t a, cudaStream_t b, cudaEvent_t event, bool joined)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed);
    hand_over(a, b, event);
    put(b, 0, 64);
    if (joined)
        hand_over(b, a, event);
    put(a, 0, 64);
    if (!joined)
        hand_over(b, a, event);
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

static void in_a_graph(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, false), a);
}

static void edges(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, true), a);
}

/* Who ends a graph may learn that its replays are over: not before the work beside it is there. */
static void a_replay_beside(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    cudaGraphExec_t exec = capture(a, b, event, true);
    (void)cudaGraphLaunch(exec, a);
    put(b, 0, 64);
    (void)cudaGraphExecDestroy(exec);
}

static void a_replay_before(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    launch_and_end(capture(a, b, event, true), a);
    hand_over(a, b, event);
    put(b, 0, 64);
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

/* Where a seed decides, the device goes on when it is asked something. */
static void await_flag(atomic_bool *flag, cudaEvent_t beside)
{
    while (!atomic_load(flag))
        if (cudaEventQuery(beside) != cudaSuccess)
            (void)cudaGetLastError();
}

/* A graph that writes, calls the host and keeps an object. */
static cudaGraphExec_t capture_kept(cudaStream_t stream, atomic_bool *ran, atomic_bool *gone)
{
    cudaUserObject_t object = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)cudaUserObjectCreate(&object, gone, raise_flag, 1, cudaUserObjectNoDestructorSync);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    put(stream, 0, 64);
    (void)cudaLaunchHostFunc(stream, raise_flag, ran);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphDestroy(graph);
    return exec;
}

/* In the moment when the device has run the replay and its stream has not noticed yet, if the
 * threads meet so: whoever is told that the object is gone may use what the graph used. */
static void by_what_the_graph_kept(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
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
        put(b, 0, 64);
        (void)cudaStreamSynchronize(b);
    }
}

static void by_the_driver(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    put(a, 0, 64);
    (void)cu.cuEventRecord(event, a);
    (void)cu.cuStreamWaitEvent(b, event, 0);
    put(b, 0, 64);
}

static void without_the_wait(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    simdev_drop("cuStreamWaitEvent", 1);
    by_the_driver(a, b, event);
    simdev_drop("cuStreamWaitEvent", 0);
}

static void without_the_record(cudaStream_t a, cudaStream_t b, cudaEvent_t event)
{
    simdev_drop("cuEventRecord", UINT64_MAX);
    by_the_driver(a, b, event);
    simdev_drop("cuEventRecord", 0);
}

static const struct program programs[] = {
    {"two writes on two streams race", true, two_writes},
    {"a write and a read race", true, write_and_read},
    {"two reads do not", false, two_reads},
    {"rows between each other's rows do not", false, neighbours},
    {"rows that share bytes do", true, neighbours_too_close},
    {"an event orders", false, by_an_event},
    {"one that is recorded before the work does not", true, recorded_too_early},
    {"nor one that is awaited behind it", true, awaited_too_late},
    {"the host orders by waiting", false, by_the_host},
    {"and by asking until it is over", false, by_asking},
    {"the legacy stream orders blocking streams", false, by_the_legacy_stream},
    {"and no others", true, beside_the_legacy_stream},
    {"nodes of a graph race", true, in_a_graph},
    {"edges order them", false, edges},
    {"a replay races with what runs beside it", true, a_replay_beside},
    {"an event orders a replay", false, a_replay_before},
    {"replays of one graph are ordered", false, replays_of_one_graph},
    {"what a graph kept is gone behind its replays", false, by_what_the_graph_kept},
    {"the driver's events order", false, by_the_driver},
    {"but not where the wait is left out", true, without_the_wait},
    {"nor where the record is", true, without_the_record},
};

/* In every order that a few seeds give: what is found must not depend on it. */
static bool as_told(const struct program *program)
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

static void note(void *arg)
{
    order[ordered++] = (int)(intptr_t)arg;
}

/* Eight pieces of work on each of four streams; the order in which they run. */
static void run_order(uint64_t seed)
{
    cudaStream_t stream[4];
    simdev_seed(seed);
    ordered = 0;
    for (int s = 0; s < 4; s++)
        (void)cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking);
    for (int i = 0; i < ORDER; i++)
        (void)enqueue(stream[i % 4], note, (void *)(intptr_t)i);
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
        for (int s = 0; s < 4; s++) /* the last eight all of one stream */
            starved +=
                order[ORDER - 1] % 4 == s && order[ORDER - 8] % 4 == s && order[ORDER - 4] % 4 == s;
        run_order(seed);
        same = same && memcmp(first, order, sizeof order) == 0;
    }
    check(legal, "a seed keeps the order of each stream");
    check(same, "one seed gives one order");
    check(differ > 200, "seeds give orders that are not that of the calls");
    check(starved > 0, "some seed starves a stream");
}

int main(void)
{
    setenv("SIMDEV_RACES", "1", 1);
    (void)freopen("/dev/null", "w", stderr); /* what is to be found is written there */
    memory = device_alloc(BYTES);
    check(memory && bind_driver(), "the device and its driver are there");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        check(as_told(&programs[i]), programs[i].name);
    test_orders();
    return finish_checks();
}
