/* A program that keeps an engine, its knobs and a workspace size longer than their plan, as XLA
 * does in its compilation cache. Its arguments are steps, done in this order:
 *
 *     plan       plans a convolution from the heuristics' list; keeps engine, knobs, and the plan's
 *                size
 *     config     the same, with the size of the engine configuration, queried before the plan
 *     late       the same, queried after the plan was made, which must fit
 *     others     runs other convolutions
 *     shapes     plans more shapes than the library remembers
 *     handle     goes on with another handle, without destroying the first one
 *     device     goes on with a handle of the next device
 *     fork       goes on in a child process; only before the other steps, because CUDA does not
 *                survive a fork
 *     json       writes the plan as JSON, loads it, and compares its size
 *     save FILE  writes engine, knobs and size
 *     load FILE  reads them
 *     thread     creates the handle in a thread that has not called the runtime, for the next steps
 *     list       plans the first entry of a list again, which must not need more
 *     rebuild    builds a plan from engine and knobs, and runs it in exactly the kept size
 *     legacy     queries an algorithm of the legacy API and its size, and keeps both
 *     call       runs the kept algorithm in exactly the kept size, without a query
 *     data       the legacy steps that follow compute the gradient of the input, filter: of the
 *     filter     filter
 *
 * Prints the sizes. Status 1: a size grew or a call failed. */
#include "graph.h"
#include "legacy.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SHAPES = 2200, /* CS_MEMO_SETS * CS_MEMO_WAYS and some more */
    JSON_ROOM = 1 << 20
};

static const size_t arena_bytes = (size_t)512 << 20;

static const struct wish forward = {FORWARD, 1.0F, 0.0F, false, false, NULL};

static struct session session;
static struct operands kept_operands;
static struct backend_engine algorithm;
static int64_t kept = -1;
static enum direction direction = FORWARD;
static cudnnBackendDescriptor_t kept_plan;
static void *arena[ROLES + 1]; /* of the other convolutions: the same addresses again */

static void describe(struct operands *operands, int64_t batch, int64_t in, int64_t size,
                     int64_t out)
{
    memset(operands, 0, sizeof *operands);
    operands_shape(&(struct layer){.type = CUDNN_DATA_FLOAT,
                                   .batch = batch,
                                   .in = in,
                                   .out = out,
                                   .size = {size, size},
                                   .window = {3, 3},
                                   .pre = {1, 1},
                                   .post = {1, 1},
                                   .stride = {1, 1}},
                   operands);
}

static void drop_arena(void)
{
    for (int i = 0; i <= ROLES; i++) {
        cudaFree(arena[i]);
        arena[i] = NULL;
    }
}

enum when {
    OF_PLAN,
    BEFORE_PLAN,
    AFTER_PLAN
};

/* Plans with the first configuration that can be built. */
static bool plan(const struct operands *operands, enum when when, struct backend_engine *to,
                 int64_t *size_p, cudnnBackendDescriptor_t *plan_p)
{
    struct graph graph = {0};
    struct configs configs = {0};
    bool done = false;
    TRY_CUDNN(graph_open(session.handle, operands, &forward, &graph), close);
    TRY_CUDNN(configs_ask(&graph, CUDNN_HEUR_MODE_A, &configs), close);
    for (int i = 0; i < configs.count && !done; i++) {
        if (when == BEFORE_PLAN && config_size(configs.config[i], size_p) != CUDNN_STATUS_SUCCESS)
            continue;
        if (plan_open(configs.config[i], session.handle, plan_p) != CUDNN_STATUS_SUCCESS)
            continue;
        if (when == OF_PLAN)
            TRY_CUDNN(plan_size(*plan_p, size_p), close);
        if (when == AFTER_PLAN)
            TRY_CUDNN(config_size(configs.config[i], size_p), close);
        TRY_CUDNN(backend_engine_read(configs.config[i], to), close);
        done = true;
    }
close:
    configs_close(&configs);
    graph_close(&graph);
    return done;
}

static bool compare(const char *what, int64_t bytes)
{
    printf("%s: %lld bytes%s\n", what, (long long)bytes, bytes > kept ? ", more than kept" : "");
    return bytes <= kept;
}

static bool keep(enum when when)
{
    plan_close(kept_plan);
    kept_plan = NULL;
    bool done = plan(&kept_operands, when, &algorithm, &kept, &kept_plan);
    printf("kept: engine %lld, %lld bytes\n", (long long)algorithm.index, (long long)kept);
    if (done && when == AFTER_PLAN) {
        int64_t bytes;
        done = plan_size(kept_plan, &bytes) == CUDNN_STATUS_SUCCESS && compare("plan", bytes);
    }
    return done;
}

/* One after the other in the same memory, as of a caching allocator. */
static bool run_other(int64_t batch, int64_t in, int64_t size, int64_t out)
{
    struct operands operands;
    struct backend_engine unused;
    cudnnBackendDescriptor_t made = NULL;
    int64_t bytes;
    describe(&operands, batch, in, size, out);
    for (int i = 0; i <= ROLES; i++)
        if (!arena[i] && !session_memory(arena_bytes, &arena[i]))
            return false;
    bool done = plan(&operands, OF_PLAN, &unused, &bytes, &made);
    memcpy(operands.device, arena, sizeof operands.device);
    done = done && bytes <= (int64_t)arena_bytes &&
           plan_run(&session, made, &operands, &forward, arena[ROLES]) == CUDNN_STATUS_SUCCESS;
    plan_close(made);
    return done && cudaDeviceSynchronize() == cudaSuccess;
}

static bool run_others(void)
{
    return run_other(32, 64, 224, 64) && run_other(8, 64, 56, 64);
}

static bool plan_shapes(void)
{
    bool done = true;
    for (int i = 0; i < SHAPES && done; i++) {
        struct operands operands;
        struct backend_engine unused;
        cudnnBackendDescriptor_t made = NULL;
        int64_t bytes;
        describe(&operands, 1 + i % 7, 64 + 8 * (i / 7 % 11), 112 + i / 77, 64);
        done = plan(&operands, OF_PLAN, &unused, &bytes, &made);
        plan_close(made);
    }
    return done;
}

static bool use_handle(int device)
{
    TRY_CUDA(cudaSetDevice(device), fail);
    TRY_CUDNN(cudnnCreate(&session.handle), fail);
    return true;
fail:
    return false;
}

static bool go_on_in_child(void)
{
    fflush(NULL);
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        return true;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static bool rebuild(void)
{
    struct graph graph = {0};
    struct operands operands = kept_operands;
    cudnnBackendDescriptor_t config = NULL, made = NULL;
    int64_t bytes = 0;
    void *workspace = NULL;
    bool done = false;
    TRY_CUDNN(graph_open(session.handle, &operands, &forward, &graph), close);
    TRY_CUDNN(backend_engine_config(&algorithm, graph.graph, &config), close);
    TRY_CUDNN(plan_open(config, session.handle, &made), close);
    TRY_CUDNN(plan_size(made, &bytes), close);
    done = compare("rebuilt", bytes);
    for (int role = 0; role < ROLES && done; role++)
        done = session_memory(tensor_storage_bytes(&operands.tensor[role]), &operands.device[role]);
    done = done && session_memory((size_t)kept, &workspace) &&
           plan_run(&session, made, &operands, &forward, workspace) == CUDNN_STATUS_SUCCESS &&
           cudaDeviceSynchronize() == cudaSuccess;
    for (int role = 0; role < ROLES; role++)
        cudaFree(operands.device[role]);
    cudaFree(workspace);
close:
    plan_close(made);
    plan_close(config);
    graph_close(&graph);
    return done;
}

static bool pass_json(void)
{
    char *text = malloc(JSON_ROOM);
    cudnnBackendDescriptor_t loaded = NULL;
    int64_t length = 0, bytes = 0;
    bool done = false;
    TRY_CUDNN(cudnnBackendGetAttribute(kept_plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, JSON_ROOM, &length, text),
              close);
    TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &loaded),
              close);
    TRY_CUDNN(cudnnBackendSetAttribute(loaded, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                                       1, &session.handle),
              close);
    TRY_CUDNN(cudnnBackendSetAttribute(loaded, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, length, text),
              close);
    TRY_CUDNN(cudnnBackendFinalize(loaded), close);
    TRY_CUDNN(plan_size(loaded, &bytes), close);
    done = compare("loaded", bytes);
close:
    plan_close(loaded);
    free(text);
    return done;
}

static void *create_apart(void *done)
{
    *(bool *)done = cudnnCreate(&session.handle) == CUDNN_STATUS_SUCCESS;
    return NULL;
}

static bool create_in_thread(void)
{
    pthread_t thread;
    bool done = false;
    return pthread_create(&thread, NULL, create_apart, &done) == 0 &&
           pthread_join(thread, NULL) == 0 && done;
}

static bool plan_entry(void)
{
    struct backend_engine entry = {0};
    cudnnBackendDescriptor_t made = NULL;
    int64_t bytes;
    bool done = plan(&kept_operands, OF_PLAN, &entry, &bytes, &made) &&
                memcmp(&entry, &algorithm, sizeof entry) == 0 && compare("rebuilt", bytes);
    plan_close(made);
    return done;
}

static bool keep_legacy(void)
{
    struct legacy legacy = {0};
    struct answers answers = {0};
    size_t bytes = 0;
    bool done = false;
    TRY_CUDNN(legacy_open(&kept_operands, CUDNN_DEFAULT_MATH, &legacy), close);
    TRY_CUDNN(legacy_get(&session, &legacy, direction, &answers), close);
    TRY_CUDNN(legacy_size(&session, &legacy, direction, answers.row[0].algorithm, &bytes), close);
    algorithm.index = answers.row[0].algorithm;
    kept = (int64_t)bytes;
    printf("kept: algorithm %d, %zu bytes\n", answers.row[0].algorithm, bytes);
    done = bytes == answers.row[0].memory;
close:
    legacy_close(&legacy);
    return done;
}

static bool call_legacy(void)
{
    struct legacy legacy = {0};
    struct operands operands = kept_operands;
    void *workspace = NULL;
    bool done = session_memory((size_t)kept, &workspace);
    for (int role = 0; role < ROLES && done; role++)
        done = session_memory(tensor_storage_bytes(&operands.tensor[role]), &operands.device[role]);
    const struct brought brought = {(int)algorithm.index, workspace, (size_t)kept};
    done = done && legacy_open(&operands, CUDNN_DEFAULT_MATH, &legacy) == CUDNN_STATUS_SUCCESS &&
           legacy_run(&session, &legacy, direction, &operands, &brought, 1, 0) ==
               CUDNN_STATUS_SUCCESS &&
           cudaDeviceSynchronize() == cudaSuccess;
    printf("called: algorithm %d in %lld bytes\n", brought.algorithm, (long long)kept);
    for (int role = 0; role < ROLES; role++)
        cudaFree(operands.device[role]);
    cudaFree(workspace);
    legacy_close(&legacy);
    return done;
}

static bool set_direction(enum direction wanted)
{
    direction = wanted;
    return true;
}

static bool save(const char *path)
{
    FILE *file = fopen(path, "wb");
    bool done = file && fwrite(&algorithm, sizeof algorithm, 1, file) == 1 &&
                fwrite(&kept, sizeof kept, 1, file) == 1;
    return file && fclose(file) == 0 && done;
}

static bool load(const char *path)
{
    FILE *file = fopen(path, "rb");
    bool done = file && fread(&algorithm, sizeof algorithm, 1, file) == 1 &&
                fread(&kept, sizeof kept, 1, file) == 1;
    return file && fclose(file) == 0 && done;
}

static bool do_step(const char *step, int *device, char ***rest)
{
    if (strcmp(step, "save") == 0 || strcmp(step, "load") == 0) {
        const char *path = *(*rest)++;
        return path && (*step == 's' ? save(path) : load(path));
    }
    return strcmp(step, "plan") == 0      ? keep(OF_PLAN)
           : strcmp(step, "config") == 0  ? keep(BEFORE_PLAN)
           : strcmp(step, "late") == 0    ? keep(AFTER_PLAN)
           : strcmp(step, "others") == 0  ? run_others()
           : strcmp(step, "shapes") == 0  ? plan_shapes()
           : strcmp(step, "handle") == 0  ? use_handle(*device)
           : strcmp(step, "device") == 0  ? (drop_arena(), use_handle(++*device))
           : strcmp(step, "fork") == 0    ? go_on_in_child()
           : strcmp(step, "json") == 0    ? pass_json()
           : strcmp(step, "thread") == 0  ? create_in_thread()
           : strcmp(step, "list") == 0    ? plan_entry()
           : strcmp(step, "legacy") == 0  ? keep_legacy()
           : strcmp(step, "call") == 0    ? call_legacy()
           : strcmp(step, "data") == 0    ? set_direction(BACKWARD_DATA)
           : strcmp(step, "filter") == 0  ? set_direction(BACKWARD_FILTER)
           : strcmp(step, "rebuild") == 0 ? rebuild()
                                          : false;
}

int main(int argc, char **argv)
{
    int device = 0;
    (void)argc;
    describe(&kept_operands, 8, 256, 56, 256);
    for (char **rest = argv + 1; *rest;) {
        const char *step = *rest++;
        if (strcmp(step, "fork") != 0 && strcmp(step, "thread") != 0 && !session.handle &&
            !use_handle(device))
            return 1;
        if (!do_step(step, &device, &rest)) {
            fprintf(stderr, "%s failed\n", step);
            return 1;
        }
    }
    drop_arena();
    return 0;
}
