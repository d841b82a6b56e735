/* Runs random walks through cuDNN's APIs, each in a separate process, and writes every result. A
 * difference between a run without and one with the library is a change that a client can see.
 *
 *   walk graph|legacy SEED COUNT [sizes]
 *
 * With `sizes`, those of workspaces are written, too. Status 0, 1 if a process could not be made.
 */
#include "walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool walk_strays(struct walk *walk, int64_t times)
{
    return rng_once_in(&walk->rng, times);
}

void walk_note(const char *call, cudnnStatus_t status)
{
    printf("%s %d\n", call, (int)status);
}

void walk_note_bytes(const char *call, cudnnStatus_t status, const void *bytes, size_t count)
{
    uint64_t hash =
        UINT64_C(14695981039346656037); /* FNV-1a of words, and of the bytes that remain */
    for (size_t at = 0, size; at < count; at += size) {
        uint64_t word = 0;
        size = count - at < sizeof word ? 1 : sizeof word;
        memcpy(&word, (const char *)bytes + at, size);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    printf("%s %d %016" PRIx64 "\n", call, (int)status, hash);
}

void walk_note_size(const struct walk *walk, const char *call, cudnnStatus_t status, int64_t size)
{
    if (walk->sizes)
        printf("%s %d %" PRId64 "\n", call, (int)status, size);
    else
        printf("%s %d %s\n", call, (int)status, size < 0 ? "none" : "some");
}

void *walk_prepare(struct walk *walk, int64_t bytes)
{
    void *workspace = NULL;
    for (int i = 0; i < WALK_OPERANDS; i++)
        cudaMemcpy(walk->device[i], walk->image[i], WALK_BUFFER, cudaMemcpyHostToDevice);
    if (bytes > 0 && cudaMalloc(&workspace, (size_t)bytes) != cudaSuccess)
        return NULL;
    return workspace;
}

/* The sign of a sum of zeros depends on the order of summation. */
static void drop_signs_of_zeros(const struct walk *walk, void *values)
{
    cudnnDataType_t type = walk->problem.x.type;
    for (size_t at = 0; at < WALK_BUFFER / dtype_size(type); at++)
        if (dtype_load(type, values, at) == 0)
            dtype_store(type, values, at, 0);
}

void walk_note_run(struct walk *walk, const char *call, cudnnStatus_t status)
{
    static const char *const names[WALK_OPERANDS] = {"  x", "  w", "  y"};
    cudaError_t error = cudaDeviceSynchronize();
    walk_note(call, status);
    for (int i = 0; i < WALK_OPERANDS; i++) {
        cudaMemcpy(walk->result, walk->device[i], WALK_BUFFER, cudaMemcpyDeviceToHost);
        drop_signs_of_zeros(walk, walk->result);
        walk_note_bytes(names[i], (cudnnStatus_t)error, walk->result, WALK_BUFFER);
    }
}

void walk_launch(struct walk *walk, cudaGraph_t graph)
{
    cudaGraph_t clone = NULL;
    cudaGraphExec_t executable;
    if (walk_strays(walk, 3))
        walk_note("clone", (cudnnStatus_t)cudaGraphClone(&clone, graph));
    cudaError_t error = cudaGraphInstantiate(&executable, clone != NULL ? clone : graph, 0);
    walk_note("instantiate", (cudnnStatus_t)error);
    if (clone != NULL)
        cudaGraphDestroy(clone);
    if (error != cudaSuccess)
        return;
    for (int i = (int)rng_between(&walk->rng, 1, 2); i > 0; i--)
        walk_note_run(walk, "launch", (cudnnStatus_t)cudaGraphLaunch(executable, NULL));
    cudaGraphExecDestroy(executable);
}

void walk_begin_capture(struct walk *walk, cudaStream_t stream)
{
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeThreadLocal,
                                                       cudaStreamCaptureModeRelaxed};
    cudaError_t error = cudaStreamBeginCapture(stream, modes[rng_between(&walk->rng, 0, 2)]);
    walk_note("begin", (cudnnStatus_t)error);
}

void walk_end_capture(struct walk *walk, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    walk_note("end", (cudnnStatus_t)cudaStreamEndCapture(stream, &graph));
    if (graph == NULL)
        return;
    walk_launch(walk, graph);
    cudaGraphDestroy(graph);
}

/* Small integers of the problem's type all over the buffers, so that a convolution of any shape
 * that fits has exact sums. */
static bool make_operands(struct walk *walk, uint64_t seed)
{
    cudnnDataType_t type = walk->problem.x.type;
    struct rng rng = rng_of(seed, 2);
    walk->result = malloc(WALK_BUFFER);
    for (int i = 0; i < WALK_OPERANDS; i++) {
        walk->image[i] = malloc(WALK_BUFFER);
        if (walk->image[i] == NULL || walk->result == NULL ||
            cudaMalloc(&walk->device[i], WALK_BUFFER) != cudaSuccess)
            return false;
        for (size_t at = 0; at < WALK_BUFFER / dtype_size(type); at++)
            dtype_store(type, walk->image[i], at, (float)rng_between(&rng, -2, 2));
    }
    return true;
}

static int walk_one(uint64_t seed, bool graph, bool sizes)
{
    static const cudnnDataType_t types[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16};
    struct walk walk = {.rng = rng_of(seed, 1), .sizes = sizes};
    problem_random(seed, 0, (enum conv_direction)(seed % CONV_DIRECTIONS), types[seed / 3 % 3],
                   !graph, &walk.problem);
    if (!make_operands(&walk, seed))
        return 1;
    for (int i = 0; i < 2; i++)
        walk_note("cudnnCreate", cudnnCreate(&walk.handle[i]));
    if (graph)
        walk_graph(&walk);
    else
        walk_legacy(&walk);
    for (int i = 0; i < 2; i++)
        if (walk.handle[i] != NULL)
            walk_note("cudnnDestroy", cudnnDestroy(walk.handle[i]));
    for (int i = 0; i < WALK_OPERANDS; i++) {
        cudaFree(walk.device[i]);
        free(walk.image[i]);
    }
    free(walk.result);
    return 0;
}

/* A walk that cuDNN itself does not survive is one, too. */
static bool walk_apart(uint64_t seed, bool graph, bool sizes)
{
    int ended = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(walk_one(seed, graph, sizes));
    if (child < 0 || waitpid(child, &ended, 0) != child)
        return false;
    printf("walk %" PRIu64 " ended: %#x\n", seed, (unsigned)ended);
    return true;
}

int main(int argc, char **argv)
{
    int64_t first = 0, count = 0;
    if (argc < 4 || !option_number("SEED", argv[2], 0, INT64_MAX / 2, &first) ||
        !option_number("COUNT", argv[3], 1, 1000000, &count))
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a walk's output before a crash counts */
    for (int64_t i = 0; i < count; i++)
        if (!walk_apart((uint64_t)(first + i), strcmp(argv[1], "graph") == 0, argc > 4))
            return 1;
    return 0;
}
