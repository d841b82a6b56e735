/* The dlsym and dlvsym that programs reach when the library is preloaded, so that a program that
 * looks cuDNN up instead of linking it gets the entries. They return an entry only if
 *
 *   the name is an entry's, and CONVSHIM is not 0,
 *   the caller is not the vendor's library and not this library,
 *   the handle is a library's: RTLD_DEFAULT and RTLD_NEXT are looked up for the caller,
 *   libc's lookup succeeds and finds the very function that the entry would call.
 *
 * Every other lookup jumps to the next dlsym, as without this library: return address, arguments,
 * stack and dlerror are the caller's. The next dlsym is that of the next preloaded library that
 * exports it, or libc's. For a name that is not an entry's a lookup costs one comparison: no lock,
 * no memory and, except for the first time, no other call. Thread-safe.
 *
 * RTLD_DEFAULT finds the entries without help, because a preloaded library comes first. So does a
 * dlvsym that requests cuDNN 9's version. */
#ifndef CS_INTERCEPT_LOADER_DLSYM_H
#define CS_INTERCEPT_LOADER_DLSYM_H

#include <stdbool.h>
#include <stdint.h>

/* The result of a lookup. dlsym_*.S depend on the order of the members. */
struct cs_dlsym_verdict {
    void *answer; /* the result; NULL: jump to `next` */
    void *next;   /* never NULL */
};

/* Called by dlsym (versioned 0) and dlvsym (1). `caller` is their return address. */
struct cs_dlsym_verdict cs_dlsym_judge(void *handle, const char *name, const char *version,
                                       const void *caller, int versioned);

/* True if a lookup by code in from <= address < to returned an entry. Only the first 16 objects
 * that received one are recorded. */
bool cs_dlsym_answered(uintptr_t from, uintptr_t to);

#endif
