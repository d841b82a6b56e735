/* Memory from the system, for large tables and for allocations while a lock is held. The
 * application's allocator is not called. The memory is zeroed and consists of whole pages. Only
 * touched pages use physical memory. */
#ifndef CS_BASE_PAGES_H
#define CS_BASE_PAGES_H

#include <stddef.h>

/* NULL if the system has no memory. */
void *cs_pages(size_t bytes);

/* Resizes the memory. It may move. NULL if the system has no memory: then the old memory is
 * unchanged. `pages` NULL: new memory. */
void *cs_pages_resize(void *pages, size_t from, size_t to);

/* NULL is allowed. */
void cs_pages_free(void *pages, size_t bytes);

#endif
