/* The mapped file in which the simulated device keeps the progress of a run. To be included by one
 * file of a program. */
#ifndef CLI_PROGRESS_FILE_H
#define CLI_PROGRESS_FILE_H

#include "check.h"
#include "simdev/simulate/run_outcome.h"

/* Writes it for up to two processes on one GPU (pid 0: no more), which held their peaks at the same
 * time. */
static inline void write_progress(const char *path, const struct simdev_process process[2])
{
    static struct simdev_progress progress;
    memset(&progress, 0, sizeof progress);
    for (int i = 0; i < 2 && process[i].pid; i++) {
        progress.process[i] = process[i];
        progress.device[0].peak_bytes += process[i].peak_bytes;
        progress.device[0].needed_bytes += process[i].peak_bytes;
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(&progress, sizeof progress, 1, file) == 1 && fclose(file) == 0);
}

#endif
