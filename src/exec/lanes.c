/* Leases sets of side streams and events; forks them from the application's stream and joins
 * them to it. */
#include "exec/lanes.h"

#include "base/invariant.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_EXAMINED = 4 /* idle sets that one call examines */
};

struct cs_lane_set {
    struct cs_lane_set *next;
    uint64_t context;
    void *handle;      /* the context's handle */
    uint64_t examiner; /* the number of the last taker that examined it */
    void *home;        /* the stream that had it last */
    uint64_t home_id;
    void *forked; /* event at the fork */
    int sides;    /* side streams, with an event each */
    int busy;     /* side streams that the last call used */
    void *stream[CS_MAX_LANES - 1];
    void *joined[CS_MAX_LANES - 1]; /* events at the join */
};

/* The call that takes lanes. `id` is that of its stream. */
struct taker {
    const struct cs_device *device;
    uint64_t context;
    void *stream;
    uint64_t id;
    uint64_t number; /* number of the call, never given twice */
};

void cs_lanes_init(struct cs_lanes *lanes)
{
    memset(lanes, 0, sizeof *lanes);
    cs_lock_init(&lanes->lock, CS_RANK_LANES);
}

/* True if at most as many sets are idle as exist, and each was busy on its own streams alone. */
static bool is_sound(const struct cs_lanes *lanes)
{
    int idle = 0;
    for (const struct cs_lane_set *set = lanes->idle; set; set = set->next)
        if (++idle > lanes->sets || set->busy < 0 || set->busy > set->sides ||
            set->sides >= CS_MAX_LANES || set->examiner > lanes->takers)
            return false;
    return lanes->sets <= CS_MAX_LANE_SETS;
}

/* True if the lease has the lanes of its set, and forked no more than these. */
static bool lease_is_sound(const struct cs_lanes_lease *lease)
{
    return lease->forked < lease->lanes && lease->lanes <= (lease->set ? 1 + lease->set->sides : 1);
}

/* Releases the lock of sound lanes. */
static void unlock(struct cs_lanes *lanes)
{
    CS_INVARIANT(is_sound(lanes));
    cs_unlock(&lanes->lock);
}

/* True if the taker's stream had the set last. */
static bool is_home(const struct cs_lane_set *set, const struct taker *taker)
{
    return set->home_id == taker->id && (taker->id != 0 || set->home == taker->stream);
}

/* True if the last call on the set is complete. A call must not queue behind the work of another
 * stream, because that work may wait for this call. */
static bool is_over(const struct cs_lane_set *set, const struct taker *taker)
{
    bool over = true;
    for (int i = 0; i < set->busy && over; i++)
        over = taker->device->done(taker->device->ctx, set->joined[i]);
    return over;
}

/* Removes and returns the idle set to try next: the taker's previous one, or the oldest. The caller
 * holds the lock. */
static struct cs_lane_set *next_idle(struct cs_lanes *lanes, const struct taker *taker)
{
    struct cs_lane_set **found = NULL;
    for (struct cs_lane_set **link = &lanes->idle; *link; link = &(*link)->next) {
        if ((*link)->context != taker->context || (*link)->examiner == taker->number)
            continue;
        if (!found)
            found = link;
        if (is_home(*link, taker)) {
            found = link;
            break;
        }
    }
    if (!found)
        return NULL;
    struct cs_lane_set *set = *found;
    *found = set->next;
    set->examiner = taker->number;
    return set;
}

/* Takes an idle set that the taker may use, or NULL. The caller holds the lock, which is released
 * while the device is queried. */
static struct cs_lane_set *take_idle(struct cs_lanes *lanes, const struct taker *taker)
{
    struct cs_lane_set *set = NULL, *refused = NULL;
    for (int examined = 0; examined < MAX_EXAMINED && !set; examined++) {
        set = next_idle(lanes, taker);
        if (!set)
            break;
        unlock(lanes);
        bool usable = is_home(set, taker) || is_over(set, taker);
        cs_lock(&lanes->lock);
        if (usable)
            continue;
        set->next = refused;
        refused = set;
        set = NULL;
    }
    /* Put refused sets back to the front, so that the oldest is the first again. */
    while (refused) {
        struct cs_lane_set *back = refused;
        refused = back->next;
        back->next = lanes->idle;
        lanes->idle = back;
    }
    return set;
}

static void destroy_set(const struct cs_device *device, struct cs_lane_set *set)
{
    for (int i = 0; i < set->sides; i++) {
        device->stream_destroy(device->ctx, set->stream[i]);
        device->event_destroy(device->ctx, set->joined[i]);
    }
    device->event_destroy(device->ctx, set->forked);
    free(set);
}

/* Takes an idle set of another context that this taker has not examined. The lock is held. */
static struct cs_lane_set *take_other(struct cs_lanes *lanes, const struct taker *taker)
{
    struct cs_lane_set **link = &lanes->idle;
    while (*link && ((*link)->context == taker->context || (*link)->examiner == taker->number))
        link = &(*link)->next;
    struct cs_lane_set *set = *link;
    if (!set)
        return NULL;
    *link = set->next;
    set->examiner = taker->number;
    return set;
}

/* Destroys a set of another context. If that context is gone, its streams and events are gone, too.
 */
static void drop_set(const struct cs_device *device, struct cs_lane_set *set)
{
    if (device->lives(device->ctx, set->handle, set->context))
        destroy_set(device, set);
    else
        free(set);
}

/* Appends a set, because searches begin with the oldest. The caller holds the lock. */
static void put_idle(struct cs_lanes *lanes, struct cs_lane_set *set)
{
    struct cs_lane_set **link = &lanes->idle;
    while (*link)
        link = &(*link)->next;
    set->next = NULL;
    *link = set;
}

/* Removes sets of other contexts to make room. False if none is left. The caller holds the lock,
 * which is released during the calls of the device. */
static bool make_room(struct cs_lanes *lanes, const struct taker *taker)
{
    while (lanes->sets >= CS_MAX_LANE_SETS) {
        struct cs_lane_set *set = take_other(lanes, taker);
        if (!set)
            return false;
        unlock(lanes);
        drop_set(taker->device, set);
        cs_lock(&lanes->lock);
        lanes->sets--;
    }
    return true;
}

/* Creates a set without side streams. NULL if that fails. */
static struct cs_lane_set *create_set(const struct cs_device *device, uint64_t context)
{
    struct cs_lane_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    set->context = context;
    set->handle = device->handle(device->ctx);
    if (device->event_create(device->ctx, &set->forked) == 0)
        return set;
    free(set);
    return NULL;
}

/* Adds side streams of the priority of `like` until there are `sides`, or the device refuses one.
 */
static void grow_set(const struct cs_device *device, void *like, int sides, struct cs_lane_set *set)
{
    while (set->sides < sides) {
        void *stream, *joined;
        if (device->stream_create(device->ctx, like, &stream) != 0)
            return;
        if (device->event_create(device->ctx, &joined) != 0) {
            device->stream_destroy(device->ctx, stream);
            return;
        }
        set->stream[set->sides] = stream;
        set->joined[set->sides++] = joined;
    }
}

/* Takes an idle set, or makes room for a new one and creates it. NULL if that fails. */
static struct cs_lane_set *get_set(struct cs_lanes *lanes, struct taker *taker)
{
    cs_lock(&lanes->lock);
    taker->number = ++lanes->takers;
    struct cs_lane_set *set = take_idle(lanes, taker);
    bool room = !set && make_room(lanes, taker);
    lanes->sets += room;
    unlock(lanes);
    if (!room)
        return set;
    set = create_set(taker->device, taker->context);
    if (!set) {
        cs_lock(&lanes->lock);
        lanes->sets--;
        unlock(lanes);
    }
    return set;
}

void cs_lanes_take(struct cs_lanes *lanes, const struct cs_device *device, void *stream,
                   int required, struct cs_lanes_lease *lease)
{
    *lease = (struct cs_lanes_lease){.lanes = 1, .stream = {stream}};
    struct taker taker = {.device = device, .stream = stream};
    taker.context =
        required > 1 && !device->confined(device->ctx, stream) ? device->context(device->ctx) : 0;
    if (taker.context == 0)
        return;
    taker.id = device->stream_id(device->ctx, stream);
    struct cs_lane_set *set = get_set(lanes, &taker);
    if (!set)
        return;
    grow_set(device, stream, (required < CS_MAX_LANES ? required : CS_MAX_LANES) - 1, set);
    set->home = stream;
    set->home_id = taker.id;
    lease->set = set;
    for (; lease->lanes < required && lease->lanes <= set->sides; lease->lanes++)
        lease->stream[lease->lanes] = set->stream[lease->lanes - 1];
    CS_INVARIANT(lease_is_sound(lease));
    if (lease->lanes == 1)
        cs_lanes_give(lanes, device, lease, false);
}

int cs_lanes_fork(const struct cs_device *device, struct cs_lanes_lease *lease)
{
    if (lease->lanes < 2)
        return 0;
    int status = device->record(device->ctx, lease->set->forked, lease->stream[0]);
    for (int i = 1; i < lease->lanes && status == 0; i++) {
        status = device->wait(device->ctx, lease->stream[i], lease->set->forked);
        lease->forked += status == 0;
    }
    return status;
}

int cs_lanes_join(const struct cs_device *device, const struct cs_lanes_lease *lease)
{
    const struct cs_lane_set *set = lease->set;
    int first = 0;
    CS_INVARIANT(lease_is_sound(lease));
    for (int i = 1; i <= lease->forked; i++) {
        int status = device->record(device->ctx, set->joined[i - 1], lease->stream[i]);
        if (status == 0)
            status = device->wait(device->ctx, lease->stream[0], set->joined[i - 1]);
        first = first != 0 ? first : status;
    }
    return first;
}

void cs_lanes_give(struct cs_lanes *lanes, const struct cs_device *device,
                   struct cs_lanes_lease *lease, bool broken)
{
    struct cs_lane_set *set = lease->set;
    lease->set = NULL;
    if (!set)
        return;
    if (lease->forked > 0)
        set->busy = lease->forked;
    if (broken)
        destroy_set(device, set);
    cs_lock(&lanes->lock);
    if (broken)
        lanes->sets--;
    else
        put_idle(lanes, set);
    unlock(lanes);
}

void cs_lanes_process_fork(struct cs_lanes *lanes, bool before, bool child)
{
    struct cs_lane_set *gone = NULL;
    if (before) {
        cs_lock(&lanes->lock);
        return;
    }
    if (child) {
        gone = lanes->idle;
        lanes->idle = NULL;
        lanes->sets = 0;
    }
    unlock(lanes);
    while (gone) {
        struct cs_lane_set *set = gone;
        gone = set->next;
        free(set);
    }
}
