/* Reads a run's progress file. */
#include "cli/simulate/simulated_progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool cs_simulated_progress_read(const struct cs_simulated_run *run,
                                struct cs_simulated_progress *progress)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/progress", run->folder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, progress, sizeof *progress) == sizeof *progress;
    if (file >= 0)
        close(file);
    return good;
}
