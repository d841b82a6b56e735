/* Memory from the system itself, for what is large or is needed while a lock is held: the
 * application's allocator is not asked. Zeroed; in whole pages, of which only those that are
 * touched cost anything. */
#ifndef CS_BASE_PAGES_H
#define CS_BASE_PAGES_H

#include <stddef.h>

/* NULL if there is none. */
void *cs_pages(size_t bytes);

/* The same memory with another size, perhaps elsewhere; NULL if there is none: then it stays as it
 * was. `pages` NULL: new memory. */
void *cs_pages_resize(void *pages, size_t from, size_t to);

/* Nothing is done for NULL. */
void cs_pages_free(void *pages, size_t bytes);

#endif
