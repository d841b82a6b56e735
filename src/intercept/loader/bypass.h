/* Finds loaded objects that call the vendor's functions past the entries. These are objects loaded
 * with RTLD_DEEPBIND, which the loader binds past a preloaded library, and objects with the
 * vendor's library linked in. Objects with stubs, which load the library and look functions up, are
 * not reported.
 *
 * The search reads the loader's bindings so far. A function that the loader binds at its first call
 * is found only after that call. A library that is linked in is found only if the object exports
 * its functions. Objects that look functions up instead of linking them are not found. */
#ifndef CS_INTERCEPT_LOADER_BYPASS_H
#define CS_INTERCEPT_LOADER_BYPASS_H

#include <stddef.h>

/* Writes the objects' file names into `text`, separated by ", ". "..." replaces those that do not
 * fit into `size` bytes, which are at least 4. The text is "" if no object was found. Returns the
 * number of objects. Reads the relocations of all loaded objects, so call it once in a process.
 * Allocates no memory, and takes no lock except that of the loader's list. May be called by any
 * thread, also at exit. */
size_t cs_bypass_find(char *text, size_t size);

#endif
