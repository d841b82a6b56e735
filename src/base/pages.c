/* Memory from the system itself. */
#include "base/pages.h"

#include <sys/mman.h>

void *cs_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void cs_pages_free(void *pages, size_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}
