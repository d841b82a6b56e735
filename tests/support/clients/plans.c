/* Plans one convolution through the backend API in the ways of different clients. Prints the
 * workspace that cuDNN reported. The status is 0 if all reports agree and the result is right. */
#include "plans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 60
};

/* Additional calls of some clients. */
static struct {
    bool initializes; /* descriptors that held something else before */
    bool dynamic;     /* shapes may change between executions */
    bool overrides;   /* the same, as cuDNN 9.21 and later have it */
    bool hints;       /* sets the pattern of the graph (9.23 and later) */
    bool caches;      /* kernels are shared between plans */
} habit;

static cudnnStatus_t set(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    return cudnnBackendSetAttribute(desc, name, type, count, values);
}

static bool make(struct chain *chain, enum part part, cudnnBackendDescriptorType_t type)
{
    TRY_CUDNN(cudnnBackendCreateDescriptor(type, &chain->part[part]), fail);
    return true;
fail:
    return false;
}

static bool finish(const struct chain *chain, enum part part)
{
    TRY_CUDNN(cudnnBackendFinalize(chain->part[part]), fail);
    return true;
fail:
    return false;
}

static void chain_drop(struct chain *chain, enum part first, enum part last)
{
    for (int i = (int)last; i >= (int)first; i--) {
        if (chain->part[i] != NULL)
            cudnnBackendDestroyDescriptor(chain->part[i]);
        chain->part[i] = NULL;
    }
}

static bool make_tensor(struct chain *chain, enum part part, const struct tensor *tensor,
                        int64_t uid)
{
    static const bool yes = true;
    if (!make(chain, part, CUDNN_BACKEND_TENSOR_DESCRIPTOR))
        return false;
    cudnnBackendDescriptor_t desc = chain->part[part];
    if (habit.initializes) {
        TRY_CUDNN(set(desc, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes), fail);
        TRY_CUDNN(cudnnBackendInitialize(desc), fail);
    }
    TRY_CUDNN(backend_tensor_fill(desc, tensor, uid, BACKEND_MEMORY), fail);
    return true;
fail:
    return false;
}

static bool make_operation(struct chain *chain, const struct conv_problem *problem)
{
    TRY_CUDNN(backend_convolution(problem, &chain->part[PART_CONV]), fail);
    TRY_CUDNN(backend_operation(problem, chain->part, &chain->part[PART_OPERATION]), fail);
    return true;
fail:
    return false;
}

/* By number, since older headers have no name for them. */
static bool set_newer(cudnnBackendDescriptor_t graph)
{
    const cudnnBackendAttributeName_t override_shape = 805, mode = 806;
    const cudnnBackendAttributeType_t mode_type = 32;
    static const int conv_forward = 0;
    if (habit.overrides)
        TRY_CUDNN(set(graph, override_shape, CUDNN_TYPE_BOOLEAN, 1, &habit.overrides), fail);
    if (habit.hints)
        TRY_CUDNN(set(graph, mode, mode_type, 1, &conv_forward), fail);
    return true;
fail:
    return false;
}

static bool make_graph(const struct client *client, struct chain *chain)
{
    const struct conv_problem *p = &client->problem;
    if (!make_tensor(chain, PART_X, &p->x, 'x') || !make_tensor(chain, PART_W, &p->w, 'w') ||
        !make_tensor(chain, PART_Y, &p->y, 'y') || !make_operation(chain, p) ||
        !make(chain, PART_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR))
        return false;
    cudnnBackendDescriptor_t desc = chain->part[PART_GRAPH];
    TRY_CUDNN(set(desc, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                  &chain->part[PART_OPERATION]),
              fail);
    TRY_CUDNN(set(desc, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &client->handle),
              fail);
    if (habit.dynamic)
        TRY_CUDNN(set(desc, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN,
                      1, &habit.dynamic),
                  fail);
    if (!set_newer(desc))
        return false;
    return finish(chain, PART_GRAPH);
fail:
    return false;
}

/* The first answer of the heuristics. */
static bool ask_config(struct chain *chain)
{
    static const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t count = 0;
    if (!make(chain, PART_HEURISTICS, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR))
        return false;
    cudnnBackendDescriptor_t desc = chain->part[PART_HEURISTICS];
    TRY_CUDNN(set(desc, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                  &chain->part[PART_GRAPH]),
              fail);
    TRY_CUDNN(set(desc, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode), fail);
    if (!finish(chain, PART_HEURISTICS) ||
        !make(chain, PART_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR))
        return false;
    TRY_CUDNN(cudnnBackendGetAttribute(desc, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                       &chain->part[PART_CONFIG]),
              fail);
    return count == 1;
fail:
    return false;
}

static bool use_cache(struct chain *chain)
{
    if (!make(chain, PART_CACHE, CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR))
        return false;
    TRY_CUDNN(set(chain->part[PART_CACHE], CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &chain->part[PART_GRAPH]),
              fail);
    if (!finish(chain, PART_CACHE))
        return false;
    TRY_CUDNN(set(chain->part[PART_PLAN], CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &chain->part[PART_CACHE]),
              fail);
    return true;
fail:
    return false;
}

static bool make_plan(struct chain *chain)
{
    if (!make(chain, PART_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR))
        return false;
    TRY_CUDNN(set(chain->part[PART_PLAN], CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                  CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &chain->part[PART_CONFIG]),
              fail);
    if (habit.caches && !use_cache(chain))
        return false;
    return finish(chain, PART_PLAN);
fail:
    return false;
}

bool plans_make(const struct client *client, struct chain *chain)
{
    return make_graph(client, chain) && ask_config(chain) && make_plan(chain);
}

/* The workspace that a plan or configuration reports, queried with and without an element count.
 * False if the two differ. */
static bool ask_workspace(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                          int64_t *bytes)
{
    int64_t count = -1, counted = -1;
    int64_t uncounted = -1;
    TRY_CUDNN(cudnnBackendGetAttribute(desc, name, CUDNN_TYPE_INT64, 1, NULL, &uncounted), fail);
    TRY_CUDNN(cudnnBackendGetAttribute(desc, name, CUDNN_TYPE_INT64, 1, &count, &counted), fail);
    if (count != 1 || counted != uncounted) {
        fprintf(stderr, "plans: %" PRId64 " bytes without a count, %" PRId64 " with one\n",
                uncounted, counted);
        return false;
    }
    *bytes = counted;
    return true;
fail:
    return false;
}

static bool ask_plan(const struct chain *chain, int64_t *bytes)
{
    return ask_workspace(chain->part[PART_PLAN], CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, bytes);
}

static bool equal(const char *what, int64_t got, int64_t wanted)
{
    if (got != wanted)
        fprintf(stderr, "plans: %s: %" PRId64 " bytes, not %" PRId64 "\n", what, got, wanted);
    return got == wanted;
}

/* Configuration and plan must report the same. */
bool plans_reported(const struct chain *chain, int64_t *bytes)
{
    int64_t config = -1;
    if (!ask_workspace(chain->part[PART_CONFIG], CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, &config) ||
        !ask_plan(chain, bytes))
        return false;
    return equal("the configuration reports", config, *bytes);
}

bool plans_pack(const struct client *client, void *workspace, cudnnBackendDescriptor_t *pack)
{
    static const int64_t ids[] = {'w', 'y', 'x'};
    void *const pointers[] = {client->memory.w, client->memory.y, client->memory.x};
    TRY_CUDNN(backend_pack(3, ids, pointers, workspace, pack), fail);
    return true;
fail:
    return false;
}

bool plans_right(struct client *client)
{
    bool right = layer_right(&client->problem, &client->memory);
    if (!right)
        fputs("plans: wrong result\n", stderr);
    return right;
}

static bool execute(struct client *client, cudnnBackendDescriptor_t plan,
                    cudnnBackendDescriptor_t pack)
{
    TRY_CUDA(cudaMemset(client->memory.y, 0xff, tensor_storage_bytes(&client->problem.y)), fail);
    TRY_CUDNN(cudnnBackendExecute(client->handle, plan, pack), fail);
    return plans_right(client);
fail:
    return false;
}

/* Allocates exactly the reported size. */
static bool run(struct client *client, cudnnBackendDescriptor_t plan, int64_t bytes)
{
    cudnnBackendDescriptor_t pack = NULL;
    if (bytes > 0)
        TRY_CUDA(cudaMalloc(&client->workspace, (size_t)bytes), fail);
    bool right = plans_pack(client, client->workspace, &pack) && execute(client, plan, pack);
    cudnnBackendDestroyDescriptor(pack);
    cudaFree(client->workspace);
    client->workspace = NULL;
    return right;
fail:
    return false;
}

static bool run_channels(struct client *client, struct chain *chain, int64_t *bytes)
{
    return plans_make(client, chain) && plans_reported(chain, bytes) &&
           run(client, chain->part[PART_PLAN], *bytes);
}

static bool run_initialized(struct client *client, struct chain *chain, int64_t *bytes)
{
    habit.initializes = true;
    return run_channels(client, chain, bytes);
}

static bool run_dynamic(struct client *client, struct chain *chain, int64_t *bytes)
{
    habit.dynamic = true;
    return run_channels(client, chain, bytes);
}

static bool run_overriding(struct client *client, struct chain *chain, int64_t *bytes)
{
    habit.overrides = true;
    return run_channels(client, chain, bytes);
}

static bool run_hinting(struct client *client, struct chain *chain, int64_t *bytes)
{
    habit.hints = true;
    return run_channels(client, chain, bytes);
}

static bool run_cached(struct client *client, struct chain *chain, int64_t *bytes)
{
    habit.caches = true;
    return run_channels(client, chain, bytes);
}

/* The configuration is queried before a plan exists, and a second plan is made of it. */
static bool run_config_first(struct client *client, struct chain *chain, int64_t *bytes)
{
    int64_t before = -1;
    if (!make_graph(client, chain) || !ask_config(chain) ||
        !ask_workspace(chain->part[PART_CONFIG], CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, &before) ||
        !make_plan(chain) || !plans_reported(chain, bytes) ||
        !equal("the plan reports", *bytes, before))
        return false;
    chain_drop(chain, PART_PLAN, PART_PLAN);
    return make_plan(chain) && plans_reported(chain, bytes) &&
           equal("the second plan reports", *bytes, before);
}

static bool run_orphan(struct client *client, struct chain *chain, int64_t *bytes)
{
    if (!plans_make(client, chain) || !plans_reported(chain, bytes))
        return false;
    chain_drop(chain, 0, PART_CONFIG);
    return run(client, chain->part[PART_PLAN], *bytes);
}

static bool run_rebuilt(struct client *client, struct chain *chain, int64_t *bytes)
{
    struct backend_engine engine; /* the parts of a plan that XLA stores */
    int64_t first = -1;
    if (!plans_make(client, chain) || !plans_reported(chain, &first))
        return false;
    TRY_CUDNN(backend_engine_read(chain->part[PART_CONFIG], &engine), fail);
    chain_drop(chain, 0, PART_PLAN);
    if (!make_graph(client, chain))
        return false;
    TRY_CUDNN(backend_engine_config(&engine, chain->part[PART_GRAPH], &chain->part[PART_CONFIG]),
              fail);
    return make_plan(chain) && plans_reported(chain, bytes) &&
           equal("the rebuilt plan reports", *bytes, first) &&
           run(client, chain->part[PART_PLAN], *bytes);
fail:
    return false;
}

/* Addresses of descriptors come back for other types and problems. */
static bool run_reused(struct client *client, struct chain *chain, int64_t *bytes)
{
    struct client other = *client;
    int64_t before = -1;
    int64_t small = -1;
    other.problem.x.size[0] = other.problem.y.size[0] = 1;
    if (!plans_make(client, chain) || !plans_reported(chain, &before))
        return false;
    chain_drop(chain, 0, PART_PLAN);
    for (int i = 0; i < ROUNDS; i++) {
        struct client *turn = i % 2 != 0 ? client : &other;
        int64_t *last = i % 2 != 0 ? &before : &small;
        if (!plans_make(turn, chain) || !plans_reported(chain, bytes) ||
            (*last >= 0 && !equal("a later plan reports", *bytes, *last)) ||
            (i % 2 != 0 && !run(client, chain->part[PART_PLAN], *bytes)))
            return false;
        *last = *bytes;
        /* In another order each time. */
        enum part cut = (enum part)(i % PARTS);
        chain_drop(chain, cut, PART_PLAN);
        chain_drop(chain, 0, PART_PLAN);
    }
    return true;
}

static bool run_early_pack(struct client *client, struct chain *chain, int64_t *bytes)
{
    cudnnBackendDescriptor_t pack = NULL;
    TRY_CUDA(cudaMalloc(&client->workspace, 1 << 20), fail);
    bool right = plans_pack(client, client->workspace, &pack) && plans_make(client, chain) &&
                 plans_reported(chain, bytes) && execute(client, chain->part[PART_PLAN], pack);
    cudnnBackendDestroyDescriptor(pack);
    return right;
fail:
    return false;
}

static bool run_no_workspace(struct client *client, struct chain *chain, int64_t *bytes)
{
    cudnnBackendDescriptor_t pack = NULL;
    bool right = plans_make(client, chain) && plans_reported(chain, bytes) &&
                 plans_pack(client, NULL, &pack) && execute(client, chain->part[PART_PLAN], pack);
    cudnnBackendDestroyDescriptor(pack);
    return right;
}

/* A new plan from the JSON of a plan. */
static bool load_json(struct client *client, struct chain *chain, const char *text, int64_t length)
{
    if (!make(chain, PART_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR))
        return false;
    TRY_CUDNN(set(chain->part[PART_PLAN], CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                  &client->handle),
              fail);
    TRY_CUDNN(set(chain->part[PART_PLAN], CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                  CUDNN_TYPE_CHAR, length, text),
              fail);
    return finish(chain, PART_PLAN);
fail:
    return false;
}

/* The other process: a plan of this one's text, which plans nothing itself. */
static bool run_json_of_file(struct client *client, struct chain *chain, int64_t *bytes)
{
    static char text[1 << 20];
    FILE *file = fopen("plan.json", "rb");
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return length > 0 && load_json(client, chain, text, (int64_t)length) &&
           ask_plan(chain, bytes) && run(client, chain->part[PART_PLAN], *bytes);
}

static bool write_file(const char *text, size_t length)
{
    FILE *file = fopen("plan.json", "wb");
    bool written = file && fwrite(text, 1, length, file) == length;
    return file && fclose(file) == 0 && written;
}

static bool run_json(struct client *client, struct chain *chain, int64_t *bytes)
{
    int64_t length = 0;
    if (!plans_make(client, chain))
        return false;
    TRY_CUDNN(cudnnBackendGetAttribute(chain->part[PART_PLAN],
                                       CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, 0, &length, NULL),
              fail);
    char *text = calloc((size_t)length + 1, 1);
    if (text == NULL)
        goto fail;
    TRY_CUDNN(cudnnBackendGetAttribute(chain->part[PART_PLAN],
                                       CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                       CUDNN_TYPE_CHAR, length, &length, text),
              fail);
    chain_drop(chain, 0, PART_PLAN);
    bool right = write_file(text, (size_t)length) && load_json(client, chain, text, length) &&
                 ask_plan(chain, bytes) && run(client, chain->part[PART_PLAN], *bytes);
    free(text);
    return right;
fail:
    return false;
}

static bool client_open(struct client *client)
{
    layer_describe(&client->problem);
    TRY_CUDNN(cudnnCreate(&client->handle), fail);
    return layer_allocate(&client->problem, &client->memory);
fail:
    return false;
}

static void client_close(struct client *client)
{
    cudaFree(client->workspace);
    layer_free(&client->memory);
    if (client->handle != NULL)
        cudnnDestroy(client->handle);
}

static const struct {
    const char *name;
    bool (*run)(struct client *client, struct chain *chain, int64_t *bytes);
} modes[] = {
    {"channels", run_channels},
    {"initialized", run_initialized},
    {"dynamic", run_dynamic},
    {"overriding", run_overriding},
    {"hinting", run_hinting},
    {"cached", run_cached},
    {"config_first", run_config_first},
    {"orphan", run_orphan},
    {"rebuilt", run_rebuilt},
    {"reused", run_reused},
    {"early_pack", run_early_pack},
    {"no_workspace", run_no_workspace},
    {"json", run_json},
    {"json_of_file", run_json_of_file},
    {"populate", plans_populate},
    {"populate_second", plans_populate_second},
    {"captured", plans_capture},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; i++) {
        struct client client = {.handle = NULL};
        struct chain chain = {{NULL}};
        int64_t bytes = -1;
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        bool good = client_open(&client) && modes[i].run(&client, &chain, &bytes);
        chain_drop(&chain, 0, PART_PLAN);
        client_close(&client);
        printf("told %" PRId64 "\n", bytes);
        return good ? 0 : 1;
    }
    fputs("usage: plans MODE\nModes:", stderr);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        fprintf(stderr, " %s", modes[i].name);
    fputs("\n", stderr);
    return 2;
}
