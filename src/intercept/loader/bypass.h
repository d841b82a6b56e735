/* Which loaded objects call the vendor's functions without coming through our entries: those loaded
 * with RTLD_DEEPBIND, which the loader binds past a preloaded library, and those that have the
 * vendor's library linked in; not those that have its functions as stubs, behind which it is loaded
 * and looked up through us.
 *
 * Told from what the loader has bound so far: a function that is bound at its first call tells
 * nothing before. A library linked in is seen only if the object exports its functions. Whoever
 * looks functions up instead of linking them is not found here. */
#ifndef CS_INTERCEPT_LOADER_BYPASS_H
#define CS_INTERCEPT_LOADER_BYPASS_H

#include <stddef.h>

/* Writes the objects' file names into `text`, ", " between them, "..." in place of those that do
 * not fit into `size` bytes; "" if there are none. Returns how many objects there are. Reads
 * through the relocations of everything that is loaded: for once in a process. Allocates nothing,
 * and takes no lock but that of the loader's list: any thread, also at exit. `size` is at least 4.
 */
size_t cs_bypass_find(char *text, size_t size);

#endif
