/* The single way into the library. Every exported entry packs its arguments into a struct that
 * begins with a cs_entry_call, and passes it:
 *
 *   nested, disabled, not ready, or cuDNN's own call -> replay. It passes a call that the real
 *                                                       function must not receive to
 *                                                       cs_intercept_always
 *   otherwise                                        -> handle, under the nesting guard
 *
 * The vendor's statuses are returned unchanged. */
#ifndef CS_INTERCEPT_INTERCEPT_H
#define CS_INTERCEPT_INTERCEPT_H

#include "flow/host.h"

struct cs;
struct cs_entry_call;

/* Functions of an entry. Both return a cudnnStatus_t. */
typedef int cs_replay_fn(struct cs_entry_call *call);
typedef int cs_handle_fn(struct cs *cs, struct cs_entry_call *call);

struct cs_entry_call {
    cs_replay_fn *replay; /* the real call, unchanged */
    cs_handle_fn *handle; /* convshim's function; may call replay */
};

/* Replay or handle a call. `caller` is the return address of the entry. */
int cs_intercept_from(struct cs_entry_call *call, const void *caller);
int cs_intercept_note_from(struct cs_entry_call *call, const void *caller);

/* Handles the call of any caller, on the caller's stack. For calls that must not be replayed. The
 * instance must exist. */
int cs_intercept_always(struct cs_entry_call *call);

/* Replays or handles the call of an entry. Only for entries, because it uses their return address.
 */
static inline __attribute__((always_inline)) int cs_intercept(struct cs_entry_call *call)
{
    return cs_intercept_from(call, __builtin_return_address(0));
}

/* As cs_intercept, for entries that only record attributes. They make no decision, run or count,
 * and access no file. Most calls for a convolution are of this kind. */
static inline __attribute__((always_inline)) int cs_intercept_note(struct cs_entry_call *call)
{
    return cs_intercept_note_from(call, __builtin_return_address(0));
}

/* --- the host of the flow ---
 *
 * Facts about the vendor's library and the process that the flow needs: see flow/host.h. */

extern const struct cs_host cs_host;

/* False in a copy of this library that comes after another copy in the loader's list. Takes no
 * lock. */
bool cs_host_first_copy(void);

#endif
