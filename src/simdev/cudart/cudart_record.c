/* Progress in a mapped file, and a record of memory changes and convolutions, one per line in the
 * order of calls:
 *
 *   m LIVE                                            bytes of device memory, after each change
 *   a ADDRESS BYTES, f ADDRESS                        after it: the allocated or freed block,
 *                                                     except mapped memory (cuMemMap)
 *   c WORKSPACE BYTES TENSORS NANOSECONDS LIVE PLAN   a convolution: address and bytes of its
 *                                                     workspace, bytes of its tensors, the time
 *                                                     model's time, device memory, its plan */
#include "cudart_record.h"
#include "cudart_report.h"
#include "cudart_time.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char magic[8] = "simdev1";
static struct simdev_progress *progress; /* written by init only */
static FILE *record;                     /* likewise; stdio has its own lock */
static atomic_size_t live;

static bool map_progress(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const bool sized = file >= 0 && ftruncate(file, sizeof(*progress)) == 0;
    void *map = sized ? mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                      : MAP_FAILED;
    if (map == MAP_FAILED)
        simdev_violation("SIMDEV_PROGRESS %s: %s", path, strerror(errno));
    else
        progress = memcpy(map, magic, sizeof(magic));
    if (file >= 0)
        close(file);
    return map != MAP_FAILED;
}

static bool open_record(const char *setting)
{
    char *path = simdev_report_path(setting);
    record = path ? fopen(path, "we") : NULL;
    if (!record)
        simdev_violation("SIMDEV_RECORD %s: %s", setting, strerror(errno));
    free(path);
    return record != NULL;
}

bool simdev_record_init(void)
{
    const char *path = getenv("SIMDEV_PROGRESS"), *lines = getenv("SIMDEV_RECORD");
    const bool good = !path || !*path || map_progress(path);
    return (!lines || !*lines || open_record(lines)) && good;
}

void simdev_record_memory(const struct simdev_mem_totals *totals)
{
    atomic_store(&live, totals->live_bytes);
    if (progress) {
        atomic_store(&progress->live_bytes, totals->live_bytes);
        atomic_store(&progress->peak_bytes, totals->peak_bytes);
    }
    if (record)
        fprintf(record, "m %zu\n", totals->live_bytes);
}

void simdev_record_block(const void *begin, size_t bytes)
{
    if (record && bytes > 0)
        fprintf(record, "a %" PRIxPTR " %zu\n", (uintptr_t)begin, bytes);
    else if (record)
        fprintf(record, "f %" PRIxPTR "\n", (uintptr_t)begin);
}

void simdev_record_kernel(void)
{
    if (progress)
        atomic_fetch_add(&progress->kernels, 1);
}

void simdev_note_convolution(const struct simdev_convolution *convolution)
{
    const struct simdev_work work = {.cost = convolution->cost};
    (void)simdev_usable();
    if (progress)
        atomic_fetch_add(&progress->convolutions, 1);
    if (record)
        fprintf(record, "c %" PRIxPTR " %zu %zu %" PRIu64 " %zu %s\n",
                (uintptr_t)convolution->workspace, convolution->workspace_bytes,
                convolution->tensor_bytes, simdev_time_of_work(&work), atomic_load(&live),
                convolution->plan);
}
