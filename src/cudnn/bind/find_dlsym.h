/* Finds the dlsym and dlvsym of other libraries without calling either, in the loader's own list of
 * what is loaded. Calls no other function: may be called before the loader has relocated us, before
 * any constructor has run, under a lock of the loader or in a signal handler. */
#ifndef CS_CUDNN_BIND_FIND_DLSYM_H
#define CS_CUDNN_BIND_FIND_DLSYM_H

#include <stdbool.h>

/* No instrumentation where a sanitizer that is not ready yet may look something up. */
#define CS_EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

struct cs_dlsym_found {
    void *libc; /* libc's own; NULL if there is none */
    void *next; /* of the first library behind ours that has one; else libc's */
};

/* False while calls of functions of other libraries would lead nowhere. */
bool cs_find_dlsym_relocated(void);

/* `name` is dlsym or dlvsym. */
struct cs_dlsym_found cs_find_dlsym(const char *name);

#endif
