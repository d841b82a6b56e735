/* Finds the period in a thread's sequence of calls and the stretch of it in which memory is
 * high. */
#include "exec/call_period.h"

#include "base/hash.h"
#include <stdbool.h>
#include <string.h>

/* Constants of the search. They were chosen by the sequences of tests/unit/exec/test_call_period.c,
 * except LOOK_EVERY, which follows from a measurement. */
enum {
    LOW_PART = 5, /* a low call has at most 1/5 of the highest bytes. Sizes often differ by factors
                     of two, so 1/4 would be a frequent size */
    LOOK_EVERY = 8, /* calls between two searches, which take 1 to 2 us each */
    EVIDENCE = 16,  /* calls that any period must have predicted */
    FLAT_TIMES = 3, /* a period of similar calls may be a loop inside a high stage, so it must occur
                       3 times */
    FLAT_CALLS = 32, /* such a period must also predict 32 calls in a row */
    LOOP_TIMES = 64  /* a loop with more iterations is the program itself */
};

void cs_call_period_init(struct cs_call_period *detector)
{
    detector->calls = 0;
    detector->period = 0;
    detector->patience = LOOK_EVERY;
}

static uint32_t fold_call(uint64_t call)
{
    return (uint32_t)(cs_hash_spread(call) >> 32);
}

/* Appends a call. If there is no room, keeps the newer half, which is two of the longest periods.
 */
static void remember_call(struct cs_call_period *detector, uint32_t call, int64_t bytes)
{
    enum {
        HALF = CS_CALL_EXPECTED / 2
    };
    if (detector->calls == CS_CALL_EXPECTED) {
        memmove(detector->call, detector->call + HALF, HALF * sizeof *detector->call);
        memmove(detector->bytes, detector->bytes + HALF, HALF * sizeof *detector->bytes);
        detector->calls = HALF;
    }
    detector->call[detector->calls] = call;
    detector->bytes[detector->calls++] = bytes;
}

/* The number of newest calls that equal the call one period earlier. */
static int count_predicted(const struct cs_call_period *detector, int period)
{
    const uint32_t *call = detector->call;
    int i = detector->calls;
    while (i > period && call[i - 1] == call[i - 1 - period])
        i--;
    return detector->calls - i;
}

/* The period that predicts most calls, so that a program's period wins over that of a loop inside
 * it. 0: none. *predicted_p is the number of these calls. */
static int best_period(const struct cs_call_period *detector, int *predicted_p)
{
    int best = 0, most = 0;
    for (int period = 1; period <= CS_CALL_PERIOD_MAX && detector->calls - period > most;
         period++) {
        int count = count_predicted(detector, period);
        if (count > most && count >= period && count >= EVIDENCE) {
            most = count;
            best = period;
        }
    }
    *predicted_p = most;
    return best;
}

/* The highest bytes of the newest `calls` calls. */
static int64_t highest_bytes(const struct cs_call_period *detector, int calls)
{
    int64_t high = 0;
    if (calls > detector->calls)
        calls = detector->calls;
    for (int i = detector->calls - calls; i < detector->calls; i++)
        high = detector->bytes[i] > high ? detector->bytes[i] : high;
    return high;
}

/* The bytes up to which calls of a period count as low: a LOW_PART of `high` or, if all calls
 * exceed that (*flat), those of the lowest call. */
static int64_t low_bytes(const int64_t *bytes, int period, int64_t high, bool *flat)
{
    int64_t low = high;
    for (int i = 0; i < period; i++)
        low = bytes[i] < low ? bytes[i] : low;
    *flat = low > high / LOW_PART;
    return *flat ? low : high / LOW_PART;
}

/* The length of the stretch of low calls from `first` on, round the period. */
static int low_stretch(const bool *low, int period, int first)
{
    int length = 0;
    while (length < period && low[(first + length) % period])
        length++;
    return length;
}

/* Sets the places (enum cs_call_place) of the calls around low stages, and 0 for all others. A low
 * stretch shorter than half the longest one belongs to the high stage around it. */
static void place_stages(const bool *low, int period, uint8_t *place)
{
    int longest = 0;
    memset(place, 0, (size_t)period);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < period; i++) {
            int before = (i + period - 1) % period;
            int length = !low[before] ? low_stretch(low, period, i) : 0;
            if (pass == 0) {
                longest = length > longest ? length : longest;
            } else if (length > 0 && 2 * length >= longest) {
                place[before] |= CS_CALL_LAST;
                place[i] |= CS_CALL_AFTER_FALL;
                place[(i + length - 1) % period] |= CS_CALL_BEFORE_RISE;
            }
        }
    }
}

/* Finds the stages of a period that has predicted `count` calls. False if it has none, has not
 * occurred often enough, or is a loop in a low stage of the program. */
static bool find_stages(struct cs_call_period *detector, int period, int count)
{
    const int64_t *bytes = detector->bytes + detector->calls - period;
    bool low[CS_CALL_PERIOD_MAX], flat, any = false;
    int64_t high = highest_bytes(detector, period);
    int64_t limit = low_bytes(bytes, period, high, &flat);
    if (period == 1 || highest_bytes(detector, period * LOOP_TIMES) / LOW_PART >= high)
        return false;
    if (flat && (count < FLAT_TIMES * period || count < FLAT_CALLS))
        return false;
    for (int i = 0; i < period; i++) {
        low[i] = bytes[i] <= limit && !(flat && any);
        any = any || low[i];
    }
    place_stages(low, period, detector->place);
    return true;
}

static void search_period(struct cs_call_period *detector)
{
    int count, period = best_period(detector, &count);
    detector->patience = LOOK_EVERY;
    if (period > 0 && find_stages(detector, period, count)) {
        detector->period = period;
        detector->at = 0;
    }
}

/* The place of the next call in the learned period. An unexpected call ends the period. */
static unsigned follow_period(struct cs_call_period *detector, uint32_t call)
{
    if (call != detector->call[detector->calls - detector->period]) {
        detector->period = 0;
        detector->patience = LOOK_EVERY;
        return CS_CALL_UNEXPECTED;
    }
    unsigned place = detector->place[detector->at];
    detector->at = detector->at + 1 < detector->period ? detector->at + 1 : 0;
    return place;
}

unsigned cs_call_period_add(struct cs_call_period *detector, uint64_t call, int64_t bytes)
{
    uint32_t number = fold_call(call);
    unsigned place = detector->period > 0 ? follow_period(detector, number) : 0;
    remember_call(detector, number, bytes);
    if (detector->period == 0 && --detector->patience <= 0)
        search_period(detector);
    return place;
}
