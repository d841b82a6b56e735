/* Random sequences of the steps by which programs plan convolutions. One table of sizes, by
 * problem, engine and knobs, is shared by all steps and processes:
 *
 *     stored_random TABLE SEED SEQUENCES
 *
 * TABLE is a folder, in which the sizes and some plans as JSON are kept. A sequence begins with a
 * new handle, and often in a forked process. Its steps plan an entry of a heuristics list, or an
 * engine with knobs from the table, query a configuration, load a plan from JSON, query or run a
 * legacy call, limit scratch, go on with another handle or device, or do the same in a thread that
 * has never called the runtime. Plans and calls run in exactly the size of the table. In a long
 * run, some processes begin with more shapes than the library remembers.
 *
 * Status 1: a size was different from the table's, or an execution failed. */
#include "graph.h"
#include "legacy.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STEPS = 6, /* of a sequence */
    ROWS = 4096,
    TEXTS = 8, /* plans that are kept as JSON */
    JSON_ROOM = 1 << 20,
    MANY = 12,    /* first entries of a list that are used */
    SHAPES = 2200 /* CS_MEMO_SETS * CS_MEMO_WAYS and some more */
};

#define LAYER(type, batch, in, out, h, w, k)                                                       \
    {                                                                                              \
        type, batch, in, out, {h, w}, {k, k}, {k / 2, k / 2}, {k / 2, k / 2},                      \
        {                                                                                          \
            1, 1                                                                                   \
        }                                                                                          \
    }
static const struct layer layers[] = {
    LAYER(CUDNN_DATA_FLOAT, 8, 256, 256, 56, 56, 3),
    LAYER(CUDNN_DATA_HALF, 4, 256, 256, 112, 112, 3),
    LAYER(CUDNN_DATA_HALF, 2, 128, 128, 256, 256, 3),
    LAYER(CUDNN_DATA_HALF, 16, 128, 128, 64, 64, 3),
    LAYER(CUDNN_DATA_FLOAT, 4, 64, 64, 128, 128, 5),
    LAYER(CUDNN_DATA_FLOAT, 32, 64, 64, 28, 28, 3),
    LAYER(CUDNN_DATA_FLOAT, 16, 64, 128, 112, 112, 3),
    LAYER(CUDNN_DATA_FLOAT, 64, 32, 32, 112, 112, 3),
    LAYER(CUDNN_DATA_FLOAT, 1, 128, 128, 512, 512, 3),
    LAYER(CUDNN_DATA_FLOAT, 2, 512, 512, 64, 64, 3),
    LAYER(CUDNN_DATA_FLOAT, 8, 48, 96, 90, 70, 7),
    LAYER(CUDNN_DATA_FLOAT, 12, 192, 64, 48, 160, 1),
    LAYER(CUDNN_DATA_HALF, 1, 64, 3, 768, 768, 3),
    LAYER(CUDNN_DATA_HALF, 32, 64, 64, 96, 96, 3),
    LAYER(CUDNN_DATA_HALF, 8, 320, 320, 64, 64, 3),
    LAYER(CUDNN_DATA_HALF, 6, 96, 160, 130, 90, 5),
    LAYER(CUDNN_DATA_BFLOAT16, 4, 512, 512, 64, 64, 3),
    LAYER(CUDNN_DATA_BFLOAT16, 16, 256, 128, 80, 80, 3),
    LAYER(CUDNN_DATA_BFLOAT16, 1, 192, 192, 240, 416, 3),
    LAYER(CUDNN_DATA_BFLOAT16, 24, 40, 80, 100, 60, 3),
};
enum {
    LAYERS = sizeof layers / sizeof *layers,
    PROBLEMS = LAYERS * DIRECTIONS,
    FEW = 6 /* of a short run, which then compares each size */
};

/* Problems are numbers: a layer and a direction. */
static const struct layer *layer_of(int64_t problem)
{
    return &layers[problem % LAYERS];
}

/* The first problems have different layers and all directions. */
static enum direction direction_of(int64_t problem)
{
    return (enum direction)((problem + problem / LAYERS) % DIRECTIONS);
}

/* A size that was reported. A legacy row has the algorithm as its engine. */
struct row {
    int64_t problem, legacy;
    struct backend_engine algorithm;
    int64_t bytes;
};

static struct {
    const char *folder;
    uint64_t random;
    struct row row[ROWS];
    int rows, devices, problems;
    bool faulty;
    struct session session;
    atomic_llong *compared; /* sizes, of all processes */
} driver;

/* A state for each process, which has no pattern in common with that of another (splitmix64). */
static uint64_t mixed(uint64_t seed, uint64_t process)
{
    uint64_t mix = seed * UINT64_C(0xd1342543de82ef95) + process * UINT64_C(0x9e3779b97f4a7c15);
    mix = (mix ^ mix >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mix = (mix ^ mix >> 27) * UINT64_C(0x94d049bb133111eb);
    return mix ^ mix >> 31;
}

static int64_t below(int64_t count)
{
    driver.random = driver.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(driver.random >> 33) % count;
}

static void path_of(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", driver.folder, name);
}

static void fault(const char *what, const struct row *row, int64_t bytes)
{
    driver.faulty = true;
    printf("FAULT: %s: problem %lld%s, engine %lld: %lld bytes, %lld in the table\n", what,
           (long long)row->problem, row->legacy ? " (legacy)" : "", (long long)row->algorithm.index,
           (long long)bytes, (long long)row->bytes);
}

/* --- the table --- */

static void read_table(void)
{
    char path[4096];
    path_of("table", path, sizeof path);
    FILE *file = fopen(path, "rb");
    driver.rows = 0;
    if (!file)
        return;
    driver.rows = (int)fread(driver.row, sizeof *driver.row, ROWS, file);
    fclose(file);
}

static void write_row(const struct row *row)
{
    char path[4096];
    path_of("table", path, sizeof path);
    FILE *file = fopen(path, "ab");
    if (!file || fwrite(row, sizeof *row, 1, file) != 1 || fclose(file) != 0)
        driver.faulty = true;
}

/* Compares a size with the table's, or adds it. NULL if the table is full. */
static const struct row *check_size(const char *what, const struct row *now)
{
    for (int i = 0; i < driver.rows; i++) {
        struct row *row = &driver.row[i];
        if (row->problem != now->problem || row->legacy != now->legacy ||
            memcmp(&row->algorithm, &now->algorithm, sizeof row->algorithm) != 0)
            continue;
        atomic_fetch_add(driver.compared, 1);
        if (row->bytes != now->bytes)
            fault(what, row, now->bytes);
        return row;
    }
    if (driver.rows == ROWS)
        return NULL;
    driver.row[driver.rows] = *now;
    write_row(now);
    return &driver.row[driver.rows++];
}

/* A row of the backend API or the legacy API; NULL if a few draws find none. */
static const struct row *any_row(bool legacy)
{
    for (int turn = 0; turn < 16 && driver.rows > 0; turn++) {
        const struct row *row = &driver.row[below(driver.rows)];
        if ((row->legacy != 0) == legacy)
            return row;
    }
    return NULL;
}

/* --- running --- */

struct memory {
    struct operands operands;
    void *workspace;
};

static bool allocate(const struct row *row, struct memory *memory)
{
    memset(memory, 0, sizeof *memory);
    operands_shape(layer_of(row->problem), &memory->operands);
    for (int role = 0; role < ROLES; role++)
        if (!session_memory(tensor_storage_bytes(&memory->operands.tensor[role]),
                            &memory->operands.device[role]))
            return false;
    return session_memory((size_t)row->bytes, &memory->workspace);
}

static void release(struct memory *memory)
{
    for (int role = 0; role < ROLES; role++)
        cudaFree(memory->operands.device[role]);
    cudaFree(memory->workspace);
}

static struct wish wish_of(const struct row *row)
{
    return (struct wish){direction_of(row->problem), 1.0F, 0.0F, false, false, NULL};
}

static void run_plan(cudnnBackendDescriptor_t plan, const struct row *row)
{
    struct memory memory;
    const struct wish wish = wish_of(row);
    if (!allocate(row, &memory) ||
        plan_run(&driver.session, plan, &memory.operands, &wish, memory.workspace) !=
            CUDNN_STATUS_SUCCESS ||
        cudaDeviceSynchronize() != cudaSuccess)
        fault("the plan did not run", row, row->bytes);
    release(&memory);
}

/* --- steps --- */

/* The thread has no context, so nothing is run. */
static _Thread_local bool only_plans;

static void save_text(cudnnBackendDescriptor_t plan, const struct row *row)
{
    char name[32], path[4096], *text = malloc(JSON_ROOM);
    int64_t length = 0;
    snprintf(name, sizeof name, "plan%lld", (long long)below(TEXTS));
    path_of(name, path, sizeof path);
    FILE *file = text ? fopen(path, "wb") : NULL;
    if (file &&
        cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                 CUDNN_TYPE_CHAR, JSON_ROOM, &length, text) == CUDNN_STATUS_SUCCESS)
        fwrite(row, sizeof *row, 1, file), fwrite(text, 1, (size_t)length, file);
    if (file)
        fclose(file);
    free(text);
}

/* A plan of a configuration: its size, and sometimes an execution or its JSON. */
static void use_config(const char *what, cudnnBackendDescriptor_t config, int64_t problem)
{
    cudnnBackendDescriptor_t plan = NULL;
    struct row now = {.problem = problem};
    if (backend_engine_read(config, &now.algorithm) != CUDNN_STATUS_SUCCESS)
        return;
    if (below(3) == 0 && config_size(config, &now.bytes) == CUDNN_STATUS_SUCCESS)
        check_size("configuration", &now);
    if (plan_open(config, driver.session.handle, &plan) == CUDNN_STATUS_SUCCESS &&
        plan_size(plan, &now.bytes) == CUDNN_STATUS_SUCCESS) {
        const struct row *row = check_size(what, &now);
        if (row && !only_plans && below(2) == 0)
            run_plan(plan, row);
        if (row && below(8) == 0)
            save_text(plan, row);
        if (below(3) == 0 && config_size(config, &now.bytes) == CUDNN_STATUS_SUCCESS)
            check_size("configuration of a plan", &now);
    }
    plan_close(plan);
}

static void step_list(void)
{
    struct graph graph = {0};
    struct configs configs = {0};
    struct operands operands;
    const struct row some = {.problem = below(driver.problems)};
    const struct wish wish = wish_of(&some);
    operands_shape(layer_of(some.problem), &operands);
    if (graph_open(driver.session.handle, &operands, &wish, &graph) == CUDNN_STATUS_SUCCESS &&
        configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs) == CUDNN_STATUS_SUCCESS &&
        configs.count > 0)
        use_config("list entry", configs.config[below(configs.count < MANY ? configs.count : MANY)],
                   some.problem);
    configs_close(&configs);
    graph_close(&graph);
}

static void step_own(void)
{
    struct graph graph = {0};
    struct operands operands;
    cudnnBackendDescriptor_t config = NULL;
    const struct row *row = any_row(false);
    if (!row)
        return;
    const struct wish wish = wish_of(row);
    operands_shape(layer_of(row->problem), &operands);
    if (graph_open(driver.session.handle, &operands, &wish, &graph) == CUDNN_STATUS_SUCCESS &&
        backend_engine_config(&row->algorithm, graph.graph, &config) == CUDNN_STATUS_SUCCESS)
        use_config("own plan", config, row->problem);
    plan_close(config);
    graph_close(&graph);
}

static void step_load(void)
{
    char name[32], path[4096], *text = malloc(JSON_ROOM);
    cudnnBackendDescriptor_t plan = NULL;
    struct row row;
    int64_t length = 0, bytes = 0;
    snprintf(name, sizeof name, "plan%lld", (long long)below(TEXTS));
    path_of(name, path, sizeof path);
    FILE *file = text ? fopen(path, "rb") : NULL;
    if (file && fread(&row, sizeof row, 1, file) == 1)
        length = (int64_t)fread(text, 1, JSON_ROOM, file);
    if (file)
        fclose(file);
    if (length > 0 &&
        cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) ==
            CUDNN_STATUS_SUCCESS &&
        cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                 &driver.session.handle) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                 CUDNN_TYPE_CHAR, length, text) == CUDNN_STATUS_SUCCESS &&
        cudnnBackendFinalize(plan) == CUDNN_STATUS_SUCCESS &&
        plan_size(plan, &bytes) == CUDNN_STATUS_SUCCESS) {
        atomic_fetch_add(driver.compared, 1);
        if (bytes != row.bytes)
            fault("JSON", &row, bytes);
        if (!only_plans)
            run_plan(plan, &row);
        if (below(2) == 0)
            save_text(plan, &row);
    }
    plan_close(plan);
    free(text);
}

static void query_legacy(const struct legacy *legacy, int64_t problem)
{
    struct answers answers = {0};
    const enum direction direction = direction_of(problem);
    if (legacy_get(&driver.session, legacy, direction, &answers) != CUDNN_STATUS_SUCCESS)
        return;
    for (int i = 0; i < answers.count && i < LEGACY_ANSWERS; i++) {
        struct row now = {.problem = problem, .legacy = 1};
        size_t bytes;
        now.algorithm.index = answers.row[i].algorithm;
        if (answers.row[i].status != CUDNN_STATUS_SUCCESS ||
            legacy_size(&driver.session, legacy, direction, answers.row[i].algorithm, &bytes) !=
                CUDNN_STATUS_SUCCESS)
            continue;
        now.bytes = (int64_t)bytes;
        check_size("legacy", &now);
    }
}

/* A legacy row runs also in a process that has queried nothing. */
static void step_legacy(void)
{
    struct legacy legacy = {0};
    struct memory memory;
    const struct row *row = any_row(true);
    const struct row some =
        row ? *row : (struct row){.problem = below(driver.problems), .legacy = 1};
    if (!allocate(&some, &memory) ||
        legacy_open(&memory.operands, CUDNN_DEFAULT_MATH, &legacy) != CUDNN_STATUS_SUCCESS)
        goto close;
    if (!row || below(4) == 0)
        query_legacy(&legacy, some.problem);
    const struct brought brought = {(int)some.algorithm.index, memory.workspace,
                                    (size_t)some.bytes};
    if (row && (legacy_run(&driver.session, &legacy, direction_of(some.problem), &memory.operands,
                           &brought, 1, 0) != CUDNN_STATUS_SUCCESS ||
                cudaDeviceSynchronize() != cudaSuccess))
        fault("the legacy call did not run", row, row->bytes);
close:
    legacy_close(&legacy);
    release(&memory);
}

static void step_limit(void)
{
    int64_t (*limit)(int64_t) = (int64_t(*)(int64_t))dlsym(RTLD_DEFAULT, "convshim_limit");
    if (limit)
        limit(below(2) == 0 ? 0 : (int64_t)8 << 20);
}

static void new_handle(void)
{
    if (driver.session.handle && below(2) == 0)
        cudnnDestroy(driver.session.handle);
    if (cudnnCreate(&driver.session.handle) != CUDNN_STATUS_SUCCESS)
        exit(1);
}

static void step_device(void)
{
    if (cudaSetDevice((int)below(driver.devices)) != cudaSuccess)
        exit(1);
    driver.session.handle = NULL;
    new_handle();
}

static void plan_some(void)
{
    switch (below(3)) {
    case 0:
        step_list();
        break;
    case 1:
        step_own();
        break;
    default:
        step_load();
    }
}

static void *plan_apart(void *unused)
{
    only_plans = true;
    plan_some();
    return unused;
}

static void step_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, plan_apart, NULL) == 0)
        pthread_join(thread, NULL);
}

static void plan_shapes(void)
{
    for (int i = 0; i < SHAPES; i++) {
        const struct layer layer = LAYER(CUDNN_DATA_FLOAT, 1 + i % 7, 64 + 8 * (i / 7 % 11), 64,
                                         112 + i / 77, 112 + i / 77, 3);
        const struct wish wish = {FORWARD, 1.0F, 0.0F, false, false, NULL};
        struct operands operands;
        struct graph graph = {0};
        struct configs configs = {0};
        cudnnBackendDescriptor_t plan = NULL;
        operands_shape(&layer, &operands);
        if (graph_open(driver.session.handle, &operands, &wish, &graph) == CUDNN_STATUS_SUCCESS &&
            configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs) == CUDNN_STATUS_SUCCESS &&
            configs.count > 0)
            (void)plan_open(configs.config[0], driver.session.handle, &plan);
        plan_close(plan);
        configs_close(&configs);
        graph_close(&graph);
    }
}

static void run_sequence(void)
{
    static void (*const steps[])(void) = {step_list,   step_own,    step_own,   step_load,
                                          step_legacy, step_legacy, step_limit, step_thread,
                                          new_handle,  step_device};
    new_handle();
    for (int i = 0; i < STEPS && !driver.faulty; i++)
        steps[below(sizeof steps / sizeof *steps)]();
}

/* Runs sequences in a child, which begins without a context, a handle or a decision. */
static bool run_process(int sequences)
{
    int status = 0;
    fflush(NULL);
    const uint64_t state = driver.random;
    const pid_t child = fork();
    if (child == 0) {
        read_table();
        if (cudaGetDeviceCount(&driver.devices) != cudaSuccess)
            exit(1);
        if (driver.problems == PROBLEMS && below(20) == 0)
            plan_shapes();
        for (int i = 0; i < sequences && !driver.faulty; i++)
            run_sequence();
        if (driver.faulty)
            printf("process with state %llu\n", (unsigned long long)state);
        exit(driver.faulty);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool run_all(uint64_t seed, int sequences)
{
    driver.problems = sequences < 100 ? FEW : PROBLEMS;
    for (uint64_t process = 0; sequences > 0; process++) {
        driver.random = mixed(seed, process);
        const int now = 1 + (int)below(12);
        if (!run_process(now < sequences ? now : sequences))
            return false;
        sequences -= now;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    driver.folder = argv[1];
    driver.compared = mmap(NULL, sizeof *driver.compared, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (driver.compared == MAP_FAILED)
        return 2;
    const bool good = run_all(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    read_table();
    printf("%d sizes, compared %lld times\n", driver.rows, atomic_load(driver.compared));
    return !good || atomic_load(driver.compared) == 0;
}
