#include "exec/gate.h"

#include "exec/call_period.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    VAIN_WAITS = 3,    /* in a row: the doors stay open */
    OVERDUE_TIMES = 4, /* as long as a thread has taken from its last high call to a low one */
    OVERDUE_MS = 10,   /* and a little more, as others have the processor too */
    MAX_HOUSES = 64    /* contexts; in more, nobody is held */
};

static const int64_t SECOND = 1000000000;
static const int64_t MILLISECOND = 1000000;

/* What only its own thread looks at stands first. */
struct cs_guest {
    uint64_t context;
    int64_t came; /* when it was let in */
    int64_t last; /* when it made the last call of its high stage; 0: not yet */
    int64_t soon; /* the least time from there to the first low call; 0: unknown */
    struct cs_habit habit;
    struct cs_turns *turns;
    struct cs_house *spare;  /* for a context that has none yet: made before the lock is taken */
    struct cs_guest *next;   /* of all threads */
    struct cs_guest *behind; /* at the same door */
};

struct cs_house {
    struct cs_house *next;
    uint64_t context;
    struct cs_guest *inside;
    struct cs_guest *door; /* who waits, the first first */
    int64_t overdue;       /* when the one inside should have left; 0: unknown */
    int vain;              /* waits in a row */
    bool open;
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

/* NULL: none. Where nobody is inside, nobody waits. Caller holds the lock, as for most that follow.
 */
static struct cs_house *house_of(struct cs_turns *turns, uint64_t context)
{
    struct cs_house *house = turns->houses;
    while (house && house->context != context)
        house = house->next;
    return house;
}

/* The same, made if there is none; NULL if there are too many or there is no memory. */
static struct cs_house *own_house(struct cs_turns *turns, struct cs_guest *guest)
{
    struct cs_house *house = house_of(turns, guest->context);
    if (house || !guest->spare || turns->count >= MAX_HOUSES)
        return house;
    house = guest->spare;
    guest->spare = NULL;
    house->context = guest->context;
    house->next = turns->houses;
    turns->houses = house;
    turns->count++;
    return house;
}

static void go_inside(struct cs_turns *turns, struct cs_house *house, struct cs_guest *guest)
{
    house->inside = guest;
    house->overdue = 0;
    if (!guest)
        return;
    guest->came = now();
    turns->facts.stages++;
}

static void queue_up(struct cs_house *house, struct cs_guest *guest)
{
    struct cs_guest **link = &house->door;
    while (*link)
        link = &(*link)->behind;
    guest->behind = NULL;
    *link = guest;
}

static void step_out(struct cs_house *house, const struct cs_guest *guest)
{
    struct cs_guest **link = &house->door;
    while (*link && *link != guest)
        link = &(*link)->behind;
    if (*link)
        *link = guest->behind;
}

static void leave(struct cs_turns *turns, struct cs_guest *guest)
{
    struct cs_house *house = house_of(turns, guest->context);
    if (!house || house->inside != guest)
        return;
    struct cs_guest *first = house->door;
    go_inside(turns, house, first);
    if (!first)
        return;
    step_out(house, first);
    cs_condition_tell(&turns->left);
}

static void open_doors(struct cs_turns *turns, struct cs_house *house)
{
    house->open = true;
    house->inside = NULL;
    house->door = NULL;
    turns->facts.given_up = true;
    cs_condition_tell(&turns->left);
}

/* Waits until the guest is let in or goes in by itself; true if that was in vain. */
static bool wait_at_door(struct cs_turns *turns, struct cs_house *house, struct cs_guest *guest,
                         int64_t deadline)
{
    queue_up(house, guest);
    while (house->inside != guest && !house->open) {
        bool first = house->door == guest && house->overdue > 0;
        int64_t until = first && house->overdue < deadline ? house->overdue : deadline;
        (void)cs_condition_wait(&turns->left, &turns->lock, until);
        if (house->inside == guest || house->open || now() < until)
            continue;
        step_out(house, guest);
        go_inside(turns, house, guest);
        return until == deadline;
    }
    return false;
}

static void enter(struct cs_turns *turns, struct cs_guest *guest)
{
    struct cs_house *house = own_house(turns, guest);
    if (!house || house->open || house->inside == guest)
        return;
    if (!house->inside) {
        go_inside(turns, house, guest);
        return;
    }
    int64_t came = now();
    turns->facts.waits++;
    bool vain = wait_at_door(turns, house, guest, came + turns->timeout);
    turns->facts.waited += now() - came;
    turns->facts.vain += vain;
    house->vain = vain ? house->vain + 1 : 0;
    if (house->vain >= VAIN_WAITS && !house->open)
        open_doors(turns, house);
}

/* The guest has been through its high calls. How soon it should leave is known from before; the
 * first time it is as long as the stage took. */
static void end_stage(struct cs_turns *turns, struct cs_guest *guest)
{
    struct cs_house *house = house_of(turns, guest->context);
    guest->last = now();
    if (!house || house->inside != guest)
        return;
    int64_t soon = guest->soon > 0 ? guest->soon : guest->last - guest->came;
    house->overdue = guest->last + OVERDUE_TIMES * soon + OVERDUE_MS * MILLISECOND;
    if (house->door)
        cs_condition_tell(&turns->left);
}

static void begin_low(struct cs_turns *turns, struct cs_guest *guest)
{
    leave(turns, guest);
    if (guest->last == 0)
        return;
    int64_t took = now() - guest->last;
    if (guest->soon == 0 || took < guest->soon)
        guest->soon = took;
    guest->last = 0;
}

static void act(struct cs_turns *turns, struct cs_guest *guest, unsigned place)
{
    cs_lock(&turns->lock);
    if (place & CS_HABIT_BROKEN) {
        leave(turns, guest);
        guest->last = guest->soon = 0;
    }
    if (place & CS_HABIT_FALL)
        begin_low(turns, guest);
    if (place & CS_HABIT_DOOR)
        enter(turns, guest);
    if (place & CS_HABIT_LAST)
        end_stage(turns, guest);
    cs_unlock(&turns->lock);
}

static void thread_ended(void *ended)
{
    struct cs_guest *guest = ended;
    struct cs_turns *turns = guest->turns;
    cs_lock(&turns->lock);
    leave(turns, guest);
    struct cs_guest **link = &turns->guests;
    while (*link != guest)
        link = &(*link)->next;
    *link = guest->next;
    cs_unlock(&turns->lock);
    free(guest->spare);
    free(guest);
}

static struct cs_guest *create(struct cs_turns *turns)
{
    struct cs_guest *guest = calloc(1, sizeof *guest);
    if (!guest)
        return NULL;
    if (pthread_setspecific(turns->self, guest) != 0) {
        free(guest);
        return NULL;
    }
    cs_habit_init(&guest->habit);
    guest->turns = turns;
    cs_lock(&turns->lock);
    guest->next = turns->guests;
    turns->guests = guest;
    cs_unlock(&turns->lock);
    return guest;
}

/* A thread that goes over to another context begins anew there. */
static void move(struct cs_turns *turns, struct cs_guest *guest, uint64_t context)
{
    act(turns, guest, CS_HABIT_BROKEN);
    cs_habit_init(&guest->habit);
    guest->context = context;
    if (!guest->spare)
        guest->spare = calloc(1, sizeof *guest->spare);
}

void cs_turns_init(struct cs_turns *turns, int64_t timeout)
{
    memset(turns, 0, sizeof *turns);
    turns->timeout = timeout;
    turns->usable = pthread_key_create(&turns->self, thread_ended) == 0;
    cs_lock_init(&turns->lock, CS_RANK_GATE);
    cs_condition_init(&turns->left);
}

void cs_turns_pass(struct cs_turns *turns, uint64_t context, uint64_t call, int64_t bytes)
{
    if (!turns->usable || context == 0)
        return;
    struct cs_guest *guest = pthread_getspecific(turns->self);
    if (!guest)
        guest = create(turns);
    if (!guest)
        return;
    if (guest->context != context)
        move(turns, guest, context);
    unsigned place = cs_habit_note(&guest->habit, call, bytes);
    if (place != 0)
        act(turns, guest, place);
}

struct cs_turns_facts cs_turns_facts(struct cs_turns *turns)
{
    cs_lock(&turns->lock);
    struct cs_turns_facts facts = turns->facts;
    cs_unlock(&turns->lock);
    return facts;
}

/* Returns the guests that are not there any more. */
static struct cs_guest *forget_others(struct cs_turns *turns)
{
    struct cs_guest *self = pthread_getspecific(turns->self), *others = NULL;
    for (struct cs_house *house = turns->houses; house; house = house->next) {
        house->door = NULL;
        if (house->inside != self)
            house->inside = NULL;
    }
    for (struct cs_guest *guest = turns->guests, *next; guest; guest = next) {
        next = guest->next;
        if (guest == self)
            continue;
        guest->next = others;
        others = guest;
    }
    turns->guests = self;
    if (self)
        self->next = NULL;
    /* Its waiters are gone, but it would still count on them. */
    cs_condition_init(&turns->left);
    memset(&turns->facts, 0, sizeof turns->facts);
    return others;
}

void cs_turns_fork(struct cs_turns *turns, bool before, bool child)
{
    struct cs_guest *gone = NULL;
    if (before) {
        cs_lock(&turns->lock);
        return;
    }
    if (child && turns->usable)
        gone = forget_others(turns);
    cs_unlock(&turns->lock);
    while (gone) {
        struct cs_guest *guest = gone;
        gone = guest->next;
        free(guest->spare);
        free(guest);
    }
}
