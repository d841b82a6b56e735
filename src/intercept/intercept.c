/* The way from the entries into the library: calls the real function, or handles the call under the
 * nesting guard. */
#include "intercept/intercept.h"

#include "base/nest.h"
#include "base/stack.h"
#include "flow/ending.h"
#include "intercept/loader/objects.h"
#include <pthread.h>

/* Handles a call that may decide, run or count. */
static int intercept(void *opaque)
{
    struct cs_entry_call *call = opaque;
    struct cs *cs = cs_instance(&cs_host);
    if (!cs)
        return call->replay(call);
    int cancel;
    /* Applications do not expect a convolution to be a cancellation point, and tiles would remain
     * half started. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    cs_nest_enter();
    int status = call->handle(cs, call);
    cs_ending_pass(cs);
    cs_nest_leave();
    pthread_setcancelstate(cancel, NULL);
    return status;
}

/* Handles a call that only records attributes. Here the library has no cancellation point, and
 * cuDNN may have some, as without convshim. If a thread can be cancelled at any instruction,
 * cancellation is deferred, because the thread could end with a lock held. This takes one atomic
 * operation, and only in such threads. Disabling cancellation would take two in all threads. */
static int handle_note(void *opaque)
{
    struct cs_entry_call *call = opaque;
    struct cs *cs = cs_instance(&cs_host);
    if (!cs)
        return call->replay(call);
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    cs_nest_enter();
    int status = call->handle(cs, call);
    cs_nest_leave();
    if (type != PTHREAD_CANCEL_DEFERRED)
        pthread_setcanceltype(type, NULL);
    return status;
}

/* Replays a nested call or one of cuDNN's own, and handles the others by `function`. cuDNN calls
 * its exported functions inside calls of the library, in the plans of tiles, and on its own
 * threads. All of these get the real functions. */
static inline int enter(int (*function)(void *), struct cs_entry_call *call, const void *caller)
{
    if (cs_nested() || cs_instance_off() || cs_caller_is_cudnn(caller))
        return call->replay(call);
    return cs_stack_ample() ? function(call) : cs_stack_run(function, call);
}

int cs_intercept_from(struct cs_entry_call *call, const void *caller)
{
    return enter(intercept, call, caller);
}

/* Stays on the caller's stack, because the thread's second stack may hold a suspended coroutine. */
int cs_intercept_always(struct cs_entry_call *call)
{
    return intercept(call);
}

int cs_intercept_note_from(struct cs_entry_call *call, const void *caller)
{
    return enter(handle_note, call, caller);
}
