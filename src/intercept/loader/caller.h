/* Whether a call of an entry comes from cuDNN itself. Its parts call each other by exported names,
 * also on threads of its own, where the nesting guard (base/nest.h) knows nothing: such calls are
 * for cuDNN, which has laid them out itself.
 *
 * Told by the object that the call returns to. What was found is kept by the object's range of
 * addresses, so that every call but an object's first is a comparison or two. A library that is
 * unloaded leaves its range behind: of another one that is loaded there the verdict is the old one.
 * cuDNN's own libraries stay loaded once an entry was called. */
#ifndef CS_INTERCEPT_LOADER_CALLER_H
#define CS_INTERCEPT_LOADER_CALLER_H

#include <stdbool.h>

/* True if `address` lies in the cuDNN in use (cs_real_owns). Thread-safe. The first question about
 * an object asks the loader. */
bool cs_caller_is_cudnn(const void *address);

#endif
