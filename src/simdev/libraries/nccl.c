/* NCCL, with ranks in one process or in processes of one host. Collectives of large buffers are
 * copies of this rank's data, which have the right size. Small ones have the values of all ranks:
 * programs exchange sizes, shapes and pickled objects in this way. Buffers that another rank's data
 * would fill are unknown otherwise. */
#include "nccl_ranks.h"
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cudart_values.h"
#include "simdev.h"

enum {
    UNHANDLED_CUDA_ERROR = 1,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    REMOTE_ERROR = 6,
    UNIQUE_ID_BYTES = 128,
    NAME = 96,
    NO_COLOR = -1
};

/* ncclDataType_t */
enum type {
    INT8,
    UINT8,
    INT32,
    UINT32,
    INT64,
    UINT64,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    BFLOAT16,
    FLOAT8_E4M3,
    FLOAT8_E5M2,
    TYPES
};

/* ncclRedOp_t */
enum operation {
    SUM,
    PROD,
    MAX,
    MIN,
    AVG
};

struct unique_id {
    char internal[UNIQUE_ID_BYTES];
};

struct communicator {
    int count, rank, device;
    int splits;
    struct nccl_ranks *ranks; /* NULL: the other ranks are in this process */
};

STANDIN_EXPORT int STANDIN(ncclGetUniqueId)(struct unique_id *id)
{
    uint64_t number[2];
    if (!id || getrandom(number, sizeof number, 0) != (ssize_t)sizeof number)
        return INVALID_ARGUMENT;
    *id = (struct unique_id){.internal = ""};
    snprintf(id->internal, sizeof id->internal, "/simdev-nccl-%016llx%016llx",
             (unsigned long long)number[0], (unsigned long long)number[1]);
    return 0;
}

static int make_communicator(void **out, int count, int rank, const char *name)
{
    struct communicator *made = out && rank >= 0 && rank < count ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return INVALID_ARGUMENT;
    *made = (struct communicator){.count = count, .rank = rank};
    (void)cudaGetDevice(&made->device);
    if (name && count > 1 && !(made->ranks = nccl_ranks_join(name, count, rank))) {
        free(made);
        return REMOTE_ERROR;
    }
    *out = made;
    return 0;
}

STANDIN_EXPORT int STANDIN(ncclCommInitRank)(void **out, int count, struct unique_id id, int rank)
{
    id.internal[UNIQUE_ID_BYTES - 1] = '\0';
    return make_communicator(out, count, rank, id.internal);
}

STANDIN_EXPORT int STANDIN(ncclCommInitRankConfig)(void **out, int count, struct unique_id id,
                                                   int rank, void *config)
{
    (void)config;
    return STANDIN(ncclCommInitRank)(out, count, id, rank);
}

STANDIN_EXPORT int STANDIN(ncclCommInitRankScalable)(void **out, int count, int rank, int ids,
                                                     const struct unique_id *id, void *config)
{
    (void)config;
    return ids > 0 && id ? STANDIN(ncclCommInitRank)(out, count, *id, rank) : INVALID_ARGUMENT;
}

STANDIN_EXPORT int STANDIN(ncclCommInitAll)(void **out, int count, const int *devices)
{
    int error = out ? 0 : INVALID_ARGUMENT;
    for (int i = 0; i < count && error == 0; i++) {
        error = make_communicator(&out[i], count, i, NULL);
        if (error == 0)
            ((struct communicator *)out[i])->device = devices ? devices[i] : i;
    }
    return error;
}

static int end_communicator(struct communicator *communicator)
{
    if (communicator)
        nccl_ranks_leave(communicator->ranks);
    free(communicator);
    return 0;
}

STANDIN_EXPORT int STANDIN(ncclCommDestroy)(struct communicator *communicator)
{
    return end_communicator(communicator);
}

STANDIN_EXPORT int STANDIN(ncclCommAbort)(struct communicator *communicator)
{
    return end_communicator(communicator);
}

static int store_number(int *out, const struct communicator *communicator, int value)
{
    if (!out || !communicator)
        return INVALID_ARGUMENT;
    *out = value;
    return 0;
}

STANDIN_EXPORT int STANDIN(ncclCommCount)(const struct communicator *communicator, int *count)
{
    return store_number(count, communicator, communicator ? communicator->count : 0);
}

STANDIN_EXPORT int STANDIN(ncclCommUserRank)(const struct communicator *communicator, int *rank)
{
    return store_number(rank, communicator, communicator ? communicator->rank : 0);
}

STANDIN_EXPORT int STANDIN(ncclCommCuDevice)(const struct communicator *communicator, int *device)
{
    return store_number(device, communicator, communicator ? communicator->device : 0);
}

/* --- values --- */

/* By ncclDataType_t. 0 for an unknown type. */
static size_t type_bytes(int type)
{
    static const unsigned char bytes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < TYPES ? bytes[type] : 0;
}

static struct simdev_values values_at(void *device, const int64_t *bytes, const int64_t *one)
{
    return (struct simdev_values){
        .device = device, .element = 1, .dimensions = 1, .extent = bytes, .stride = one};
}

static const int64_t one = 1;

static bool read_values(const void *from, void *host, size_t bytes)
{
    const int64_t extent = (int64_t)bytes;
    const struct simdev_values values = values_at((void *)(uintptr_t)from, &extent, &one);
    return simdev_values_read(&values, host);
}

static void write_values(void *to, void *host, size_t bytes, bool known)
{
    const int64_t extent = (int64_t)bytes;
    const struct simdev_values values = values_at(to, &extent, &one);
    if (known)
        simdev_values_write(&values, host);
    else
        simdev_values_assume(&values, host);
}

#define COMBINE(type)                                                                              \
    {                                                                                              \
        type *a = to;                                                                              \
        const type *b = from;                                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            a[i] = operation == PROD  ? (type)(a[i] * b[i])                                        \
                   : operation == MAX ? (a[i] > b[i] ? a[i] : b[i])                                \
                   : operation == MIN ? (a[i] < b[i] ? a[i] : b[i])                                \
                                      : (type)(a[i] + b[i]);                                       \
        return true;                                                                               \
    }

/* False: this type is not reduced. The result is then that of one rank. */
static bool combine_values(void *to, const void *from, size_t count, int type, int operation)
{
    switch (type) {
    case INT8:
        COMBINE(int8_t)
    case UINT8:
        COMBINE(uint8_t)
    case INT32:
        COMBINE(int32_t)
    case UINT32:
        COMBINE(uint32_t)
    case INT64:
        COMBINE(int64_t)
    case UINT64:
        COMBINE(uint64_t)
    case FLOAT32:
        COMBINE(float)
    case FLOAT64:
        COMBINE(double)
    default:
        return false;
    }
}

static void divide_values(void *values, size_t count, int type, int by)
{
    for (size_t i = 0; i < count; i++)
        if (type == FLOAT32)
            ((float *)values)[i] /= (float)by;
        else if (type == FLOAT64)
            ((double *)values)[i] /= by;
}

/* --- collectives --- */

struct collective {
    const char *name;
    const void *from;
    void *to;
    size_t give, get; /* elements of one rank's send buffer, and of its receive buffer */
    size_t place;     /* where this rank's part of the larger buffer begins */
    int type;
    int operation; /* -1: values are moved, not reduced */
    int root;      /* -1: of all ranks */
    struct communicator *communicator;
    cudaStream_t stream;
};

/* The values of all ranks go to `to` by the rule of the collective. */
static void take_results(const struct collective *call, size_t size, const unsigned char *known)
{
    const struct nccl_ranks *ranks = call->communicator->ranks;
    const int count = call->communicator->count, rank = call->communicator->rank;
    const size_t all = call->get * size;
    unsigned char *result = malloc(all ? all : 1);
    bool is_known = true;
    if (!result)
        return;
    for (int i = 0; i < count; i++) {
        const unsigned char *given = nccl_ranks_given(ranks, i);
        if (call->operation >= 0) {
            const unsigned char *part = given + (call->give > call->get ? (size_t)rank * all : 0);
            is_known = is_known && known[i];
            if (i == 0)
                memcpy(result, part, all);
            else
                is_known = combine_values(result, part, call->get, call->type, call->operation) &&
                           is_known;
        } else if (call->root >= 0 && call->give == call->get) { /* broadcast */
            if (i == call->root) {
                memcpy(result, given, all);
                is_known = known[i];
            }
        } else if (call->give < call->get) { /* gather */
            memcpy(result + (size_t)i * call->give * size, given, call->give * size);
            is_known = is_known && known[i];
        } else { /* all to all, scatter */
            const size_t part = all / (size_t)count;
            memcpy(result + (size_t)i * part, given + (size_t)rank * part, part);
            is_known = is_known && known[i];
        }
    }
    if (call->operation == AVG)
        divide_values(result, call->get, call->type, count);
    write_values(call->to, result, all, is_known);
    free(result);
}

static int exchange_values(const struct collective *call, size_t size)
{
    struct nccl_ranks *ranks = call->communicator->ranks;
    const size_t bytes = call->give * size;
    unsigned char *own = malloc(bytes + 1), known[NCCL_MOST_RANKS];
    if (!own || cudaStreamSynchronize(call->stream) != cudaSuccess) {
        free(own);
        return UNHANDLED_CUDA_ERROR;
    }
    own[bytes] = read_values(call->from, own, bytes);
    const bool given = nccl_ranks_give(ranks, own, bytes + 1);
    free(own);
    if (!given)
        return REMOTE_ERROR;
    for (int i = 0; i < call->communicator->count; i++)
        known[i] = ((const unsigned char *)nccl_ranks_given(ranks, i))[bytes];
    const bool takes = call->operation < 0 || call->root < 0 || call->give == call->get;
    if (takes && call->to)
        take_results(call, size, known);
    nccl_ranks_take_no_more(ranks);
    return 0;
}

/* This rank's data, at its place in the larger of the two buffers. */
static int copy_own_part(const struct collective *call, size_t size)
{
    const size_t part = (call->give < call->get ? call->give : call->get) * size;
    const char *from = (const char *)call->from + (call->give > call->get ? call->place * size : 0);
    char *to = (char *)call->to + (call->give < call->get ? call->place * size : 0);
    if (call->communicator->count > 1 && call->to != call->from)
        simdev_account_written(call->to, call->get * size);
    if (from == to || part == 0)
        return 0;
    return cudaMemcpyAsync(to, from, part, cudaMemcpyDeviceToDevice, call->stream) == cudaSuccess
               ? 0
               : UNHANDLED_CUDA_ERROR;
}

static int run_collective(struct collective call)
{
    const size_t size = type_bytes(call.type);
    size_t bytes;
    const struct communicator *communicator = call.communicator;
    const size_t larger = call.give > call.get ? call.give : call.get;
    if (!communicator || size == 0 || __builtin_mul_overflow(larger, size, &bytes))
        return INVALID_ARGUMENT;
    if (!standin_work(call.name, call.stream))
        return UNHANDLED_CUDA_ERROR;
    if (communicator->ranks && bytes < NCCL_MOST_BYTES && !simdev_is_capturing(call.stream))
        return exchange_values(&call, size);
    const bool receives = call.root < 0 || call.root == communicator->rank || call.operation < 0;
    return receives && call.to && call.from ? copy_own_part(&call, size) : 0;
}

static size_t at_rank(const struct communicator *communicator, size_t count)
{
    return communicator ? (size_t)communicator->rank * count : 0;
}

static size_t of_all(const struct communicator *communicator, size_t count)
{
    size_t all;
    return communicator && !__builtin_mul_overflow(count, (size_t)communicator->count, &all)
               ? all
               : SIZE_MAX;
}

STANDIN_EXPORT int STANDIN(ncclAllReduce)(const void *from, void *to, size_t count, int type,
                                          int operation, struct communicator *communicator,
                                          cudaStream_t stream)
{
    return run_collective((struct collective){"ncclAllReduce", from, to, count, count, 0, type,
                                              operation, -1, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclReduce)(const void *from, void *to, size_t count, int type,
                                       int operation, int root, struct communicator *communicator,
                                       cudaStream_t stream)
{
    void *target = communicator && communicator->rank == root ? to : NULL;
    return run_collective((struct collective){"ncclReduce", from, target, count, count, 0, type,
                                              operation, root, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclReduceScatter)(const void *from, void *to, size_t count, int type,
                                              int operation, struct communicator *communicator,
                                              cudaStream_t stream)
{
    return run_collective((struct collective){
        "ncclReduceScatter", from, to, of_all(communicator, count), count,
        at_rank(communicator, count), type, operation, -1, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclAllGather)(const void *from, void *to, size_t count, int type,
                                          struct communicator *communicator, cudaStream_t stream)
{
    return run_collective(
        (struct collective){"ncclAllGather", from, to, count, of_all(communicator, count),
                            at_rank(communicator, count), type, -1, -1, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclGather)(const void *from, void *to, size_t count, int type, int root,
                                       struct communicator *communicator, cudaStream_t stream)
{
    void *target = communicator && communicator->rank == root ? to : NULL;
    return run_collective(
        (struct collective){"ncclGather", from, target, count, of_all(communicator, count),
                            at_rank(communicator, count), type, -1, -1, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclAlltoAll)(const void *from, void *to, size_t count, int type,
                                         struct communicator *communicator, cudaStream_t stream)
{
    const size_t all = of_all(communicator, count);
    return run_collective((struct collective){"ncclAlltoAll", from, to, all, all, 0, type, -1, -1,
                                              communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclBroadcast)(const void *from, void *to, size_t count, int type,
                                          int root, struct communicator *communicator,
                                          cudaStream_t stream)
{
    const void *source = communicator && communicator->rank == root ? from : to;
    return run_collective((struct collective){"ncclBroadcast", source, to, count, count, 0, type,
                                              -1, root, communicator, stream});
}

STANDIN_EXPORT int STANDIN(ncclBcast)(void *buffer, size_t count, int type, int root,
                                      struct communicator *communicator, cudaStream_t stream)
{
    return STANDIN(ncclBroadcast)(buffer, buffer, count, type, root, communicator, stream);
}

/* --- between two ranks: of the right size, without values --- */

STANDIN_EXPORT int STANDIN(ncclSend)(const void *from, size_t count, int type, int peer,
                                     struct communicator *communicator, cudaStream_t stream)
{
    (void)from, (void)count, (void)peer;
    if (!communicator || type_bytes(type) == 0)
        return INVALID_ARGUMENT;
    return standin_work("ncclSend", stream) ? 0 : UNHANDLED_CUDA_ERROR;
}

STANDIN_EXPORT int STANDIN(ncclRecv)(void *to, size_t count, int type, int peer,
                                     struct communicator *communicator, cudaStream_t stream)
{
    (void)peer;
    if (!communicator || type_bytes(type) == 0)
        return INVALID_ARGUMENT;
    if (!standin_work("ncclRecv", stream))
        return UNHANDLED_CUDA_ERROR;
    simdev_account_written(to, count * type_bytes(type));
    return 0;
}

/* --- communicators of some ranks --- */

struct wish {
    int color, key;
};

/* The number of ranks that go before this one in the order of (key, rank), and of all with its
 * color.
 */
static int number_in(const struct communicator *communicator, struct wish own, int *count)
{
    int before = 0;
    *count = 0;
    for (int i = 0; i < communicator->count; i++) {
        struct wish other;
        memcpy(&other, nccl_ranks_given(communicator->ranks, i), sizeof other);
        if (other.color != own.color)
            continue;
        before += other.key < own.key || (other.key == own.key && i < communicator->rank);
        ++*count;
    }
    return before;
}

STANDIN_EXPORT int STANDIN(ncclCommSplit)(struct communicator *communicator, int color, int key,
                                          void **out, void *config)
{
    const struct wish own = {color, key};
    char name[NAME];
    int count = 1, rank = 0;
    (void)config;
    if (!communicator || !out)
        return INVALID_ARGUMENT;
    communicator->splits++;
    *out = NULL;
    if (communicator->ranks) {
        if (!nccl_ranks_give(communicator->ranks, &own, sizeof own))
            return REMOTE_ERROR;
        rank = number_in(communicator, own, &count);
        nccl_ranks_take_no_more(communicator->ranks);
        snprintf(name, sizeof name, "%.60s-%d-%d", nccl_ranks_name(communicator->ranks),
                 communicator->splits, color);
    }
    return color == NO_COLOR
               ? 0
               : make_communicator(out, count, rank, communicator->ranks ? name : NULL);
}
