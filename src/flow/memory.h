/* An allocator of the program, as the flow sees it: calls take scratch from it below the program's
 * peak. Tests replace it. */
#ifndef CS_FLOW_MEMORY_H
#define CS_FLOW_MEMORY_H

#include "level/level.h"

struct cs_memory {
    /* Reads the room of a call, as cs_level_ask does. CS_REFUSAL_UNKNOWN: the call's memory is not
     * this allocator's. */
    enum cs_refusal (*ask)(const struct cs_level_call *call, struct cs_level_room *room_p);

    /* Records the stream of a call, as cs_level_stream does. */
    bool (*stream)(const struct cs_level_room *room, const void *stream);

    /* Returns the bytes of the device that the program can have in all, by the room's reserved
     * bytes and the free memory of the device. 0 if that is unknown. */
    int64_t (*card)(const struct cs_level_room *room);

    /* Finds free memory behind the call's workspace, as cs_level_extend does. NULL: there is none
     * in this allocator. */
    bool (*extend)(const struct cs_level_room *room, const struct cs_level_call *call,
                   struct cs_level_extension *extension_p);

    /* Takes scratch on a stream. CS_REFUSAL_NONE, or the reason why there is none. It must be given
     * back by the same thread, after the work in it was started on the stream. `may_grow`: the
     * allocator may get memory from the device for it. */
    enum cs_refusal (*take)(const struct cs_level_room *room, void *stream, int64_t bytes,
                            bool may_grow, void **memory_p);
    void (*give)(const struct cs_level_room *room, void *stream, void *memory);

    /* Brings the facts of the level up to date for a summary. Not called in a signal handler. NULL:
     * they always are. */
    void (*refresh)(void);
};

#endif
