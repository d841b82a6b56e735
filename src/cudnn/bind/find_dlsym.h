/* The dlsym and dlvsym of other libraries, found without calling either, in the loader's own list
 * of what is loaded: we export both, so that our own calls would come back to us. Calls no other
 * function: may be called before the loader has relocated us, before any constructor has run, under
 * a lock of the loader or in a signal handler. Thread-safe; a load after the first time. */
#ifndef CS_CUDNN_BIND_FIND_DLSYM_H
#define CS_CUDNN_BIND_FIND_DLSYM_H

#include <stdbool.h>

/* No instrumentation where a sanitizer that is not ready yet may look something up. */
#define CS_EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

typedef void *cs_dlsym_fn(void *handle, const char *name);
typedef void *cs_dlvsym_fn(void *handle, const char *name, const char *version);

/* False while calls of functions of other libraries would lead nowhere. */
bool cs_find_dlsym_relocated(void);

/* True if that is the lowest address of our own library, as dladdr gives it (dli_fbase). */
bool cs_find_dlsym_ours(const void *base);

/* libc's own functions, for lookups of ours. What is missing is a function that finds nothing. */
struct cs_find_dlsym_libc {
    cs_dlsym_fn *dlsym;
    cs_dlvsym_fn *dlvsym;
};
struct cs_find_dlsym_libc cs_find_dlsym_libc(void);

/* The function of that name in the first library behind ours that was loaded at start-up and has
 * one, else libc's; NULL if there is none. Takes no lock. */
void *cs_find_dlsym_behind(const char *name);

/* The file of another library, loaded at start-up, that has a function of that name; NULL if there
 * is none. *ours_first: ours was loaded before it. Takes no lock. */
const char *cs_find_dlsym_other(const char *name, bool *ours_first);

/* The dlsym (or dlvsym, if `versioned`) of the first library behind ours that has one, else libc's.
 * Never NULL. */
void *cs_find_dlsym_next(bool versioned);

#endif
