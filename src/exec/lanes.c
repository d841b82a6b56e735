/* Leases sets of side streams and events; forks them from the application's stream and joins
 * them to it. */
#include "exec/lanes.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ASKED = 4 /* sets that are asked whether their last call is over, for one call */
};

struct cs_lane_set {
    struct cs_lane_set *next;
    uint64_t context;
    void *home; /* the stream that had it last */
    uint64_t home_id;
    uint64_t capture; /* that it was last used in; 0: none */
    void *forked;
    int sides; /* side streams, with an event each */
    int busy;  /* of these, the last call used the first ones, and not in a capture */
    void *stream[CS_MAX_LANES - 1];
    void *joined[CS_MAX_LANES - 1];
};

/* Who asks. */
struct taker {
    const struct cs_device *device;
    uint64_t context;
    void *stream;
    uint64_t id;
    uint64_t capture;
};

void cs_lanes_init(struct cs_lanes *lanes)
{
    memset(lanes, 0, sizeof *lanes);
    pthread_mutex_init(&lanes->lock, NULL);
}

/* A set that was used in a capture takes part in it until that has ended. */
static bool usable(struct cs_lane_set *set, const struct taker *taker)
{
    const struct cs_device *device = taker->device;
    struct cs_capture now;
    if (set->context != taker->context)
        return false;
    if (set->capture == 0 || set->capture == taker->capture)
        return true;
    if (set->sides > 0 && (device->capture(device->ctx, set->stream[0], &now) != 0 || now.id != 0))
        return false;
    set->capture = 0;
    return true;
}

static bool is_home(const struct cs_lane_set *set, const struct taker *taker)
{
    return set->home_id == taker->id && (taker->id != 0 || set->home == taker->stream);
}

/* Beside what another stream has started, not behind it: that may be waiting for this very call. */
static bool is_over(const struct cs_lane_set *set, const struct taker *taker)
{
    bool over = true;
    for (int i = 0; i < set->busy && taker->capture == 0 && over; i++)
        over = taker->device->done(taker->device->ctx, set->joined[i]);
    return over;
}

/* Caller holds the lock. */
static struct cs_lane_set *take_idle(struct cs_lanes *lanes, const struct taker *taker)
{
    struct cs_lane_set **found = NULL;
    int asked = 0;
    for (struct cs_lane_set **link = &lanes->idle; *link; link = &(*link)->next) {
        if (is_home(*link, taker) && usable(*link, taker)) {
            found = link;
            break;
        }
    }
    for (struct cs_lane_set **link = &lanes->idle; *link && !found && asked < MAX_ASKED;
         link = &(*link)->next) {
        if (!usable(*link, taker))
            continue;
        asked++;
        if (is_over(*link, taker))
            found = link;
    }
    if (!found)
        return NULL;
    struct cs_lane_set *set = *found;
    *found = set->next;
    return set;
}

/* Sets of other contexts, which may be gone, are forgotten to make room. Caller holds the lock. */
static bool make_room(struct cs_lanes *lanes, uint64_t context)
{
    for (struct cs_lane_set **link = &lanes->idle; *link && lanes->sets >= CS_MAX_LANE_SETS;) {
        struct cs_lane_set *set = *link;
        if (set->context == context) {
            link = &set->next;
            continue;
        }
        *link = set->next;
        free(set);
        lanes->sets--;
    }
    return lanes->sets < CS_MAX_LANE_SETS;
}

static struct cs_lane_set *create(const struct cs_device *device, uint64_t context)
{
    struct cs_lane_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    set->context = context;
    if (device->event_create(device->ctx, &set->forked) == 0)
        return set;
    free(set);
    return NULL;
}

static void destroy(const struct cs_device *device, struct cs_lane_set *set)
{
    for (int i = 0; i < set->sides; i++) {
        device->stream_destroy(device->ctx, set->stream[i]);
        device->event_destroy(device->ctx, set->joined[i]);
    }
    device->event_destroy(device->ctx, set->forked);
    free(set);
}

static void grow(const struct cs_device *device, void *like, int sides, struct cs_lane_set *set)
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

static struct cs_lane_set *get_set(struct cs_lanes *lanes, const struct taker *taker)
{
    pthread_mutex_lock(&lanes->lock);
    struct cs_lane_set *set = take_idle(lanes, taker);
    bool room = !set && make_room(lanes, taker->context);
    lanes->sets += room;
    pthread_mutex_unlock(&lanes->lock);
    if (!room)
        return set;
    set = create(taker->device, taker->context);
    if (!set) {
        pthread_mutex_lock(&lanes->lock);
        lanes->sets--;
        pthread_mutex_unlock(&lanes->lock);
    }
    return set;
}

void cs_lanes_take(struct cs_lanes *lanes, const struct cs_device *device, void *stream,
                   const struct cs_capture *capture, int required, struct cs_lanes_lease *lease)
{
    *lease = (struct cs_lanes_lease){.lanes = 1, .stream = {stream}};
    struct taker taker = {.device = device, .stream = stream, .capture = capture->id};
    taker.context = required > 1 ? device->context(device->ctx) : 0;
    if (taker.context == 0)
        return;
    taker.id = device->stream_id(device->ctx, stream);
    struct cs_lane_set *set = get_set(lanes, &taker);
    if (!set)
        return;
    grow(device, stream, (required < CS_MAX_LANES ? required : CS_MAX_LANES) - 1, set);
    set->home = stream;
    set->home_id = taker.id;
    set->capture = capture->id;
    lease->set = set;
    for (; lease->lanes < required && lease->lanes <= set->sides; lease->lanes++)
        lease->stream[lease->lanes] = set->stream[lease->lanes - 1];
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
    int first = 0;
    for (int i = 1; i <= lease->forked; i++) {
        void *joined = lease->set->joined[i - 1];
        int status = device->record(device->ctx, joined, lease->stream[i]);
        if (status == 0)
            status = device->wait(device->ctx, lease->stream[0], joined);
        first = first != 0 ? first : status;
    }
    return first;
}

/* At the end: who looks for a set that is over begins with the oldest. Caller holds the lock. */
static void put_idle(struct cs_lanes *lanes, struct cs_lane_set *set)
{
    struct cs_lane_set **link = &lanes->idle;
    while (*link)
        link = &(*link)->next;
    set->next = NULL;
    *link = set;
}

void cs_lanes_give(struct cs_lanes *lanes, const struct cs_device *device,
                   struct cs_lanes_lease *lease, bool broken)
{
    struct cs_lane_set *set = lease->set;
    lease->set = NULL;
    if (!set)
        return;
    /* A captured stream cannot be destroyed; a later call of its capture may still join it. */
    broken = broken && set->capture == 0;
    if (set->capture != 0)
        set->busy = 0;
    else if (lease->forked > 0)
        set->busy = lease->forked;
    if (broken)
        destroy(device, set);
    pthread_mutex_lock(&lanes->lock);
    if (broken)
        lanes->sets--;
    else
        put_idle(lanes, set);
    pthread_mutex_unlock(&lanes->lock);
}

void cs_lanes_process_fork(struct cs_lanes *lanes, bool before, bool child)
{
    if (before) {
        pthread_mutex_lock(&lanes->lock);
        return;
    }
    while (child && lanes->idle) {
        struct cs_lane_set *set = lanes->idle;
        lanes->idle = set->next;
        free(set);
    }
    if (child)
        lanes->sets = 0;
    pthread_mutex_unlock(&lanes->lock);
}
