/* Loaded objects: their addresses, calls from cuDNN, and calls past the entries. */
#ifndef CS_INTERCEPT_LOADER_OBJECTS_H
#define CS_INTERCEPT_LOADER_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the range of addresses of a loaded object --- */

struct cs_object_range {
    uintptr_t from,
        to; /* the first address, and the first one after the object; from > to: unknown */
};

/* Returns the whole range that the loader has reserved for an object of dl_iterate_phdr: from its
 * first segment to the end of its last, gaps included. The loader places no other object in the
 * gaps. */
struct cs_object_range cs_object_range_of(const struct dl_phdr_info *object);

static inline bool cs_object_range_has(struct cs_object_range range, uintptr_t address)
{
    return address >= range.from && address < range.to;
}

/* --- calls from cuDNN ---
 *
 * Detects calls of entries from cuDNN itself. Its parts call each other by exported names, also on
 * its own threads, where the nesting guard (base/nest.h) is not set. cuDNN expects such calls to
 * reach its own functions.
 *
 * A call is cuDNN's if it returns to an object of cuDNN. Results are cached by the object's range
 * of addresses, so that every call except an object's first needs one or two comparisons. A range
 * stays cached after its library is unloaded: an object that is loaded there later gets the old
 * result. cuDNN's own libraries stay loaded after the first call of an entry. */

/* True if `address` is in the cuDNN in use (cs_real_owns). Thread-safe. The first query about an
 * object calls the loader. */
bool cs_caller_is_cudnn(const void *address);

/* --- calls past the entries ---
 *
 * Finds loaded objects that call the vendor's functions past the entries. These are objects loaded
 * with RTLD_DEEPBIND, which the loader binds past a preloaded library, and objects with the
 * vendor's library linked in. Objects with stubs, which load the library and look functions up, are
 * not reported.
 *
 * The search reads the loader's bindings so far. A function that the loader binds at its first call
 * is found only after that call. A library that is linked in is found only if the object exports
 * its functions. Objects that look functions up instead of linking them are not found. */

/* Writes the objects' file names into `text`, separated by ", ". "..." replaces those that do not
 * fit into `size` bytes, which are at least 4. The text is "" if no object was found. Returns the
 * number of objects. Reads the relocations of all loaded objects, so call it once in a process.
 * Allocates no memory, and takes no lock except that of the loader's list. May be called by any
 * thread, also at exit. */
size_t cs_bypass_find(char *text, size_t size);

#endif
