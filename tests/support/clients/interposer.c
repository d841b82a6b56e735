/* A second preloaded library: passes malloc on to the next one, as profilers do, and prints at its
 * end whether it was called and still finds the same function. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

typedef void *malloc_fn(size_t bytes);

malloc_fn malloc;

static atomic_long calls;
static _Atomic(malloc_fn *) next;

void *malloc(size_t bytes)
{
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
    bool again = (malloc_fn *)dlsym(RTLD_NEXT, "malloc") == atomic_load(&next);
    int length = snprintf(line, sizeof line, "interposer: %s\n",
                          atomic_load(&calls) == 0 ? "not called"
                          : again                  ? "called, found again"
                                                   : "called, then found another");
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
    (void)ignored;
}
