/* Captures inside the simulated libcudart. The graph lock guards everything here. The caller of
 * every function holds it.
 *
 * A capture has members: the stream that began it, and the streams that joined by waiting for an
 * event recorded in it. An operation that is forbidden during a capture invalidates it. Its streams
 * then return errors until cudaStreamEndCapture. */
#ifndef CUDART_CAPTURE_H
#define CUDART_CAPTURE_H

#include "cudart_graph.h"
#include <pthread.h>

struct simdev_member {
    struct simdev_member *next;
    uint64_t stream;       /* its id */
    uint64_t context;      /* the stream's */
    bool is_blocking;      /* the legacy stream would have to wait for it */
    cudaGraphNode_t *node; /* the next node will depend on these */
    size_t nodes;
    cudaGraphEdgeData *edge; /* for cudaStreamGetCaptureInfo */
};

struct simdev_capture {
    struct simdev_capture *next;
    unsigned long long id;
    enum cudaStreamCaptureMode mode;
    pthread_t thread; /* that began it */
    cudaGraph_t graph;
    bool owns_graph;
    bool is_invalid;
    struct simdev_member *members; /* the last one is the stream that began the capture */
};

extern struct simdev_capture *simdev_captures;
/* How many there are; may be read without the lock. */
extern atomic_uint simdev_capture_count;

/* The capture that the stream is a member of; NULL if it is not capturing. */
struct simdev_capture *simdev_capture_find(const struct simdev_stream_info *stream,
                                           struct simdev_member **member);
/* Looks up a stream before use. `*capture` is NULL if the stream is not capturing. Returns an error
 * if it cannot be used. */
cudaError_t simdev_capture_look_up(cudaStream_t handle, struct simdev_stream_info *stream,
                                   struct simdev_capture **capture, struct simdev_member **member);
/* Returns the error. */
cudaError_t simdev_capture_invalidate(struct simdev_capture *capture, cudaError_t error);
/* True if a stream of the context takes part. */
bool simdev_capture_has_member(const struct simdev_capture *capture, uint64_t context);

/* Adds a member without dependencies. NULL if memory is short. */
struct simdev_member *simdev_capture_join(struct simdev_capture *capture,
                                          const struct simdev_stream_info *stream);
/* Makes the member's next node depend on these too; false if memory is short. */
bool simdev_member_add(struct simdev_member *member, const cudaGraphNode_t *nodes, size_t count);

#endif
