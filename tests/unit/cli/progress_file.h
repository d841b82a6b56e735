/* The mapped file in which the simulated device keeps the progress of a run. To be included by one
 * file of a program. */
#ifndef CLI_PROGRESS_FILE_H
#define CLI_PROGRESS_FILE_H

#include "check.h"
#include "cli/simulate/simulation.h"

struct progress_row {
    unsigned long long pid, peak, convolutions; /* pid 0: no more */
};

/* Writes it for up to two processes on one GPU, which held their peaks at the same time. Their last
 * requests of 100 bytes would have been refused. */
static inline void write_progress(const char *path, const struct progress_row row[2])
{
    static struct cs_simulated_progress progress;
    memset(&progress, 0, sizeof progress);
    for (int i = 0; i < 2 && row[i].pid; i++) {
        progress.process[i].pid = row[i].pid;
        progress.process[i].peak_bytes = row[i].peak;
        progress.process[i].convolutions = row[i].convolutions;
        progress.process[i].last_refused_bytes = 100;
        progress.process[i].last_refused_live = row[i].peak;
        progress.gpu[0].peak_bytes += row[i].peak;
        progress.gpu[0].needed_bytes += row[i].peak;
    }
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(&progress, sizeof progress, 1, file) == 1 && fclose(file) == 0);
}

#endif
