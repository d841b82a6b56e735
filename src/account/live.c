/* Makes, updates and reads the files of running processes. */
#include "account/live.h"

#include "base/clock.h"
#include "base/signals.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_BYTES = 32,
    LOOK_EVERY = 100 /* milliseconds; a tenth of the interval of `convshim status --watch` */
};

/* The user's private folder. -1 if it does not exist and must not be made. */
static int open_folder(const char *path, bool make)
{
    struct stat there;
    if (!*path || (make && mkdir(path, 0700) != 0 && errno != EEXIST))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &there) == 0 && there.st_uid == geteuid() && !(there.st_mode & 022))
        return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

static void name_of(char name[NAME_BYTES], int64_t pid, const char *suffix)
{
    snprintf(name, NAME_BYTES, "%lld%s", (long long)pid, suffix);
}

/* The start of a process, in ticks: the 22nd word of its line in /proc, of which the second may
 * contain blanks. 0: the process does not exist. */
static int64_t birth_of(int64_t pid)
{
    char path[NAME_BYTES + 16], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    line[length] = '\0';
    char *word = strrchr(line, ')');
    for (int i = 0; i < 20 && word; i++)
        word = strchr(word + 1, ' ');
    return word ? strtoll(word, NULL, 10) : 0;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static void fill_page(struct cs_live_page *page, const struct cs_live_facts *facts)
{
    page->version = CS_LIVE_VERSION;
    page->bytes = sizeof *page;
    page->pid = getpid();
    page->run = facts->run;
    page->birth = birth_of(page->pid);
    page->start_ms = facts->start_ms;
    page->workspace = facts->workspace;
    copy_text(page->program, sizeof page->program, facts->program);
    copy_text(page->script, sizeof page->script, facts->script);
    copy_text(page->vendor, sizeof page->vendor, facts->vendor);
    copy_text(page->policy, sizeof page->policy, facts->policy);
    copy_text(page->release, sizeof page->release, facts->release);
    /* Last, so that a reader that finds the mark finds the texts. */
    atomic_store_explicit(&page->magic, CS_LIVE_MAGIC, memory_order_release);
}

/* A page of the file. Its disk space is allocated first, because on a full disk the first store
 * would end the process. */
static struct cs_live_page *map_page(int fd)
{
    struct cs_signals signals;
    cs_signals_hold(&signals); /* beyond the file size limit the kernel raises a signal */
    int error = posix_fallocate(fd, 0, sizeof(struct cs_live_page));
    cs_signals_release(&signals);
    if (error != 0)
        return NULL;
    void *page = mmap(NULL, sizeof(struct cs_live_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

static struct cs_live_page *make_page(int folder)
{
    char name[NAME_BYTES];
    name_of(name, getpid(), "");
    unlinkat(folder, name, 0); /* left by an earlier process of the same id */
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
    struct cs_live_page *page = map_page(fd);
    if (!page)
        unlinkat(folder, name, 0);
    close(fd);
    return page;
}

bool cs_live_missing(const struct cs_live *live)
{
    return atomic_load_explicit(&live->process, memory_order_relaxed) == 0;
}

void cs_live_open(struct cs_live *live, const char *folder, const struct cs_live_facts *facts)
{
    int error = errno;
    int64_t none = 0;
    /* Set also if the file cannot be made, so that later calls do not try again. */
    if (!atomic_compare_exchange_strong(&live->process, &none, getpid()))
        return;
    int fd = open_folder(folder, true);
    struct cs_live_page *page = fd >= 0 ? make_page(fd) : NULL;
    if (page)
        fill_page(page, facts);
    if (fd >= 0)
        close(fd);
    atomic_store_explicit(&live->page, page, memory_order_release);
    errno = error;
}

static int64_t now_ms(void)
{
    return cs_clock(CLOCK_REALTIME_COARSE) / CS_MILLISECOND;
}

static void put_counter(_Atomic int64_t *to, const _Atomic int64_t *from)
{
    atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed),
                          memory_order_relaxed);
}

static int64_t calls_of(const _Atomic int64_t *calls)
{
    return atomic_load_explicit(calls, memory_order_acquire);
}

/* Calls last: a reader that finds them unchanged need not copy the others. */
static void copy_once(struct cs_live_page *page, const struct cs_account *account)
{
    put_counter(&page->tiled, &account->tiled_calls);
    put_counter(&page->fallback, &account->fallbacks);
    put_counter(&page->failed, &account->failed);
    put_counter(&page->launches, &account->launches);
    put_counter(&page->required_max, &account->required_max);
    put_counter(&page->reported_max, &account->reported_max);
    put_counter(&page->possible_max, &account->possible_max);
    put_counter(&page->calls, &account->calls);
}

/* Repeats if another thread has counted during the copy: this thread may have overwritten newer
 * values. Without fences, which would double the cost of counting. So an old value that a processor
 * delays for nanoseconds may stay until the next call. Not inlined, like the next function, because
 * most calls of cs_live_count have no new counts. */
__attribute__((noinline)) static void copy_counters(struct cs_live_page *page,
                                                    const struct cs_account *account)
{
    int64_t before;
    do {
        before = calls_of(&account->calls);
        copy_once(page, account);
    } while (calls_of(&account->calls) != before);
}

/* True for one calling thread, ten times a second. */
__attribute__((noinline)) static bool is_due(struct cs_live *live, struct cs_live_page *page)
{
    int64_t due = atomic_load_explicit(&live->due, memory_order_relaxed), now = now_ms();
    if ((now < due && due - now <= LOOK_EVERY) ||
        !atomic_compare_exchange_strong(&live->due, &due, now + LOOK_EVERY))
        return false;
    atomic_store_explicit(&page->changed_ms, now, memory_order_relaxed);
    return true;
}

bool cs_live_count(struct cs_live *live, const struct cs_account *account, bool *look_p)
{
    struct cs_live_page *page = atomic_load_explicit(&live->page, memory_order_acquire);
    *look_p = false;
    if (!page || calls_of(&page->calls) == calls_of(&account->calls))
        return false;
    copy_counters(page, account);
    *look_p = is_due(live, page);
    return true;
}

void cs_live_scratch(struct cs_live *live, int64_t held, int64_t peak)
{
    struct cs_live_page *page = atomic_load_explicit(&live->page, memory_order_acquire);
    if (!page)
        return;
    atomic_store_explicit(&page->own_held, held, memory_order_relaxed);
    atomic_store_explicit(&page->own_peak, peak, memory_order_relaxed);
}

void cs_live_fork(struct cs_live *live)
{
    struct cs_live_page *page = atomic_exchange(&live->page, NULL);
    if (page)
        munmap(page, sizeof *page);
    atomic_store(&live->process, 0);
}

/* Removes a file of the folder. False if it did not exist. */
static bool take_away(const char *folder, int64_t pid, const char *suffix)
{
    char name[NAME_BYTES];
    int fd = open_folder(folder, false);
    if (fd < 0)
        return false;
    name_of(name, pid, suffix);
    bool there = unlinkat(fd, name, 0) == 0;
    close(fd);
    return there;
}

/* The page stays mapped, because other threads may count into it until the process ends. */
void cs_live_close(struct cs_live *live, const char *folder)
{
    int error = errno;
    if (atomic_load(&live->page))
        (void)take_away(folder, getpid(), "");
    errno = error;
}

void cs_live_note(const char *folder, int64_t run)
{
    int error = errno, fd = open_folder(folder, true);
    char name[NAME_BYTES];
    name_of(name, run, ".ran");
    int note = fd >= 0 ? openat(fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (note >= 0)
        close(note);
    if (fd >= 0)
        close(fd);
    errno = error;
}

bool cs_live_noted(const char *folder, int64_t run)
{
    return take_away(folder, run, ".ran");
}

/* Reads a page. True if the file is complete and of this format. */
static bool take_in(int fd, struct cs_live_page *page)
{
    struct stat there;
    static const struct cs_live_page nothing;
    *page = nothing;
    if (fstat(fd, &there) != 0 || !S_ISREG(there.st_mode) || there.st_uid != geteuid() ||
        pread(fd, page, sizeof *page, 0) != (ssize_t)sizeof *page)
        return false;
    page->program[sizeof page->program - 1] = page->script[sizeof page->script - 1] = '\0';
    page->vendor[sizeof page->vendor - 1] = page->policy[sizeof page->policy - 1] = '\0';
    page->release[sizeof page->release - 1] = '\0';
    return page->magic == CS_LIVE_MAGIC && page->version == CS_LIVE_VERSION;
}

bool cs_live_read(const char *folder, int64_t pid, struct cs_live_page *page)
{
    char name[NAME_BYTES];
    int fd = open_folder(folder, false);
    if (fd < 0)
        return false;
    name_of(name, pid, "");
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool read = file >= 0 && take_in(file, page);
    if (file >= 0)
        close(file);
    /* The process was killed, or a new one has its id. */
    int64_t birth = birth_of(pid);
    if (birth == 0 || (read && page->birth != birth)) {
        unlinkat(fd, name, 0);
        read = false;
    }
    close(fd);
    if (!read)
        errno = ENOENT;
    return read;
}

static int by_number(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* A file's name as a process id, 0 if it has another form. Notes of runs that are over are removed.
 */
static int64_t pid_of(int folder, const char *name)
{
    size_t digits = strspn(name, "0123456789");
    int64_t pid = digits > 0 && digits < 12 ? strtoll(name, NULL, 10) : 0;
    if (pid > 0 && strcmp(name + digits, ".ran") == 0 && birth_of(pid) == 0)
        unlinkat(folder, name, 0);
    return name[digits] ? 0 : pid;
}

int cs_live_list(const char *folder, int64_t *pids, int room)
{
    int count = 0, fd = open_folder(folder, false);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list)
        return -1;
    for (const struct dirent *entry; (entry = readdir(list));) {
        int64_t pid = pid_of(fd, entry->d_name);
        if (pid > 0 && count++ < room)
            pids[count - 1] = pid;
    }
    closedir(list);
    qsort(pids, (size_t)(count < room ? count : room), sizeof *pids, by_number);
    return count;
}
