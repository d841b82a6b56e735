/* The repeated sequence of calls of a host thread: its period, and its stages of high memory.
 *
 * A period is learned after it has occurred twice. A short one must occur more often, because a
 * loop inside a program looks alike. Earlier calls do not matter.
 *
 * A call is low if its bytes are at most a fifth of the period's highest. A low stage is a stretch
 * of low calls. A low stretch shorter than half the longest one belongs to the high stage around
 * it. In a period without low calls, the lowest call is the low stage. A period of one call has no
 * stages and is not learned.
 *
 * Used by one thread at a time. It does not allocate. */
#ifndef CS_EXEC_CALL_PERIOD_H
#define CS_EXEC_CALL_PERIOD_H

#include <stdint.h>

enum {
    CS_CALL_PERIOD_MAX = 1024,                /* calls of the longest period that is learned */
    CS_CALL_EXPECTED = 4 * CS_CALL_PERIOD_MAX /* most calls that are remembered */
};

/* The kind of a call in its thread's sequence. Several may be true. */
enum cs_call_place {
    CS_CALL_UNEXPECTED = 1,  /* not the call that was expected: the period is forgotten */
    CS_CALL_AFTER_FALL = 2,  /* the first of a low stage */
    CS_CALL_BEFORE_RISE = 4, /* the last of a low stage: memory rises after it */
    CS_CALL_LAST = 8         /* the last of a high stage */
};

/* The recent calls of a thread and the period that was found in them. */
struct cs_call_period {
    int calls;    /* remembered */
    int period;   /* 0: none */
    int at;       /* the position of the next call in the period */
    int patience; /* calls until the next search for a period */
    uint32_t call[CS_CALL_EXPECTED];
    int64_t bytes[CS_CALL_EXPECTED];
    uint8_t place[CS_CALL_PERIOD_MAX]; /* places of the calls of the period */
};

void cs_call_period_init(struct cs_call_period *detector);

/* Records a call that is about to be made, by a number that identifies it, with the bytes that it
 * takes. Returns a set of enum cs_call_place, usually 0. */
unsigned cs_call_period_add(struct cs_call_period *detector, uint64_t call, int64_t bytes);

#endif
