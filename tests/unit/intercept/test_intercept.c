/* The way of a call into the library: replayed unchanged, or handled under the nesting guard. */
#include "intercept/intercept.h"

#include "base/nest.h"
#include "base/stack.h"
#include "entry_fixture.h"
#include "flow/ending.h"
#include <pthread.h>

static struct cs instance, *instance_now;
static bool off, from_cudnn, ample;
static int replays, handles, stacks, passes;
static bool in_library; /* the caller is nested */
static bool notes;      /* the call only records attributes */

WRAPPED(struct cs *, cs_instance, const struct cs_host *host)
{
    return host ? instance_now : NULL;
}

WRAPPED(bool, cs_instance_off, void)
{
    return off;
}

WRAPPED(bool, cs_caller_is_cudnn, const void *address)
{
    CHECK(address == &replays);
    return from_cudnn;
}

WRAPPED(bool, cs_stack_measure, uintptr_t here)
{
    return here && ample;
}

WRAPPED(int, cs_stack_run, int (*function)(void *), void *arg)
{
    stacks++;
    return function(arg);
}

WRAPPED(void, cs_ending_pass, struct cs *cs)
{
    passes += cs == &instance && cs_nested();
}

static int replay(struct cs_entry_call *call)
{
    CHECK_INT(cs_nested(), in_library);
    replays += call != NULL;
    return 11;
}

static int handle(struct cs *cs, struct cs_entry_call *call)
{
    int cancel, type;
    CHECK(cs == &instance && call && cs_nested());
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    CHECK_INT(cancel, notes ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE);
    pthread_setcancelstate(cancel, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    CHECK(!notes || type == PTHREAD_CANCEL_DEFERRED);
    pthread_setcanceltype(type, NULL);
    handles++;
    return 22;
}

static struct cs_entry_call call = {replay, handle};

static int enter(void)
{
    replays = handles = stacks = passes = 0;
    return notes ? cs_intercept_note_from(&call, &replays) : cs_intercept_from(&call, &replays);
}

static void calls_are_handled(void)
{
    for (int i = 0; i < 4; i++) {
        int type;
        notes = i / 2;
        ample = i % 2;
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        CHECK_INT(enter(), 22);
        CHECK(handles == 1 && replays == 0 && !cs_nested());
        CHECK_INT(stacks, !ample);
        CHECK_INT(passes, !notes);
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
        CHECK_INT(type, PTHREAD_CANCEL_ASYNCHRONOUS);
    }
}

static void nested_calls_and_cudnns_own_are_replayed(void)
{
    bool *const reasons[] = {&off, &from_cudnn};
    ample = true;
    for (int i = 0; i < 6; i++) {
        notes = i % 2;
        if (i / 2 < 2)
            *reasons[i / 2] = true;
        else
            instance_now = NULL;
        CHECK_INT(enter(), 11);
        CHECK(replays == 1 && handles == 0 && passes == 0);
        off = from_cudnn = false;
        instance_now = &instance;
    }
    in_library = true;
    cs_nest_enter();
    CHECK_INT(enter(), 11);
    CHECK(replays == 1 && handles == 0);
    cs_nest_leave();
    in_library = false;
}

/* A call that must not reach cuDNN, from any caller. */
static void some_calls_are_always_handled(void)
{
    notes = off = false;
    from_cudnn = true;
    handles = 0;
    CHECK_INT(cs_intercept_always(&call), 22);
    CHECK_INT(handles, 1);
    from_cudnn = false;
}

int main(void)
{
    instance_now = &instance;
    cs_stack_part.size = 0;
    TEST(calls_are_handled);
    TEST(nested_calls_and_cudnns_own_are_replayed);
    TEST(some_calls_are_always_handled);
    return REPORT();
}
