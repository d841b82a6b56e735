/* Finds the dlsym and dlvsym of other libraries in the loader's list. It cannot call either for
 * that, because this library exports both. The code here calls no other function. It may be called
 * before this library is relocated, before any constructor has run, under a lock of the loader or
 * in a signal handler. Thread-safe. One load after the first time. */
#ifndef CS_CUDNN_BIND_FIND_DLSYM_H
#define CS_CUDNN_BIND_FIND_DLSYM_H

#include <stdbool.h>

/* Not instrumented, because a sanitizer may look up functions before it is ready. */
#define CS_EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

typedef void *cs_dlsym_fn(void *handle, const char *name);
typedef void *cs_dlvsym_fn(void *handle, const char *name, const char *version);

/* False while this library cannot call functions of other libraries. */
bool cs_find_dlsym_relocated(void);

/* True if `base` is the lowest address of this library, as returned by dladdr (dli_fbase). */
bool cs_find_dlsym_ours(const void *base);

/* libc's functions, for the library's own lookups. A missing one is replaced by a function that
 * returns NULL. */
struct cs_find_dlsym_libc {
    cs_dlsym_fn *dlsym;
    cs_dlvsym_fn *dlvsym;
};
struct cs_find_dlsym_libc cs_find_dlsym_libc(void);

/* The function of that name in the first library after this one in the loader's list that was
 * loaded at start-up and defines it, else libc's, else NULL. Takes no lock. */
void *cs_find_dlsym_behind(const char *name);

/* The file of another library, loaded at start-up, that defines a function of that name, or NULL.
 * *ours_first: this library was loaded before it. Takes no lock. */
const char *cs_find_dlsym_other(const char *name, bool *ours_first);

/* The dlsym (or dlvsym, if `versioned`) of the first library after this one that defines it, else
 * libc's. Never NULL. */
void *cs_find_dlsym_next(bool versioned);

#endif
