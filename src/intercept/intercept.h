/* The one way in. Every exported entry packs its arguments into a struct that begins with a
 * cs_entry_call and hands it over:
 *
 *   nested, disabled, not ready, or cuDNN's own call -> replay, which hands a call that the real
 *                                                       function must not see to
 *                                                       cs_intercept_always
 *   otherwise                                        -> handle, under the nesting guard
 *
 * Statuses are the vendor's own, passed on untouched. */
#ifndef CS_INTERCEPT_INTERCEPT_H
#define CS_INTERCEPT_INTERCEPT_H

struct cs;
struct cs_entry_call;

typedef int cs_replay_fn(struct cs_entry_call *call);
typedef int cs_handle_fn(struct cs *cs, struct cs_entry_call *call);

struct cs_entry_call {
    cs_replay_fn *replay; /* the real call, unchanged */
    cs_handle_fn *handle; /* what convshim does instead; free to replay */
};

/* `caller`: the code that the entry returns to. */
int cs_intercept_from(struct cs_entry_call *call, const void *caller);
int cs_intercept_note_from(struct cs_entry_call *call, const void *caller);

/* Handles the call whoever makes it, on the caller's stack. For calls that must not be replayed;
 * the instance must have been made. */
int cs_intercept_always(struct cs_entry_call *call);

/* For entries alone, whose return address it takes. */
static inline __attribute__((always_inline)) int cs_intercept(struct cs_entry_call *call)
{
    return cs_intercept_from(call, __builtin_return_address(0));
}

/* The same for entries that only note what an application sets: nothing is decided, run, counted or
 * written. They are most of a convolution's calls. */
static inline __attribute__((always_inline)) int cs_intercept_note(struct cs_entry_call *call)
{
    return cs_intercept_note_from(call, __builtin_return_address(0));
}

#endif
