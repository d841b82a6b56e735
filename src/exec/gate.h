/* Serialises the high-memory stages of concurrent threads: a host thread waits at the gate of its
 * context before its high-memory stage while another thread is inside its own.
 *
 * Every thread's calls are a sequence that repeats (a denoising step, a decode, a training step).
 * call_period.h learns the last call before memory rises and the first one after it has fallen. One
 * thread of a context is inside at a time. When it leaves, the next one goes in, in the order of
 * arrival. No thread waits inside. A thread that has waited for the time-out goes in. After a few
 * time-outs in a row the gate of that context stays open for good, so a program that cannot be
 * serialised is not slowed down for long.
 *
 * A thread that ends leaves its stage. A thread is overdue if its first low call comes much later
 * after its last high call than before. Then the first waiting thread goes in.
 *
 * The host thread waits, not the device. A program that frees in stream order and runs far ahead of
 * its device leaves its stage before the device does. */
#ifndef CS_EXEC_GATE_H
#define CS_EXEC_GATE_H

#include "base/lock.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct cs_gate_thread;  /* a thread */
struct cs_gate_context; /* a context */

struct cs_gate_facts {
    int64_t waits;     /* threads held at a gate */
    int64_t waited;    /* nanoseconds of all waits together */
    int64_t timed_out; /* waits that ended by time-out */
    int64_t stages;    /* entered high-memory stages, except those with an open gate */
    bool given_up;     /* some context's gate stays open */
};

struct cs_gate {
    struct cs_lock lock;
    struct cs_condition
        left;           /* a thread left, got a time at which it is overdue, or a gate was opened */
    pthread_key_t self; /* key of a thread's struct cs_gate_thread */
    bool usable;
    int64_t timeout; /* nanoseconds */
    int64_t grace; /* nanoseconds, added to the time after which a thread is overdue, because other
                      threads use the processor, too */
    struct cs_gate_context *contexts;
    int count; /* number of contexts */
    struct cs_gate_thread *threads;
    struct cs_gate_facts facts;
};

/* Initializes a gate, which is never destroyed: threads may outlive any owner. `timeout`: the
 * longest wait in nanoseconds. */
void cs_gate_init(struct cs_gate *gate, int64_t timeout);

/* Takes a thread through the gate before each convolution, called from the thread that runs it. May
 * wait. `call` identifies the convolution: the same problem from the same place in the program has
 * the same number. `bytes` is the size of its operands and scratch. */
void cs_gate_pass(struct cs_gate *gate, uint64_t context, uint64_t call, int64_t bytes);

/* A copy of the counters. */
struct cs_gate_facts cs_gate_facts(struct cs_gate *gate);

/* Takes the lock before a fork, and releases it after it. `child`: forgets all threads except the
 * caller, and resets the counters. */
void cs_gate_fork(struct cs_gate *gate, bool before, bool child);

#endif
