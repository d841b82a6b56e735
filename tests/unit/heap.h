/* How often the heap was asked for memory, by any thread; for tests of what must not ask. To be
 * included by one file of a program. */
#ifndef HEAP_H
#define HEAP_H

#include <stdatomic.h>
#include <stdlib.h>

static atomic_llong heap_requests;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Of the sanitizers' runtime, whose own header is not everywhere. */
int __sanitizer_install_malloc_and_free_hooks(void (*asked)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));

static void heap_asked(const volatile void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    atomic_fetch_add(&heap_requests, 1);
}

static void heap_freed(const volatile void *memory)
{
    (void)memory;
}

static void heap_watch(void)
{
    (void)__sanitizer_install_malloc_and_free_hooks(heap_asked, heap_freed);
}
#else
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes)
{
    atomic_fetch_add(&heap_requests, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&heap_requests, 1);
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    atomic_fetch_add(&heap_requests, 1);
    return __libc_realloc(memory, bytes);
}

static void heap_watch(void) {}
#endif

#endif
