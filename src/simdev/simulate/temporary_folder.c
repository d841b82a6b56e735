/* Temporary folders, and signals that end a simulation after their removal. */
#include "simdev/simulate/temporary_folder.h"

#include "cli/common/variables.h"
#include <fts.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted; /* the signal; 0: none */

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

bool cs_temporary_folder_make(char folder[PATH_MAX], const char *place, const char *kind)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/convshim-%.32s-XXXXXX", place, kind);
    if (mkdtemp(path) && realpath(path, folder))
        return true;
    folder[0] = '\0';
    return false;
}

/* Makes folders accessible first: the kernel makes the scratch folder of an overlay unreadable, and
 * a program may make its own folders read-only. */
void cs_temporary_folder_remove(char folder[PATH_MAX])
{
    FTS *walk =
        *folder ? fts_open((char *const[]){folder, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_D)
            (void)chmod(entry->fts_path, 0700);
        else
            (void)remove(entry->fts_path);
    }
    if (walk)
        fts_close(walk);
    folder[0] = '\0';
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

int cs_interrupted(void)
{
    return interrupted;
}

void cs_interrupts_end(void)
{
    if (interrupted == 0)
        return;
    fflush(NULL);
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}
