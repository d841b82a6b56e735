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

typedef void *cs_dlsym_fn(void *handle, const char *name);
typedef void *cs_dlvsym_fn(void *handle, const char *name, const char *version);

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

/* libc's own functions, for lookups of ours: our calls of dlsym would come back to us. */
struct cs_dlsym_libc {
    cs_dlsym_fn *dlsym;
    cs_dlvsym_fn *dlvsym;
};
struct cs_dlsym_libc cs_dlsym_libc(void);

/* The vendor's part implements the following. */

/* Our function of that name; NULL for every other name. */
void *cs_vendor_entry(const char *name);

/* True if `address` is the function that the entry of that name calls, or the same function of the
 * same cuDNN's part. Binds the real functions, if that has not happened yet; never another major
 * version's. */
bool cs_vendor_entry_calls(const char *name, const void *address);

/* True once real functions are bound. */
bool cs_vendor_bound(void);

/* True if the file of that path belongs to the vendor's library, whatever its version. */
bool cs_vendor_file(const char *path);

#endif
