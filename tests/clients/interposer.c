/* A second preloaded library: hands malloc on to the next one, as profilers do, and says at the end
 * how often. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

typedef void *malloc_fn(size_t bytes);

malloc_fn malloc;

static atomic_long calls;

void *malloc(size_t bytes)
{
    static _Atomic(malloc_fn *) next;
    malloc_fn *now = atomic_load(&next);
    if (now == NULL) {
        now = (malloc_fn *)dlsym(RTLD_NEXT, "malloc");
        atomic_store(&next, now);
    }
    atomic_fetch_add(&calls, 1);
    return now == NULL || now == malloc ? NULL : now(bytes);
}

__attribute__((destructor)) static void report(void)
{
    char line[64];
    int length = snprintf(line, sizeof line, "interposer: %s\n",
                          atomic_load(&calls) > 0 ? "called" : "not called");
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
    (void)ignored;
}
