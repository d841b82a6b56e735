/* Side streams with the events that fork and join them. Each context has a pool, and each stream is
 * created once.
 *
 * A lease belongs to one call until it is returned, because each call records its events again. All
 * functions are thread-safe. A lease belongs to one thread. Not for streams that are being
 * captured: a capture on an H200 was invalidated when a cuDNN handle changed its stream in it. */
#ifndef CS_EXEC_LANES_H
#define CS_EXEC_LANES_H

#include "base/lock.h"
#include "convshim/gpu.h"
#include "convshim/plan.h"

struct cs_lane_set; /* the side streams and events of one lease */

struct cs_lanes {
    struct cs_lock lock;
    struct cs_lane_set *idle; /* all that are not leased */
    int sets;                 /* idle and leased */
    uint64_t takers;          /* number of the last one */
};

enum {
    CS_MAX_LANE_SETS = 64 /* most sets of a process; without a set a call runs on one lane */
};

struct cs_lanes_lease {
    struct cs_lane_set *set;    /* NULL: not available */
    int lanes;                  /* 1 without a set */
    int forked;                 /* side streams that run after stream [0] */
    void *stream[CS_MAX_LANES]; /* [0] is the application's own */
};

void cs_lanes_init(struct cs_lanes *lanes);

/* Leases `required` lanes in the current context, `stream` included: those that the stream used
 * last, or idle ones, or new ones. It never takes lanes on which another stream's work is running,
 * since that work may wait for this call. It leases fewer lanes, down to the stream alone, if
 * streams or events are not available, or if side streams would leave the part of the device that
 * the stream is confined to. */
void cs_lanes_take(struct cs_lanes *lanes, const struct cs_device *device, void *stream,
                   int required, struct cs_lanes_lease *lease);

/* Makes later work on the side streams run after earlier work on stream [0]. Returns the vendor's
 * status. */
int cs_lanes_fork(const struct cs_device *device, struct cs_lanes_lease *lease);

/* Makes later work on stream [0] run after earlier work on the side streams. Joins as many as
 * possible even if one fails, and returns the first failure. */
int cs_lanes_join(const struct cs_device *device, const struct cs_lanes_lease *lease);

/* Returns a lease. `broken`: its join failed, so the set is destroyed. */
void cs_lanes_give(struct cs_lanes *lanes, const struct cs_device *device,
                   struct cs_lanes_lease *lease, bool broken);

/* Takes the lock before a fork of the process, and releases it after it. `child`: forgets the
 * streams, which belong to the parent. */
void cs_lanes_process_fork(struct cs_lanes *lanes, bool before, bool child);

#endif
