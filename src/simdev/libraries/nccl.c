/* NCCL with one rank: collectives are copies from the send to the receive buffer. */
#include "standin.h"

#include <string.h>

#include "simdev.h"

enum {
    UNHANDLED_CUDA_ERROR = 1,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    UNIQUE_ID_BYTES = 128
};

struct unique_id {
    char internal[UNIQUE_ID_BYTES];
};

STANDIN_EXPORT int STANDIN(ncclGetUniqueId)(struct unique_id *id)
{
    if (!id)
        return INVALID_ARGUMENT;
    memset(id, 0, sizeof *id);
    id->internal[0] = 1;
    return 0;
}

static int make_communicator(void **out, int ranks, int rank)
{
    if (!out || rank != 0)
        return INVALID_ARGUMENT;
    if (ranks != 1) {
        simdev_missing("ncclCommInitRank of more than one rank");
        return INVALID_USAGE;
    }
    *out = standin_create();
    return *out ? 0 : INVALID_USAGE;
}

STANDIN_EXPORT int STANDIN(ncclCommInitRank)(void **out, int ranks, struct unique_id id, int rank)
{
    (void)id;
    return make_communicator(out, ranks, rank);
}

STANDIN_EXPORT int STANDIN(ncclCommInitRankConfig)(void **out, int ranks, struct unique_id id,
                                                   int rank, void *config)
{
    (void)id, (void)config;
    return make_communicator(out, ranks, rank);
}

STANDIN_EXPORT int STANDIN(ncclCommInitAll)(void **out, int ranks, const int *devices)
{
    (void)devices;
    return make_communicator(out, ranks, 0);
}

STANDIN_EXPORT int STANDIN(ncclCommCount)(const void *communicator, int *count)
{
    (void)communicator;
    if (!count)
        return INVALID_ARGUMENT;
    *count = 1;
    return 0;
}

/* By ncclDataType_t. 0 for an unknown type. */
static size_t type_bytes(int type)
{
    static const unsigned char bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof bytes ? bytes[type] : 0;
}

static int copy(const char *name, const void *from, void *to, size_t count, int type,
                cudaStream_t stream)
{
    size_t bytes;
    if (type_bytes(type) == 0 || __builtin_mul_overflow(count, type_bytes(type), &bytes))
        return INVALID_ARGUMENT;
    if (!standin_work(name, stream))
        return UNHANDLED_CUDA_ERROR;
    if (from == to || bytes == 0)
        return 0;
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream) == cudaSuccess
               ? 0
               : UNHANDLED_CUDA_ERROR;
}

STANDIN_EXPORT int STANDIN(ncclAllReduce)(const void *from, void *to, size_t count, int type,
                                          int op, void *communicator, cudaStream_t stream)
{
    (void)op, (void)communicator;
    return copy("ncclAllReduce", from, to, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclReduceScatter)(const void *from, void *to, size_t count, int type,
                                              int op, void *communicator, cudaStream_t stream)
{
    (void)op, (void)communicator;
    return copy("ncclReduceScatter", from, to, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclAllGather)(const void *from, void *to, size_t count, int type,
                                          void *communicator, cudaStream_t stream)
{
    (void)communicator;
    return copy("ncclAllGather", from, to, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclAlltoAll)(const void *from, void *to, size_t count, int type,
                                         void *communicator, cudaStream_t stream)
{
    (void)communicator;
    return copy("ncclAlltoAll", from, to, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclGather)(const void *from, void *to, size_t count, int type, int root,
                                       void *communicator, cudaStream_t stream)
{
    (void)root, (void)communicator;
    return copy("ncclGather", from, to, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclBroadcast)(const void *from, void *to, size_t count, int type,
                                          int root, void *communicator, cudaStream_t stream)
{
    (void)root, (void)communicator;
    return copy("ncclBroadcast", from, to, count, type, stream);
}

/* In place: with one rank the buffer already has the result. */
STANDIN_EXPORT int STANDIN(ncclBcast)(void *buffer, size_t count, int type, int root,
                                      void *communicator, cudaStream_t stream)
{
    (void)root, (void)communicator;
    return copy("ncclBcast", buffer, buffer, count, type, stream);
}

STANDIN_EXPORT int STANDIN(ncclReduce)(const void *from, void *to, size_t count, int type, int op,
                                       int root, void *communicator, cudaStream_t stream)
{
    (void)op, (void)root, (void)communicator;
    return copy("ncclReduce", from, to, count, type, stream);
}
