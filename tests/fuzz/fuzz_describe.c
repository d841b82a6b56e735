/* Any attributes on any descriptors, each an array of exactly `count` elements of its type: no
 * element after it is read, and a described convolution passes cs_problem_check. */
#include "bytes.h"
#include "sound_graph.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_FRACTION:
        return 8;
    default:
        return 4;
    }
}

static void set_any(struct bytes *bytes)
{
    enum slot slot = (enum slot)(bytes_byte(bytes) % SLOTS);
    int name = kind[slot].first + bytes_byte(bytes) % kind[slot].attributes;
    cudnnBackendAttributeType_t type = (cudnnBackendAttributeType_t)(bytes_byte(bytes) % 31);
    int64_t count = bytes_byte(bytes) % 72 - 2;
    size_t room = count > 0 ? (size_t)count * size_of(type) : 0;
    char *elements = room > 0 ? malloc(room) : NULL;
    for (int64_t i = 0; elements && i < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; i++) {
        const void *other = descriptor[bytes_byte(bytes) % (SLOTS + 1)];
        memcpy(elements + i * 8, &other, sizeof other);
    }
    if (elements && type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        bytes_take(bytes, elements, room);
    set(slot, name, type, count, elements);
    free(elements);
}

/* True if a convolution to plan came out. */
static bool describe(void)
{
    struct cs_addresses addresses;
    struct cs_graph *graph = cs_describe_graph(cs_shadow_find(descriptor[GRAPH]));
    if (!graph)
        return false;
    bool planned = graph->convolution && graph->reason == CS_REASON_NONE;
    if (planned && cs_problem_check(&graph->problem) != CS_OK)
        abort();
    struct cs_shadow *pack = cs_shadow_find(descriptor[PACK]);
    pack->pack.finalized = true;
    (void)cs_describe_pack(pack, graph, &addresses);
    cs_graph_drop(graph);
    return planned;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size};
    for (int i = 0; i < SLOTS; i++)
        cs_shadow_add(descriptor[i], kind[i].type);
    set_sound();
    int choice = bytes_byte(&bytes), changes = choice % 16;
    for (int i = 0; i < changes; i++)
        set_any(&bytes);
    link_all((choice & 16) != 0);
    bool planned = describe();
    if (changes == 0 && !planned)
        abort();
    while (bytes.left > 0)
        set_any(&bytes);
    (void)describe();
    for (int i = 0; i < SLOTS; i++)
        cs_shadow_remove(descriptor[i]);
    return 0;
}
