/* The real cuDNN: one struct of typed function pointers, each bound once. The only part that looks
 * up symbols. */
#ifndef CS_CUDNN_BIND_REAL_H
#define CS_CUDNN_BIND_REAL_H

#include "base/lock.h"

/* cuDNN 9 marks the legacy API, which is what we serve, as deprecated. */
#ifndef NV_CUDNN_DISABLE_DEPRECATION_WARNINGS
#define CS_CUDNN_QUIET _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
CS_CUDNN_QUIET
#endif
#include <cudnn.h>
#include <cudnn_backend.h>
#include <stdbool.h>
#include <stddef.h>

struct cs_real {
#define CS_CALL(name) __typeof__(name) *name;
#include "cudnn/bind/calls.def"
#undef CS_CALL
};

/* The table; never NULL. Slots of functions that are not there are NULL. Thread-safe; one load
 * after the first time. Pure, as asking twice changes nothing: CS_REAL then asks once. */
__attribute__((pure)) const struct cs_real *cs_real(void);

/* The same after empty slots were looked up again: a table that was made before libcudnn.so.9 was
 * loaded has only what was there. Slots once filled stay as they are. Asks the loader. */
const struct cs_real *cs_real_completed(void);

/* True once real functions are bound. */
bool cs_real_bound(void);

/* True if `address` is the function of that name in the slot at that offset of struct cs_real, or
 * the same function of the same cuDNN's part. Binds the real functions, if that has not happened
 * yet; never another major version's. */
bool cs_real_calls(const char *name, size_t slot, const void *address);

/* True if the file of that path belongs to a cuDNN by its name, whatever its version. */
bool cs_real_has_file(const char *path);

/* True if the loaded file of that path is the cuDNN in use: a bound function lies in it, or in a
 * file of the same folder. Libraries that only have such a name (tracers, shims) are programs of
 * their own. Binds the real functions as cs_real_calls does. */
bool cs_real_owns(const char *path);

/* Calls a real function that returns a status; an empty slot that stays empty answers as cuDNN does
 * for what it does not have. */
#define CS_REAL(name, ...)                                                                         \
    (cs_locks_free(#name), cs_real()->name             ? cs_real()->name(__VA_ARGS__)              \
                           : cs_real_completed()->name ? cs_real()->name(__VA_ARGS__)              \
                                                       : CUDNN_STATUS_NOT_SUPPORTED)

#endif
