/* Memory from the system, for large tables and for allocations while a lock is held. The
 * application's allocator is not called. The memory is zeroed and consists of whole pages. Only
 * touched pages use physical memory. */
#ifndef CS_BASE_PAGES_H
#define CS_BASE_PAGES_H

#include <stddef.h>

/* Allocates pages. NULL if the system has no memory. */
void *cs_pages(size_t bytes);

/* Frees pages. NULL is allowed. */
void cs_pages_free(void *pages, size_t bytes);

#endif
