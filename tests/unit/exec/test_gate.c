#include "check.h"
#include "exec/gate.h"
#include "heap.h"
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOW = 4, /* calls of a period; the high ones come after them */
    HIGH = 3,
    PERIOD = LOW + HIGH,
    LESSONS = 5, /* periods until the stages are known */
    ROUNDS = 40,
    MAX_THREADS = 4,
    MEETINGS = 20, /* attempts */
    MIB = 1 << 20
};

static const int64_t MILLISECOND = 1000000;
static const int64_t LONG = INT64_C(20000000000); /* nanoseconds; no test takes as long */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 * MILLISECOND + time.tv_nsec;
}

static void nap(int64_t nanoseconds)
{
    struct timespec time = {.tv_nsec = nanoseconds};
    nanosleep(&time, NULL);
}

/* Makes calls `first` to `last` of a period, both included. */
static void pass(struct cs_gate *gate, uint64_t context, int first, int last)
{
    for (int i = first; i <= last; i++)
        cs_gate_pass(gate, context, (uint64_t)i, i < LOW ? MIB : 100 * MIB);
}

/* Ends with the first call of a period, outside of the stage. */
static void learn(struct cs_gate *gate, uint64_t context)
{
    for (int i = 0; i < LESSONS; i++)
        pass(gate, context, 0, PERIOD - 1);
    pass(gate, context, 0, 0);
}

/* From there. */
static void go_in(struct cs_gate *gate, uint64_t context)
{
    pass(gate, context, 1, LOW);
}

static void go_on(struct cs_gate *gate, uint64_t context)
{
    pass(gate, context, LOW + 1, PERIOD - 1);
}

static void go_out(struct cs_gate *gate, uint64_t context)
{
    go_on(gate, context);
    pass(gate, context, 0, 0);
}

/* A thread that does something with the others' knowledge. */
struct actor {
    pthread_t thread;
    struct cs_gate *gate;
    sem_t ready, go, through;
    int64_t took; /* nanoseconds at a door */
};

static void actor_start(struct actor *actor, struct cs_gate *gate, void *(*act)(void *))
{
    memset(actor, 0, sizeof *actor);
    actor->gate = gate;
    sem_init(&actor->ready, 0, 0);
    sem_init(&actor->go, 0, 0);
    sem_init(&actor->through, 0, 0);
    if (pthread_create(&actor->thread, NULL, act, actor) != 0)
        exit(1);
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        continue;
}

static void actor_end(struct actor *actor)
{
    pthread_join(actor->thread, NULL);
    sem_destroy(&actor->ready);
    sem_destroy(&actor->go);
    sem_destroy(&actor->through);
}

/* Enters and stays inside until the test signals. */
static void *stay_inside(void *argument)
{
    struct actor *actor = argument;
    learn(actor->gate, 1);
    go_in(actor->gate, 1);
    sem_post(&actor->ready);
    await(&actor->go);
    go_out(actor->gate, 1);
    return NULL;
}

/* Ends inside. */
static void *end_inside(void *argument)
{
    struct actor *actor = argument;
    learn(actor->gate, 1);
    go_in(actor->gate, 1);
    sem_post(&actor->ready);
    await(&actor->go);
    return NULL;
}

/* Is through with its high calls and makes none for a long time. */
static void *idle_behind_stage(void *argument)
{
    struct actor *actor = argument;
    learn(actor->gate, 1); /* also how soon the first low call comes */
    go_in(actor->gate, 1);
    go_on(actor->gate, 1);
    sem_post(&actor->ready);
    await(&actor->go);
    return NULL;
}

static int phase; /* of the period: the first call that is made at all */

/* The same after its very first stage. */
static void *idle_at_once(void *argument)
{
    struct actor *actor = argument;
    int64_t before = cs_gate_facts(actor->gate).stages;
    for (int i = phase; cs_gate_facts(actor->gate).stages == before; i++)
        pass(actor->gate, 1, i % PERIOD, i % PERIOD);
    pass(actor->gate, 1, LOW, PERIOD - 1);
    sem_post(&actor->ready);
    await(&actor->go);
    return NULL;
}

/* Learns its stage, waits for the test's signal, and passes. */
static void *go_through(void *argument)
{
    struct actor *actor = argument;
    learn(actor->gate, 1);
    sem_post(&actor->ready);
    await(&actor->go);
    int64_t start = now();
    go_in(actor->gate, 1);
    actor->took = now() - start;
    go_out(actor->gate, 1);
    sem_post(&actor->through);
    return NULL;
}

/* `first` acts inside, and `second` knows its stage and comes to the door. */
static void meet(struct cs_gate *gate, struct actor *first, void *(*act)(void *),
                 struct actor *second)
{
    actor_start(second, gate, go_through);
    await(&second->ready);
    actor_start(first, gate, act);
    await(&first->ready);
    sem_post(&second->go);
}

static void end_both(struct actor *first, struct actor *second)
{
    sem_post(&first->go);
    actor_end(first);
    actor_end(second);
}

static void wait_for_waits(struct cs_gate *gate, int64_t waits)
{
    while (cs_gate_facts(gate).waits < waits)
        nap(MILLISECOND);
}

static void single_thread_never_waits(void)
{
    static struct cs_gate gate;
    cs_gate_init(&gate, LONG);
    learn(&gate, 1);
    int64_t before = cs_gate_facts(&gate).stages;
    for (int i = 0; i < 10; i++) {
        go_in(&gate, 1);
        go_out(&gate, 1);
    }
    struct cs_gate_facts facts = cs_gate_facts(&gate);
    CHECK_INT(facts.stages - before, 10);
    CHECK_INT(facts.waits, 0);
    CHECK_INT(facts.waited, 0);
    CHECK(!facts.given_up);
}

/* The second goes in when the first has left, not before. */
static void second_waits_for_first(void)
{
    static struct cs_gate gate;
    struct actor first, second;
    cs_gate_init(&gate, LONG);
    meet(&gate, &first, stay_inside, &second);
    wait_for_waits(&gate, 1);
    nap(30 * MILLISECOND);
    end_both(&first, &second);
    struct cs_gate_facts facts = cs_gate_facts(&gate);
    CHECK(second.took >= 30 * MILLISECOND);
    CHECK_INT(facts.waits, 1);
    CHECK(facts.waited >= 30 * MILLISECOND && facts.waited <= second.took);
    CHECK_INT(facts.timed_out, 0);
}

static void contexts_do_not_meet(void)
{
    static struct cs_gate gate;
    struct actor first;
    cs_gate_init(&gate, LONG);
    actor_start(&first, &gate, stay_inside);
    await(&first.ready);
    learn(&gate, 2);
    go_in(&gate, 2);
    CHECK_INT(cs_gate_facts(&gate).waits, 0);
    sem_post(&first.go);
    actor_end(&first);
}

/* After 64 contexts, further ones are not gated. */
static void contexts_beyond_the_limit_are_not_gated(void)
{
    static struct cs_gate gate;
    cs_gate_init(&gate, LONG);
    for (uint64_t context = 1; context <= 70; context++) {
        learn(&gate, context);
        go_in(&gate, context);
        CHECK_INT(gate.count, context < 64 ? context : 64);
    }
}

/* A call in another context, or one that was not expected. */
static void unexpected_call_leaves_the_stage(void)
{
    static const struct {
        uint64_t context, call;
    } calls[] = {{2, 0}, {1, 99}};
    static struct cs_gate gates[2];
    for (int i = 0; i < 2; i++) {
        struct actor second;
        cs_gate_init(&gates[i], LONG);
        learn(&gates[i], 1);
        go_in(&gates[i], 1);
        cs_gate_pass(&gates[i], calls[i].context, calls[i].call, MIB);
        actor_start(&second, &gates[i], go_through);
        sem_post(&second.go);
        actor_end(&second);
        CHECK_INT(cs_gate_facts(&gates[i]).waits, 0);
    }
}

static void ended_thread_leaves_the_stage(void)
{
    static struct cs_gate gate;
    struct actor first, second;
    cs_gate_init(&gate, LONG);
    meet(&gate, &first, end_inside, &second);
    wait_for_waits(&gate, 1);
    end_both(&first, &second);
    struct cs_gate_facts facts = cs_gate_facts(&gate);
    CHECK_INT(facts.timed_out, 0);
    CHECK(second.took < LONG / 4);
}

/* It is the one overdue that loses its place; that is no vain wait. */
static void check_idle(struct cs_gate *gate, void *(*idle)(void *))
{
    struct actor first, second;
    cs_gate_init(gate, LONG);
    meet(gate, &first, idle, &second);
    actor_end(&second);
    sem_post(&first.go);
    actor_end(&first);
    CHECK_INT(cs_gate_facts(gate).timed_out, 0);
    CHECK(second.took < LONG / 4);
}

static void an_idle_thread_loses_its_place(void)
{
    static struct cs_gate gate, others[PERIOD];
    check_idle(&gate, idle_behind_stage);
    for (phase = 0; phase < PERIOD; phase++) /* it may be known before any place of it */
        check_idle(&others[phase], idle_at_once);
}

static void time_out(void)
{
    static struct cs_gate gate;
    struct actor first, second;
    cs_gate_init(&gate, 50 * MILLISECOND);
    meet(&gate, &first, stay_inside, &second);
    actor_end(&second);
    struct cs_gate_facts facts = cs_gate_facts(&gate);
    CHECK(second.took >= 50 * MILLISECOND && second.took < LONG / 4);
    CHECK_INT(facts.waits, 1);
    CHECK_INT(facts.timed_out, 1);
    CHECK(!facts.given_up);
    sem_post(&first.go);
    actor_end(&first);
}

/* A thread inside that waits for threads at the door, outside of convolutions. */
static void repeated_timeouts_disable_the_gate(void)
{
    static struct cs_gate gate;
    struct actor first;
    cs_gate_init(&gate, 20 * MILLISECOND);
    learn(&gate, 1);
    for (int i = 0; i < 3; i++) {
        struct actor second;
        meet(&gate, &first, stay_inside, &second);
        actor_end(&second); /* first waits for it */
        sem_post(&first.go);
        actor_end(&first);
        CHECK_INT(cs_gate_facts(&gate).given_up, i == 2);
    }
    struct cs_gate_facts before = cs_gate_facts(&gate);
    CHECK_INT(before.timed_out, 3);
    actor_start(&first, &gate, stay_inside);
    await(&first.ready);
    go_in(&gate, 1);
    struct cs_gate_facts after = cs_gate_facts(&gate);
    CHECK_INT(after.waits, before.waits);
    CHECK_INT(after.stages, before.stages);
    sem_post(&first.go);
    actor_end(&first);
}

static void a_wait_that_ends_well_pays_for_vain_ones(void)
{
    static struct cs_gate gate;
    cs_gate_init(&gate, 20 * MILLISECOND);
    for (int i = 0; i < 5; i++) {
        struct actor first, second;
        bool well = i == 2; /* so that no three in a row are vain */
        gate.timeout = well ? LONG : 20 * MILLISECOND;
        meet(&gate, &first, stay_inside, &second);
        if (well)
            wait_for_waits(&gate, i + 1);
        else
            await(&second.through);
        end_both(&first, &second);
    }
    CHECK_INT(cs_gate_facts(&gate).timed_out, 4);
    CHECK(!cs_gate_facts(&gate).given_up);
}

/* A thread that claims to hold the innermost lock breaks the lock order with each lock that it
 * takes. This counts the locks of its first call, of a call inside an unknown period, of the calls
 * that make the period known, and of its end. */
static void *count_locks(void *argument)
{
    struct cs_gate *gate = argument;
    static const int locks[] = {2, 2, 2};
    cs_locks_held = 1U << CS_RANKS;
    const int before = cs_lock_faults();
    for (int i = 0; i < 3; i++) {
        cs_gate_pass(gate, 1, (uint64_t)i, MIB);
        CHECK_INT(cs_lock_faults() - before, locks[i]);
    }
    (void)cs_gate_facts(gate);
    CHECK_INT(cs_lock_faults() - before, 3);
    cs_gate_pass(gate, 2, 0, MIB); /* to another context */
    CHECK_INT(cs_lock_faults() - before, 4);
    return NULL;
}

static void shared_state_is_locked(void)
{
    static struct cs_gate gate;
    pthread_t thread;
    const int before = cs_lock_faults();
    cs_gate_init(&gate, LONG);
    CHECK_INT(pthread_create(&thread, NULL, count_locks, &gate), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(cs_lock_faults() - before, 5); /* the last one as the thread ended */
    CHECK(gate.threads == NULL);
}

/* The child of a process in which another thread is inside and a third waits. */
static void a_child_has_one_thread(void)
{
    static struct cs_gate gate;
    struct actor first, second;
    cs_gate_init(&gate, LONG);
    learn(&gate, 1);
    meet(&gate, &first, stay_inside, &second);
    wait_for_waits(&gate, 1);
    fflush(stdout);
    long long taken = heap_taken;
    cs_gate_fork(&gate, true, false);
    CHECK_INT(cs_locks_held, 1 << CS_RANK_GATE);
    pid_t child = fork();
    cs_gate_fork(&gate, false, child == 0);
    if (child == 0) {
#ifndef __SANITIZE_THREAD__ /* its runtime reports no frees in a child */
        taken -= 4;         /* two threads, each with its state for a context */
#endif
        if (heap_taken != taken)
            exit(2);
        for (int i = 0; i < 2; i++) {
            go_in(&gate, 1);
            go_out(&gate, 1);
        }
        struct cs_gate_facts facts = cs_gate_facts(&gate);
        exit(facts.waits == 0 && facts.stages == 2 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end_both(&first, &second);
    CHECK_INT(cs_gate_facts(&gate).waits, 1);
}

/* Threads whose memory is counted. */
struct crowd {
    struct cs_gate *gate; /* NULL: no thread is held */
    pthread_barrier_t start, known;
    atomic_int high;    /* threads that have their high memory now */
    atomic_int highest; /* since all knew their stages */
    atomic_bool counted;
};

static void take_high(struct crowd *crowd)
{
    int high = atomic_fetch_add(&crowd->high, 1) + 1, highest = atomic_load(&crowd->highest);
    while (atomic_load(&crowd->counted) && high > highest &&
           !atomic_compare_exchange_weak(&crowd->highest, &highest, high))
        continue;
}

static void pass_one(const struct crowd *crowd, int call)
{
    if (crowd->gate)
        pass(crowd->gate, 1, call, call);
}

/* From after the first call of a period to after the first of the next. The memory of a call is
 * allocated before it. */
static void period(struct crowd *crowd, uint64_t *random)
{
    for (int i = 1; i <= PERIOD; i++) {
        if (i == LOW)
            take_high(crowd);
        if (i == PERIOD)
            atomic_fetch_sub(&crowd->high, 1);
        pass_one(crowd, i % PERIOD);
        *random = *random * UINT64_C(6364136223846793005) + 1;
        nap((int64_t)(*random >> 47)); /* up to 131 us */
    }
}

static void *member(void *argument)
{
    struct crowd *crowd = argument;
    uint64_t random = (uint64_t)(uintptr_t)&random;
    pthread_barrier_wait(&crowd->start);
    pass_one(crowd, 0);
    for (int i = 0; i < LESSONS; i++)
        period(crowd, &random);
    pthread_barrier_wait(&crowd->known);
    atomic_store(&crowd->counted, true);
    for (int i = 0; i < ROUNDS; i++)
        period(crowd, &random);
    return NULL;
}

/* Returns how many threads had high memory at once. */
static int run_crowd(struct cs_gate *gate, unsigned threads)
{
    struct crowd crowd = {.gate = gate};
    pthread_t thread[MAX_THREADS];
    pthread_barrier_init(&crowd.start, NULL, threads);
    pthread_barrier_init(&crowd.known, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, member, &crowd) != 0)
            exit(1);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&crowd.start);
    pthread_barrier_destroy(&crowd.known);
    return atomic_load(&crowd.highest);
}

static void check_crowd(struct cs_gate *gate, unsigned threads)
{
    int free = 0;
    for (int i = 0; i < MEETINGS && free <= 1; i++)
        free = run_crowd(NULL, threads);
    CHECK(free > 1); /* they do meet if no thread is held */
    cs_gate_init(gate, LONG);
    gate->grace = LONG; /* a thread that gets no processor keeps its place */
    CHECK_INT(run_crowd(gate, threads), 1);
    struct cs_gate_facts facts = cs_gate_facts(gate);
    CHECK_INT(facts.timed_out, 0);
    CHECK(facts.stages >= (int64_t)threads * ROUNDS);
    CHECK(!facts.given_up);
    printf("# %u threads: %lld stages, %lld waits of %.0f us\n", threads, (long long)facts.stages,
           (long long)facts.waits, 1e-3 * (double)facts.waited / (double)facts.waits);
}

static void threads_are_never_high_together(void)
{
    static struct cs_gate two, four;
    check_crowd(&two, 2);
    check_crowd(&four, 4);
}

int main(void)
{
    heap_watch();
    TEST(single_thread_never_waits);
    TEST(second_waits_for_first);
    TEST(contexts_do_not_meet);
    TEST(contexts_beyond_the_limit_are_not_gated);
    TEST(unexpected_call_leaves_the_stage);
    TEST(ended_thread_leaves_the_stage);
    TEST(an_idle_thread_loses_its_place);
    TEST(time_out);
    TEST(repeated_timeouts_disable_the_gate);
    TEST(a_wait_that_ends_well_pays_for_vain_ones);
    TEST(shared_state_is_locked);
    TEST(a_child_has_one_thread);
    TEST(threads_are_never_high_together);
    return REPORT();
}
