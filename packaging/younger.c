/* Functions that glibc has gained since 2.28, for programs that are linked to run with that version
 * (scripts/link-portable). None of them is exported. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <search.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUPPLIED __attribute__((visibility("hidden")))

/* On 64-bit machines, the system call uses the struct of <sys/stat.h>. */
static int status_of(int folder, const char *path, struct stat *status, int flags)
{
    return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

SUPPLIED int fstatat(int folder, const char *path, struct stat *status, int flags)
{
    return status_of(folder, path, status, flags);
}

SUPPLIED int stat(const char *path, struct stat *status)
{
    return status_of(AT_FDCWD, path, status, 0);
}

SUPPLIED int lstat(const char *path, struct stat *status)
{
    return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

SUPPLIED int fstat(int file, struct stat *status)
{
    return status_of(file, "", status, AT_EMPTY_PATH);
}

SUPPLIED pid_t gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* Fails if the kernel is older than 5.9. Its callers do not depend on it. */
SUPPLIED int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

/* twalk has no argument for the callback, so it is kept per thread during the walk. */
static __thread struct walk {
    void (*visit)(const void *, VISIT, void *);
    void *closure;
} walking;

static void visit(const void *node, VISIT order, int depth)
{
    (void)depth;
    walking.visit(node, order, walking.closure);
}

SUPPLIED void twalk_r(const void *tree, void (*action)(const void *, VISIT, void *), void *closure)
{
    const struct walk outer = walking;
    walking = (struct walk){action, closure};
    twalk(tree, visit);
    walking = outer;
}

/* Uses the loader's function if there is one, because it takes no lock. */
SUPPLIED int _dl_find_object(void *address, struct dl_find_object *result)
{
    static int (*own)(void *, struct dl_find_object *);
    static int looked;
    Dl_info info;
    struct link_map *map = NULL;
    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
        own = (int (*)(void *, struct dl_find_object *))dlsym(RTLD_NEXT, "_dl_find_object");
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    if (own)
        return own(address, result);
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return -1;
    *result = (struct dl_find_object){.dlfo_link_map = map};
    return 0;
}
