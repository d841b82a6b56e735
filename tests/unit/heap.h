/* Counts the heap calls of all threads, and those made while a lock of the library was held, for
 * tests of functions that must not allocate. Counts the live blocks, for tests of functions that
 * must free all that they allocate. Include it in one file of a program. */
#ifndef HEAP_H
#define HEAP_H

#include "base/lock.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_llong heap_requests, heap_requests_locked, heap_taken;

static void heap_count(void)
{
    atomic_fetch_add(&heap_requests, 1);
    if (cs_locks_held != 0)
        atomic_fetch_add(&heap_requests_locked, 1);
}

/* How many more requests are answered before one is refused, by the allocator below alone; below 0:
 * none is. */
__attribute__((unused)) static atomic_llong heap_left = -1;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Of the sanitizers' runtime, whose own header is not everywhere. */
int __sanitizer_install_malloc_and_free_hooks(void (*asked)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));

static void heap_asked(const volatile void *memory, size_t bytes)
{
    (void)bytes;
    heap_count();
    atomic_fetch_add(&heap_taken, memory != NULL);
}

static void heap_freed(const volatile void *memory)
{
    atomic_fetch_sub(&heap_taken, memory != NULL);
    if (memory && cs_locks_held != 0)
        atomic_fetch_add(&heap_requests_locked, 1);
}

static void heap_watch(void)
{
    (void)__sanitizer_install_malloc_and_free_hooks(heap_asked, heap_freed);
}
#else
#define HEAP_REFUSES
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

static bool heap_refuses(void)
{
    bool refuses = atomic_load(&heap_left) >= 0 && atomic_fetch_sub(&heap_left, 1) == 0;
    if (refuses)
        errno = ENOMEM;
    return refuses;
}

void *malloc(size_t bytes)
{
    heap_count();
    if (heap_refuses())
        return NULL;
    void *memory = __libc_malloc(bytes);
    atomic_fetch_add(&heap_taken, memory != NULL);
    return memory;
}

void *calloc(size_t count, size_t bytes)
{
    heap_count();
    if (heap_refuses())
        return NULL;
    void *memory = __libc_calloc(count, bytes);
    atomic_fetch_add(&heap_taken, memory != NULL);
    return memory;
}

void *realloc(void *memory, size_t bytes)
{
    heap_count();
    if (heap_refuses())
        return NULL;
    void *moved = __libc_realloc(memory, bytes);
    atomic_fetch_add(&heap_taken, !memory && moved);
    return moved;
}

void free(void *memory)
{
    if (memory && cs_locks_held != 0)
        atomic_fetch_add(&heap_requests_locked, 1);
    atomic_fetch_sub(&heap_taken, memory != NULL);
    __libc_free(memory);
}

static void heap_watch(void) {}
#endif

#endif
