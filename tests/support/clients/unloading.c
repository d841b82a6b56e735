/* A preloaded library: names of loaded files are valid only while the loader lists them, as if each
 * file were unloaded immediately afterwards. */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef int visit_fn(struct dl_phdr_info *object, size_t size, void *ctx);
typedef int list_fn(visit_fn *visit, void *ctx);

struct listing {
    visit_fn *visit;
    void *ctx;
};

static char name[4096];

static int pass_on(struct dl_phdr_info *object, size_t size, void *opaque)
{
    const struct listing *listing = opaque;
    struct dl_phdr_info copy = *object;
    snprintf(name, sizeof name, "%s", object->dlpi_name);
    copy.dlpi_name = name;
    return listing->visit(&copy, size, listing->ctx);
}

int dl_iterate_phdr(visit_fn *visit, void *ctx)
{
    struct listing listing = {visit, ctx};
    list_fn *next = (list_fn *)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    int status = next(pass_on, &listing);
    memset(name, '?', sizeof name - 1);
    return status;
}
