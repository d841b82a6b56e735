/* Side streams and the events that fork to them and join them, pooled per context and made once.
 *
 * A lease is one call's alone until it is given back: its events are recorded again by every call,
 * so two calls that are being started at the same time never have the same. A lease taken in a
 * capture goes only to calls of that capture until the capture has ended, as its streams take part
 * in it. All functions are thread-safe; one lease is one thread's. */
#ifndef CS_EXEC_LANES_H
#define CS_EXEC_LANES_H

#include "base/lock.h"
#include "convshim/gpu.h"
#include "convshim/plan.h"

struct cs_lane_set; /* one lease's worth */

struct cs_lanes {
    struct cs_lock lock;
    struct cs_lane_set *idle; /* all that are not leased */
    int sets;                 /* made, leased ones too */
    uint64_t takers;          /* so far */
};

enum {
    CS_MAX_LANE_SETS = 64 /* of a process; who gets none runs on one lane */
};

struct cs_lanes_lease {
    struct cs_lane_set *set;    /* NULL: none was to be had */
    int lanes;                  /* 1 without a set */
    int forked;                 /* side streams that run after stream [0] */
    void *stream[CS_MAX_LANES]; /* [0] is the application's own */
};

void cs_lanes_init(struct cs_lanes *lanes);

/* Leases `required` lanes beside and with `stream`, in the current context: those that the same
 * stream had last, else some that nothing runs on, else new ones. What another stream has started
 * never comes between: it may be waiting for what this call computes. Gives fewer, down to the
 * stream alone, where streams or events cannot be had, or side streams would leave the part of the
 * device that the stream is confined to. */
void cs_lanes_take(struct cs_lanes *lanes, const struct cs_device *device, void *stream,
                   const struct cs_capture *capture, int required, struct cs_lanes_lease *lease);

/* What is started on the side streams from now on runs after what was started on stream [0]. */
int cs_lanes_fork(const struct cs_device *device, struct cs_lanes_lease *lease);

/* What is started on stream [0] from now on runs after what was started on the side streams.
 * Joins as many as it can even if one fails, and returns the first failure. */
int cs_lanes_join(const struct cs_device *device, const struct cs_lanes_lease *lease);

/* Gives a lease back. A set whose join has failed is destroyed instead (`broken`), but not in a
 * capture: a later call of that capture may still join it. */
void cs_lanes_give(struct cs_lanes *lanes, const struct cs_device *device,
                   struct cs_lanes_lease *lease, bool broken);

/* Holds (before) or frees (after) the lock across a fork of the process. In the child streams are
 * not ours: `child` forgets them. */
void cs_lanes_process_fork(struct cs_lanes *lanes, bool before, bool child);

#endif
