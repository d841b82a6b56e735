/* How entries are written. An entry packs its arguments after a cs_entry_call, sets `replay` to the
 * real function and `handle` to convshim's function, and calls cs_intercept. It contains no `if`.
 */
#ifndef CS_INTERCEPT_ENTRY_ENTRY_H
#define CS_INTERCEPT_ENTRY_ENTRY_H

#include "cudnn/bind/real.h"
#include "flow/instance.h"
#include "intercept/intercept.h"

#define CS_EXPORT __attribute__((visibility("default")))

/* The struct of an entry's arguments, from its first member. */
#define CS_ARGS(type, call) ((type *)(void *)(call))

/* Removes const from an address. Addresses are held without it, as in variant packs. No code writes
 * through addresses of inputs. */
#define CS_ADDRESS(pointer) ((void *)(uintptr_t)(pointer))

/* The members of a cs_legacy_call that all legacy calls of one convolution have, from arguments of
 * these names. */
#define CS_CALL_OF(way) .direction = (way), .handle = handle, .x = x, .y = y, .w = w, .conv = conv

/* Their data, in the order of enum cs_operand. */
#define CS_CALL_DATA                                                                               \
    {                                                                                              \
        CS_ADDRESS(x_data), CS_ADDRESS(w_data), CS_ADDRESS(y_data)                                 \
    }

#endif
