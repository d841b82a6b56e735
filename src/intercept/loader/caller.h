/* Detects calls of entries from cuDNN itself. Its parts call each other by exported names, also on
 * its own threads, where the nesting guard (base/nest.h) is not set. cuDNN expects such calls to
 * reach its own functions.
 *
 * A call is cuDNN's if it returns to an object of cuDNN. Results are cached by the object's range
 * of addresses, so that every call except an object's first needs one or two comparisons. A range
 * stays cached after its library is unloaded: an object that is loaded there later gets the old
 * result. cuDNN's own libraries stay loaded after the first call of an entry. */
#ifndef CS_INTERCEPT_LOADER_CALLER_H
#define CS_INTERCEPT_LOADER_CALLER_H

#include <stdbool.h>

/* True if `address` is in the cuDNN in use (cs_real_owns). Thread-safe. The first query about an
 * object calls the loader. */
bool cs_caller_is_cudnn(const void *address);

#endif
