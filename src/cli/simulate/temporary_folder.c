/* An owner holds a lock on its folder. The lock ends with the process, so it shows whether the
 * owner of a folder lives, also in another namespace of process ids. */
#include "cli/simulate/simulation.h"

#include "cli/common/environment.h"
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    LETTERS = 6, /* of mkdtemp */
    YOUNG = 60   /* seconds: its owner may not hold the lock yet */
};

static volatile sig_atomic_t interrupted; /* by this signal */

static bool is_in_memory(const char *folder)
{
    struct statfs facts;
    return statfs(folder, &facts) == 0 &&
           (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC);
}

const char *cs_temporary_place(void)
{
    const char *named = cs_cli_variable("TMPDIR");
    if (named && *named)
        return named;
    return is_in_memory("/tmp") && access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

/* Makes folders accessible first: the kernel makes the scratch folder of an overlay unreadable, and
 * a program may make its own folders read-only. */
static void remove_tree(const char *path)
{
    FTS *walk = fts_open((char *const[]){(char *)path, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_D)
            (void)chmod(entry->fts_path, 0700);
        else
            (void)remove(entry->fts_path);
    }
    if (walk)
        fts_close(walk);
}

/* Returns the lock, a file descriptor. -1: another process holds it, or there is no such folder. */
static int lock_folder(const char *path)
{
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        close(lock);
        lock = -1;
    }
    return lock;
}

static void remove_if_abandoned(const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() ||
        time(NULL) - facts.st_mtime < YOUNG)
        return;
    const int lock = lock_folder(path);
    if (lock < 0)
        return;
    remove_tree(path);
    close(lock);
}

static void remove_abandoned(const char *place, const char *prefix)
{
    char path[2 * PATH_MAX];
    DIR *folder = opendir(place);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        const size_t length = strlen(prefix);
        if (strncmp(entry->d_name, prefix, length) != 0 ||
            strlen(entry->d_name) != length + LETTERS)
            continue;
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        remove_if_abandoned(path);
    }
    if (folder)
        closedir(folder);
}

bool cs_temporary_folder_make(struct cs_temporary_folder *folder, const char *place,
                              const char *kind)
{
    char prefix[64], path[PATH_MAX];
    snprintf(prefix, sizeof prefix, "convshim-%s-", kind);
    remove_abandoned(place, prefix);
    *folder = (struct cs_temporary_folder){.lock = -1};
    snprintf(path, sizeof path, "%.4000s/%.64sXXXXXX", place, prefix);
    if (!mkdtemp(path))
        return false;
    if (!realpath(path, folder->path)) {
        rmdir(path);
        folder->path[0] = '\0';
        return false;
    }
    folder->lock = lock_folder(folder->path);
    return true;
}

void cs_temporary_folder_remove(struct cs_temporary_folder *folder)
{
    if (!*folder->path)
        return;
    remove_tree(folder->path);
    if (folder->lock >= 0)
        close(folder->lock);
    *folder = (struct cs_temporary_folder){.lock = -1};
}

/* --- signals --- */

static void note_signal(int number)
{
    interrupted = number;
}

void cs_interrupts_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, noted = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &noted, NULL);
}

bool cs_interrupted(void)
{
    return interrupted != 0;
}

void cs_interrupts_end(void)
{
    if (interrupted == 0)
        return;
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}
