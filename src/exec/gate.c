/* Holds a thread before its high-memory stage while another thread of the same context is inside
 * its own. */
#include "exec/gate.h"

#include "base/clock.h"
#include "exec/call_period.h"
#include <stdlib.h>
#include <string.h>

enum {
    TIMED_OUT_WAITS = 3, /* after this many in a row the gate stays open */
    OVERDUE_TIMES = 4,   /* a thread is overdue after this multiple of its shortest time */
    GRACE_MS = 10,       /* see struct cs_gate */
    MAX_CONTEXTS = 64    /* in further contexts no thread waits */
};

/* The state of a host thread. Times are nanoseconds. Members that only its own thread uses come
 * first. */
struct cs_gate_thread {
    uint64_t context;
    int64_t came;     /* when it was let in */
    int64_t last;     /* when it made the last call of its high stage; 0: not yet */
    int64_t shortest; /* the shortest time from there to the first low call; 0: unknown */
    struct cs_call_period detector;
    struct cs_gate *gate;
    struct cs_gate_context
        *spare; /* for a context that has none yet: made before the lock is taken */
    struct cs_gate_thread *next;   /* next in the list of all threads */
    struct cs_gate_thread *behind; /* waits after this one at the same gate */
};

/* The gate of a context. */
struct cs_gate_context {
    struct cs_gate_context *next;
    uint64_t context;
    struct cs_gate_thread *inside;
    struct cs_gate_thread *waiting; /* first waiting thread, in the order of arrival */
    int64_t overdue;                /* when the one inside should have left; 0: unknown */
    int timed_out;                  /* waits in a row */
    bool open;
};

static int64_t clock_now(void)
{
    return cs_clock(CLOCK_MONOTONIC);
}

/* The state of a context, or NULL. The caller holds the lock, as for most functions below. */
static struct cs_gate_context *context_of(struct cs_gate *gate, uint64_t context)
{
    struct cs_gate_context *context_state = gate->contexts;
    while (context_state && context_state->context != context)
        context_state = context_state->next;
    return context_state;
}

/* The state of the thread's context, made if there is none. NULL if there are too many, or if
 * memory is short. */
static struct cs_gate_context *own_state(struct cs_gate *gate, struct cs_gate_thread *thread)
{
    struct cs_gate_context *context_state = context_of(gate, thread->context);
    if (context_state || !thread->spare || gate->count >= MAX_CONTEXTS)
        return context_state;
    context_state = thread->spare;
    thread->spare = NULL;
    context_state->context = thread->context;
    context_state->next = gate->contexts;
    gate->contexts = context_state;
    gate->count++;
    return context_state;
}

/* Lets a thread in. NULL: no thread is inside now. */
static void go_inside(struct cs_gate *gate, struct cs_gate_context *context_state,
                      struct cs_gate_thread *thread)
{
    context_state->inside = thread;
    context_state->overdue = 0;
    if (!thread)
        return;
    thread->came = clock_now();
    gate->facts.stages++;
}

static void join_queue(struct cs_gate_context *context_state, struct cs_gate_thread *thread)
{
    struct cs_gate_thread **link = &context_state->waiting;
    while (*link)
        link = &(*link)->behind;
    thread->behind = NULL;
    *link = thread;
}

static void leave_queue(struct cs_gate_context *context_state, const struct cs_gate_thread *thread)
{
    struct cs_gate_thread **link = &context_state->waiting;
    while (*link && *link != thread)
        link = &(*link)->behind;
    if (*link)
        *link = thread->behind;
}

/* Takes the thread out if it is inside, and lets the first waiting one in. */
static void leave_gate(struct cs_gate *gate, struct cs_gate_thread *thread)
{
    struct cs_gate_context *context_state = context_of(gate, thread->context);
    if (!context_state || context_state->inside != thread)
        return;
    struct cs_gate_thread *first = context_state->waiting;
    go_inside(gate, context_state, first);
    if (!first)
        return;
    leave_queue(context_state, first);
    cs_lock_condition_wake(&gate->left);
}

/* Opens the gate for good, and releases all waiting threads. */
static void open_gate(struct cs_gate *gate, struct cs_gate_context *context_state)
{
    context_state->open = true;
    context_state->inside = NULL;
    context_state->waiting = NULL;
    gate->facts.given_up = true;
    cs_lock_condition_wake(&gate->left);
}

/* Waits until the thread is let in. Goes in at the deadline, or if it is the first and the one
 * inside is overdue. True if the wait timed out. */
static bool wait_at_gate(struct cs_gate *gate, struct cs_gate_context *context_state,
                         struct cs_gate_thread *thread, int64_t deadline)
{
    join_queue(context_state, thread);
    while (context_state->inside != thread && !context_state->open) {
        bool first = context_state->waiting == thread && context_state->overdue > 0;
        int64_t until =
            first && context_state->overdue < deadline ? context_state->overdue : deadline;
        (void)cs_lock_condition_wait(&gate->left, &gate->lock, until);
        if (context_state->inside == thread || context_state->open || clock_now() < until)
            continue;
        leave_queue(context_state, thread);
        go_inside(gate, context_state, thread);
        return until == deadline;
    }
    return false;
}

/* Lets the thread in, at once or after a wait. Opens the gate for good after TIMED_OUT_WAITS
 * time-outs in a row. */
static void enter_gate(struct cs_gate *gate, struct cs_gate_thread *thread)
{
    struct cs_gate_context *context_state = own_state(gate, thread);
    if (!context_state || context_state->open || context_state->inside == thread)
        return;
    if (!context_state->inside) {
        go_inside(gate, context_state, thread);
        return;
    }
    int64_t came = clock_now();
    gate->facts.waits++;
    bool timed_out = wait_at_gate(gate, context_state, thread, came + gate->timeout);
    gate->facts.waited += clock_now() - came;
    gate->facts.timed_out += timed_out;
    context_state->timed_out = timed_out ? context_state->timed_out + 1 : 0;
    if (context_state->timed_out >= TIMED_OUT_WAITS && !context_state->open)
        open_gate(gate, context_state);
}

/* Ends a high stage at its last call. Computes when the thread is overdue: from its shortest time
 * to a low call, at first from the length of the stage. */
static void end_stage(struct cs_gate *gate, struct cs_gate_thread *thread)
{
    struct cs_gate_context *context_state = context_of(gate, thread->context);
    thread->last = clock_now();
    if (!context_state || context_state->inside != thread)
        return;
    int64_t shortest = thread->shortest > 0 ? thread->shortest : thread->last - thread->came;
    context_state->overdue = thread->last + OVERDUE_TIMES * shortest + gate->grace;
    if (context_state->waiting)
        cs_lock_condition_wake(&gate->left);
}

/* Leaves the gate at the first low call, and measures the time since the last high one. */
static void begin_low(struct cs_gate *gate, struct cs_gate_thread *thread)
{
    leave_gate(gate, thread);
    if (thread->last == 0)
        return;
    int64_t took = clock_now() - thread->last;
    if (thread->shortest == 0 || took < thread->shortest)
        thread->shortest = took;
    thread->last = 0;
}

/* Enters or leaves the gate at a call of this place, a set of enum cs_call_place. */
static void act_on_place(struct cs_gate *gate, struct cs_gate_thread *thread, unsigned place)
{
    cs_lock(&gate->lock);
    if (place & CS_CALL_UNEXPECTED) {
        leave_gate(gate, thread);
        thread->last = thread->shortest = 0;
    }
    if (place & CS_CALL_AFTER_FALL)
        begin_low(gate, thread);
    if (place & CS_CALL_BEFORE_RISE)
        enter_gate(gate, thread);
    if (place & CS_CALL_LAST)
        end_stage(gate, thread);
    cs_unlock(&gate->lock);
}

/* Removes the state of a thread that ends. */
static void destroy_thread(void *ended)
{
    struct cs_gate_thread *thread = ended;
    struct cs_gate *gate = thread->gate;
    cs_lock(&gate->lock);
    leave_gate(gate, thread);
    struct cs_gate_thread **link = &gate->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    cs_unlock(&gate->lock);
    free(thread->spare);
    free(thread);
}

/* Creates the state of the calling thread. NULL if that fails. */
static struct cs_gate_thread *create_thread(struct cs_gate *gate)
{
    struct cs_gate_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    if (pthread_setspecific(gate->self, thread) != 0) {
        free(thread);
        return NULL;
    }
    cs_call_period_init(&thread->detector);
    thread->gate = gate;
    cs_lock(&gate->lock);
    thread->next = gate->threads;
    gate->threads = thread;
    cs_unlock(&gate->lock);
    return thread;
}

/* Moves a thread to another context, in which it begins again. */
static void move_thread(struct cs_gate *gate, struct cs_gate_thread *thread, uint64_t context)
{
    act_on_place(gate, thread, CS_CALL_UNEXPECTED);
    cs_call_period_init(&thread->detector);
    thread->context = context;
    if (!thread->spare)
        thread->spare = calloc(1, sizeof *thread->spare);
}

void cs_gate_init(struct cs_gate *gate, int64_t timeout)
{
    memset(gate, 0, sizeof *gate);
    gate->timeout = timeout;
    gate->grace = GRACE_MS * CS_MILLISECOND;
    gate->usable = pthread_key_create(&gate->self, destroy_thread) == 0;
    cs_lock_init(&gate->lock, CS_RANK_GATE);
    cs_lock_condition_init(&gate->left);
}

void cs_gate_pass(struct cs_gate *gate, uint64_t context, uint64_t call, int64_t bytes)
{
    if (!gate->usable || context == 0)
        return;
    struct cs_gate_thread *thread = pthread_getspecific(gate->self);
    if (!thread)
        thread = create_thread(gate);
    if (!thread)
        return;
    if (thread->context != context)
        move_thread(gate, thread, context);
    unsigned place = cs_call_period_add(&thread->detector, call, bytes);
    if (place != 0)
        act_on_place(gate, thread, place);
}

struct cs_gate_facts cs_gate_facts(struct cs_gate *gate)
{
    cs_lock(&gate->lock);
    struct cs_gate_facts facts = gate->facts;
    cs_unlock(&gate->lock);
    return facts;
}

/* Removes and returns the threads that a forked child does not have. */
static struct cs_gate_thread *forget_others(struct cs_gate *gate)
{
    struct cs_gate_thread *self = pthread_getspecific(gate->self), *others = NULL;
    for (struct cs_gate_context *context_state = gate->contexts; context_state;
         context_state = context_state->next) {
        context_state->waiting = NULL;
        if (context_state->inside != self)
            context_state->inside = NULL;
    }
    for (struct cs_gate_thread *thread = gate->threads, *next; thread; thread = next) {
        next = thread->next;
        if (thread == self)
            continue;
        thread->next = others;
        others = thread;
    }
    gate->threads = self;
    if (self)
        self->next = NULL;
    /* The child has no waiters, but the condition still counts the parent's. Initialize it again.
     */
    cs_lock_condition_init(&gate->left);
    memset(&gate->facts, 0, sizeof gate->facts);
    return others;
}

void cs_gate_fork(struct cs_gate *gate, bool before, bool child)
{
    struct cs_gate_thread *gone = NULL;
    if (before) {
        cs_lock(&gate->lock);
        return;
    }
    if (child && gate->usable)
        gone = forget_others(gate);
    cs_unlock(&gate->lock);
    while (gone) {
        struct cs_gate_thread *thread = gone;
        gone = thread->next;
        free(thread->spare);
        free(thread);
    }
}
