/* The device as the executor sees it. `struct cs_gpu` launches the tiles of one call. `struct
 * cs_device` provides streams, events and memory, which calls share. Tests replace both.
 *
 * Functions that return int return the vendor's own status, 0 for success. The application receives
 * it unchanged. No function waits for the device. Streams and events are opaque handles of the
 * vendor. NULL is the legacy default stream. */
#ifndef CONVSHIM_GPU_H
#define CONVSHIM_GPU_H

#include "convshim/copy.h"

/* Device addresses for one launch. */
struct cs_addresses {
    void *tensor[CS_MAX_TENSORS]; /* NULL for virtual tensors, a host address for tensors passed by
                                     value */
    void *workspace;
};

/* The functions that launch the tiles of one call. */
struct cs_gpu {
    void *ctx;

    /* Readies a launch of tile shape `shape` on these addresses without starting it. The caller
     * releases the launch. */
    int (*bind)(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p);

    /* Starts a bound launch, in the order of the stream that was chosen last: the application's at
     * first. */
    int (*launch)(void *ctx, int shape, void *launch);

    /* Releases a bound launch, started or not; the device may still be running it. */
    void (*release)(void *ctx, void *launch);

    /* Starts the whole problem on its fallback plan, with the addresses and the workspace that the
     * application provided. */
    int (*fallback)(void *ctx);

    /* Chooses the stream for later launches. NULL if launches become nodes of a graph instead. Then
     * a plan runs on one lane, in the application's scratch. */
    int (*choose)(void *ctx, void *stream);

    /* Starts a copy between a view in the application's memory and a packed tensor in the scratch,
     * in the order of launches: into the scratch (`in`) or out of it. NULL: nothing can be copied.
     */
    int (*copy)(void *ctx, const struct cs_copy *copy, void *view, void *packed, bool in);

    /* True if launches and copies are only recorded, and `fallback` replaces the recorded ones.
     * Then the fallback plan can be used after any failure. */
    bool only_records;
};

/* A stream capture that is under way. */
struct cs_capture {
    uint64_t id; /* never reused in a process; 0: no capture */
    void *graph; /* under construction */
};

/* The functions of the device that all calls share. Any thread may call any function. Streams,
 * events and memory belong to the context that is current when they are created. */
struct cs_device {
    void *ctx;

    /* Returns the number of the context that is current in the calling thread, 0 without one. A
     * number is never reused in a process. */
    uint64_t (*context)(void *ctx);

    /* Returns the handle of that context. A later context may get the same handle. */
    void *(*handle)(void *ctx);

    /* True if the context of this handle still has this number. If not, the context is gone, with
     * all objects that were made in it. */
    bool (*lives)(void *ctx, void *handle, uint64_t context);

    /* Returns the number of a stream, which is never reused in a process, unlike its handle. 0 if
     * it is unknown: the stream is then treated as different from all others. */
    uint64_t (*stream_id)(void *ctx, void *stream);

    /* Reads the capture that a stream takes part in. Its id is 0 if the stream is not captured.
     * Fails if the capture was invalidated. */
    int (*capture)(void *ctx, void *stream, struct cs_capture *capture);

    /* True if a stream's work is confined to a part of the device (a green context). Streams
     * created here would not be confined. */
    bool (*confined)(void *ctx, void *stream);

    /* Makes a stream that does not wait for the legacy default stream, with the priority of `like`.
     * Allowed during a capture. */
    int (*stream_create)(void *ctx, void *like, void **stream_p);
    void (*stream_destroy)(void *ctx, void *stream);

    /* Make and use events without timing. Allowed during a capture. */
    int (*event_create)(void *ctx, void **event_p);
    void (*event_destroy)(void *ctx, void *event);
    int (*record)(void *ctx, void *event, void *stream);
    int (*wait)(void *ctx, void *stream, void *event); /* the device waits, not the caller */

    /* True if the work before the event is complete. Allowed during a capture, but not for an event
     * that was recorded in a capture. */
    bool (*done)(void *ctx, void *event);

    /* Allocate and free device memory, aligned to CS_SCRATCH_ALIGNMENT. Allowed during a capture:
     * the memory does not become part of the graph. Freeing may wait for the device. */
    int (*allocate)(void *ctx, int64_t bytes, void **memory_p);
    void (*free)(void *ctx, void *memory);

    /* Calls gone(arg) once when the graph, everything made from it and all their runs are over. It
     * may be called on any thread and must not call the device. On failure it is never called. */
    int (*keep)(void *ctx, void *graph, void (*gone)(void *arg), void *arg);
};

#endif
