/* dlib: cudnnFind..Algorithm without Ex, for which cuDNN allocates its own memory, once per stride,
 * padding and window, for any image; then Get..WorkspaceSize of the three directions whenever
 * shapes change; one buffer that only grows; add_to_output is beta = 1. The last call provides the
 * buffer and the size of a larger image, as programs do that query once for their largest.
 *   default   the fastest algorithm
 *   smallest  set_dnn_prefer_smallest_algorithms(): the least memory */
#include "legacy.h"

struct buffer {
    void *memory;
    size_t bytes;
};

struct choice {
    int algorithm[DIRECTIONS];
    size_t bytes[DIRECTIONS];
};

static int pick(const struct session *session, const struct answers *answers)
{
    const struct answer *best = NULL;
    for (int i = 0; i < answers->count; i++) {
        const struct answer *row = &answers->row[i];
        if (row->status == CUDNN_STATUS_SUCCESS &&
            (best == NULL || (session_mode_is(session, "smallest") && row->memory < best->memory)))
            best = row;
    }
    return best != NULL ? best->algorithm : -1;
}

static bool select_algorithms(struct session *session, const struct legacy *legacy,
                              struct choice *choice)
{
    struct answers answers;
    for (enum direction d = FORWARD; d < DIRECTIONS; d++) {
        TRY_CUDNN(legacy_find(session, legacy, d, &answers), fail);
        choice->algorithm[d] = pick(session, &answers);
        if (choice->algorithm[d] < 0)
            goto fail;
    }
    return true;
fail:
    return false;
}

static bool set_up(struct session *session, const struct legacy *legacy, struct choice *choice)
{
    for (enum direction d = FORWARD; d < DIRECTIONS; d++)
        TRY_CUDNN(legacy_size(session, legacy, d, choice->algorithm[d], &choice->bytes[d]), fail);
    return true;
fail:
    return false;
}

/* device_global_buffer() */
static bool grow(struct session *session, struct buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->bytes)
        return true;
    cudaFree(buffer->memory);
    buffer->bytes = bytes;
    return session_workspace(session, bytes, &buffer->memory);
}

static bool execute(struct session *session, struct operands *operands, const struct legacy *legacy,
                    const struct choice *choice, enum direction direction, float beta,
                    struct buffer *buffer)
{
    struct brought brought = {choice->algorithm[direction], NULL, choice->bytes[direction]};
    if (!grow(session, buffer, brought.bytes))
        return false;
    brought.workspace = buffer->memory;
    TRY_CUDNN(legacy_run(session, legacy, direction, operands, &brought, 1.0F, beta), fail);
    return operands_verify(session, operands,
                           &(struct formula){direction, 1.0F, beta, false, false});
fail:
    return false;
}

static bool run_all(struct session *session, struct operands *operands, const struct legacy *legacy,
                    const struct choice *choice, struct buffer *buffer)
{
    bool good = true;
    for (enum direction d = FORWARD; d < DIRECTIONS && good; d++)
        good = execute(session, operands, legacy, choice, d, 0.0F, buffer) &&
               execute(session, operands, legacy, choice, d, 1.0F, buffer);
    return good;
}

/* The same window on an image of other extents: no new search. First with its own sizes, then with
 * those of the larger image if these are enough: a smaller image may need more. */
static bool run_smaller(struct session *session, const struct layer *layer,
                        const struct choice *larger, struct buffer *buffer)
{
    struct layer smaller = *layer;
    struct operands operands;
    struct legacy legacy = {0};
    struct choice own = *larger;
    smaller.size[0] -= smaller.size[0] / 4;
    bool good = operands_open(&smaller, 7, &operands);
    if (!good)
        goto close;
    good = false;
    TRY_CUDNN(legacy_open(&operands, CUDNN_DEFAULT_MATH, &legacy), close);
    good = set_up(session, &legacy, &own) && run_all(session, &operands, &legacy, &own, buffer);
    for (enum direction d = FORWARD; d < DIRECTIONS; d++)
        if (own.bytes[d] < larger->bytes[d])
            own.bytes[d] = larger->bytes[d];
    good = good && run_all(session, &operands, &legacy, &own, buffer);
close:
    legacy_close(&legacy);
    operands_close(&operands);
    return good;
}

static bool run(struct session *session, struct operands *operands, int layers)
{
    struct buffer buffer = {NULL, 0};
    bool good = true;
    for (int i = 0; i < layers && good; i++) {
        struct legacy legacy = {0};
        struct choice choice = {0};
        good = false;
        TRY_CUDNN(legacy_open(&operands[i], CUDNN_DEFAULT_MATH, &legacy), close);
        good = select_algorithms(session, &legacy, &choice) && set_up(session, &legacy, &choice) &&
               run_all(session, &operands[i], &legacy, &choice, &buffer) &&
               run_smaller(session, &operands[i].layer, &choice, &buffer);
    close:
        legacy_close(&legacy);
    }
    cudaFree(buffer.memory);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"default", "smallest", NULL};
    return session_main(argc, argv, modes, run);
}
