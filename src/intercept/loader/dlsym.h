/* The dlsym and dlvsym that programs reach when the library is preloaded, so that a program that
 * looks cuDNN up instead of linking it gets our entries. They answer only if
 *
 *   the name is an entry's, and CONVSHIM is not 0,
 *   the caller is neither the vendor's library nor ourselves,
 *   the handle is a library's: RTLD_DEFAULT and RTLD_NEXT are looked up for the caller,
 *   libc's own lookup succeeds and finds the very function that the entry would call.
 *
 * Everything else jumps to the next dlsym as if nobody had been in between: return address,
 * arguments and stack are the caller's, and so is dlerror. That next one is another preloaded
 * library's, if there is one behind us. A name that is no entry's costs a comparison: no lock, no
 * memory, no other call but the first time. Thread-safe.
 *
 * RTLD_DEFAULT finds our entries without help, since a preloaded library comes first; so does
 * dlvsym's, if it asks for cuDNN 9's version.
 */
#ifndef CS_INTERCEPT_LOADER_DLSYM_H
#define CS_INTERCEPT_LOADER_DLSYM_H

#include <stdbool.h>
#include <stdint.h>

/* What to do with a lookup. The order of the members is known to dlsym_*.S. */
struct cs_dlsym_verdict {
    void *answer; /* to return; NULL: jump to `next` */
    void *next;   /* never NULL */
};

/* Called by dlsym (versioned 0) and dlvsym (1), of which `caller` is the return address. */
struct cs_dlsym_verdict cs_dlsym_judge(void *handle, const char *name, const char *version,
                                       const void *caller, int versioned);

/* True if an entry was the answer to a lookup by code at from <= address < to. Of very many callers
 * only the first are known. */
bool cs_dlsym_answered(uintptr_t from, uintptr_t to);

#endif
