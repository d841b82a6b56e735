#include "exec/call_period.h"

#include <stdbool.h>
#include <string.h>

enum {
    LOW_PART = 5,   /* of the highest; sizes go in steps of two: a half or a quarter would be in the
                       balance */
    LOOK_EVERY = 8, /* looking costs a microsecond or two */
    EVIDENCE = 16,  /* calls that a period must have foretold, however short it is */
    FLAT_TIMES = 3, /* a period of like calls may as well be a loop inside a high stage: it must */
    FLAT_CALLS = 32, /* have been foretold as often, and so many calls */
    LOOP_TIMES = 64  /* a loop that runs longer than so many times is the program */
};

void cs_habit_init(struct cs_habit *habit)
{
    habit->calls = 0;
    habit->period = 0;
    habit->patience = LOOK_EVERY;
}

static uint32_t fold(uint64_t call)
{
    return (uint32_t)((call * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* Keeps the newer half, which is two of the longest periods. */
static void remember(struct cs_habit *habit, uint32_t call, int64_t bytes)
{
    enum {
        HALF = CS_HABIT_KEPT / 2
    };
    if (habit->calls == CS_HABIT_KEPT) {
        memmove(habit->call, habit->call + HALF, HALF * sizeof *habit->call);
        memmove(habit->bytes, habit->bytes + HALF, HALF * sizeof *habit->bytes);
        habit->calls = HALF;
    }
    habit->call[habit->calls] = call;
    habit->bytes[habit->calls++] = bytes;
}

/* How many of the newest calls equal the one a period before them. */
static int foretold(const struct cs_habit *habit, int period)
{
    const uint32_t *call = habit->call;
    int i = habit->calls;
    while (i > period && call[i - 1] == call[i - 1 - period])
        i--;
    return habit->calls - i;
}

/* The period that foretells most, so that a program's own wins over that of a loop inside it. */
static int best_period(const struct cs_habit *habit, int *foretold_p)
{
    int best = 0, most = 0;
    for (int period = 1; period <= CS_HABIT_PERIOD && habit->calls - period > most; period++) {
        int count = foretold(habit, period);
        if (count > most && count >= period && count >= EVIDENCE) {
            most = count;
            best = period;
        }
    }
    *foretold_p = most;
    return best;
}

static int64_t highest(const struct cs_habit *habit, int calls)
{
    int64_t high = 0;
    if (calls > habit->calls)
        calls = habit->calls;
    for (int i = habit->calls - calls; i < habit->calls; i++)
        high = habit->bytes[i] > high ? habit->bytes[i] : high;
    return high;
}

/* The bytes up to which calls of a period are low, at least those of its lowest; `flat` if there is
 * nothing between that and the highest. */
static int64_t low_bytes(const int64_t *bytes, int period, int64_t high, bool *flat)
{
    int64_t low = high;
    for (int i = 0; i < period; i++)
        low = bytes[i] < low ? bytes[i] : low;
    *flat = low > high / LOW_PART;
    return *flat ? low : high / LOW_PART;
}

/* The length of the stretch of low calls from `first` on, round the period. */
static int stretch(const bool *low, int period, int first)
{
    int length = 0;
    while (length < period && low[(first + length) % period])
        length++;
    return length;
}

static void place_stages(const bool *low, int period, uint8_t *place)
{
    int longest = 0;
    memset(place, 0, (size_t)period);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < period; i++) {
            int before = (i + period - 1) % period;
            int length = !low[before] ? stretch(low, period, i) : 0;
            if (pass == 0) {
                longest = length > longest ? length : longest;
            } else if (length > 0 && 2 * length >= longest) {
                place[before] |= CS_HABIT_LAST;
                place[i] |= CS_HABIT_FALL;
                place[(i + length - 1) % period] |= CS_HABIT_DOOR;
            }
        }
    }
}

/* False if the period has no stages, or too little speaks for it. */
static bool find_stages(struct cs_habit *habit, int period, int count)
{
    const int64_t *bytes = habit->bytes + habit->calls - period;
    bool low[CS_HABIT_PERIOD], flat, any = false;
    int64_t high = highest(habit, period);
    int64_t limit = low_bytes(bytes, period, high, &flat);
    if (period == 1 || highest(habit, period * LOOP_TIMES) / LOW_PART >= high)
        return false;
    if (flat && (count < FLAT_TIMES * period || count < FLAT_CALLS))
        return false;
    for (int i = 0; i < period; i++) {
        low[i] = bytes[i] <= limit && !(flat && any);
        any = any || low[i];
    }
    place_stages(low, period, habit->place);
    return true;
}

static void look(struct cs_habit *habit)
{
    int count, period = best_period(habit, &count);
    habit->patience = LOOK_EVERY;
    if (period > 0 && find_stages(habit, period, count)) {
        habit->period = period;
        habit->at = 0;
    }
}

/* What the next call of a learned period is. */
static unsigned follow(struct cs_habit *habit, uint32_t call)
{
    if (call != habit->call[habit->calls - habit->period]) {
        habit->period = 0;
        habit->patience = LOOK_EVERY;
        return CS_HABIT_BROKEN;
    }
    unsigned place = habit->place[habit->at];
    habit->at = habit->at + 1 < habit->period ? habit->at + 1 : 0;
    return place;
}

unsigned cs_habit_note(struct cs_habit *habit, uint64_t call, int64_t bytes)
{
    uint32_t number = fold(call);
    unsigned place = habit->period > 0 ? follow(habit, number) : 0;
    remember(habit, number, bytes);
    if (habit->period == 0 && --habit->patience <= 0)
        look(habit);
    return place;
}
