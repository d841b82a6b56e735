/* The real cuDNN: one struct of typed function pointers, each bound once. */
#ifndef CS_CUDNN_BIND_REAL_H
#define CS_CUDNN_BIND_REAL_H

#include "base/lock.h"

/* cuDNN 9 marks the legacy API, which convshim supports, as deprecated. */
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

/* The table. Never NULL. Slots of missing functions are NULL. Thread-safe. One load after the first
 * time. Declared pure, because repeated calls change nothing: CS_REAL then calls it once. */
__attribute__((pure)) const struct cs_real *cs_real(void);

/* Looks empty slots up again and returns the table. Before libcudnn.so.9 is loaded, a table has
 * only the functions of cuDNN's parts that are loaded. Filled slots stay unchanged. Calls the
 * loader. */
const struct cs_real *cs_real_completed(void);

/* True after real functions are bound. */
bool cs_real_bound(void);

/* True if `address` is the function of that name in the slot at that offset of struct cs_real, or
 * the same function in a part of the same cuDNN. Binds the real functions if necessary, never those
 * of another major version. */
bool cs_real_calls(const char *name, size_t slot, const void *address);

/* True if the file of that path has the name of a cuDNN library of any version. */
bool cs_real_has_file(const char *path);

/* True if the loaded file of that path belongs to the cuDNN in use: a bound function is in it, or
 * in a file of the same folder. A library with only such a name (a tracer, a shim) counts as a
 * program. Binds the real functions as cs_real_calls does. */
bool cs_real_owns(const char *path);

/* Calls a real function that returns a status. A slot that stays empty returns cuDNN's status for a
 * missing feature. */
#define CS_REAL(name, ...)                                                                         \
    (cs_lock_expect_none(#name), cs_real()->name             ? cs_real()->name(__VA_ARGS__)        \
                                 : cs_real_completed()->name ? cs_real()->name(__VA_ARGS__)        \
                                                             : CUDNN_STATUS_NOT_SUPPORTED)

#endif
