/* How entries are written. An entry packs its arguments after a cs_entry_call, sets `replay` to the
 * real function and `handle` to convshim's function, and calls cs_intercept. It contains no `if`.
 */
#ifndef CS_INTERCEPT_ENTRY_ENTRY_H
#define CS_INTERCEPT_ENTRY_ENTRY_H

#include "cudnn/bind/real.h"
#include "flow/instance.h"
#include "intercept/intercept.h"

#define CS_EXPORT __attribute__((visibility("default")))

/* The arguments that follow a call. */
#define CS_ARGS(type, call) ((type *)(void *)(call))

/* Addresses are held without const, as in variant packs. No code writes through addresses of
 * inputs. */
#define CS_ADDRESS(pointer) ((void *)(uintptr_t)(pointer))

#endif
