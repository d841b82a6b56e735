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

static const char magic[8] = "simdev6";
/* Written by init only. */
static struct simdev_progress *progress;
static struct simdev_process *own; /* NULL: no file, or it had no room */
static int progress_file = -1;
static FILE *record; /* likewise; stdio has its own lock */
static atomic_size_t live;
static char planning[SIMDEV_PLANNING_TEXT];

static struct flock lock_of(size_t index)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)index, .l_len = 1};
}

/* Enters this process. The lock ends with the process, also when it is killed. */
static void enter_process(void)
{
    own = NULL;
    for (size_t i = 0; i < SIMDEV_MOST_PROCESSES && !own; i++) {
        unsigned long long unused = 0;
        struct flock taken = lock_of(i);
        if (!atomic_compare_exchange_strong(&progress->process[i].pid, &unused,
                                            (unsigned long long)getpid()))
            continue;
        own = &progress->process[i];
        (void)fcntl(progress_file, F_SETLK, &taken);
    }
    if (own)
        memcpy(own->planning, planning, sizeof planning);
    else
        atomic_fetch_add(&progress->unlisted, 1);
}

/* The file stays open, because a process that closes it loses its locks. */
static bool map_progress(const char *path)
{
    if (progress_file >= 0)
        close(progress_file); /* of the process that this run was forked from */
    progress_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const bool sized = progress_file >= 0 && ftruncate(progress_file, sizeof(*progress)) == 0;
    void *map =
        sized ? mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, progress_file, 0)
              : MAP_FAILED;
    if (map == MAP_FAILED) {
        simdev_violation("SIMDEV_PROGRESS %s: %s", path, strerror(errno));
        return false;
    }
    progress = memcpy(map, magic, sizeof(magic));
    enter_process();
    return true;
}

static void subtract_ended_on(struct simdev_process *process, int device)
{
    struct simdev_shared_device *shared = &progress->device[device];
    const unsigned long long held = atomic_exchange(&process->live_on[device], 0);
    atomic_fetch_sub(&shared->live_bytes, held);
    atomic_fetch_sub(&shared->context_bytes, atomic_exchange(&process->context_on[device], 0));
    atomic_fetch_sub(&process->live_bytes, held);
    atomic_fetch_sub(&progress->live_bytes, held);
}

static bool holds_memory(const struct simdev_process *process)
{
    bool holds = false;
    for (int i = 0; i < simdev_device_count(); i++)
        holds = holds || atomic_load(&process->live_on[i]) || atomic_load(&process->context_on[i]);
    return holds;
}

/* Subtracts the bytes of processes that have ended. */
static void subtract_ended(void)
{
    for (size_t i = 0; i < SIMDEV_MOST_PROCESSES; i++) {
        struct simdev_process *process = &progress->process[i];
        struct flock held = lock_of(i);
        if (process == own || !holds_memory(process))
            continue;
        if (fcntl(progress_file, F_GETLK, &held) == 0 && held.l_type == F_UNLCK)
            for (int device = 0; device < simdev_device_count(); device++)
                subtract_ended_on(process, device);
    }
}

static void raise_to(atomic_ullong *most, unsigned long long value)
{
    unsigned long long before = atomic_load(most);
    while (value > before && !atomic_compare_exchange_weak(most, &before, value))
        ;
}

/* Adds the change of a process's bytes, which have become `bytes`, to a sum. Returns the sum. */
static unsigned long long add_change(atomic_ullong *of_process, size_t bytes, atomic_ullong *sum)
{
    const unsigned long long change = bytes - atomic_exchange(of_process, bytes);
    return atomic_fetch_add(sum, change) + change;
}

/* A process that is not listed adds its bytes to the sums only. */
static struct simdev_process *own_or_unlisted(void)
{
    static struct simdev_process unlisted;
    return own ? own : &unlisted;
}

static void share_bytes(int device, size_t there, size_t bytes)
{
    struct simdev_process *mine = own_or_unlisted();
    struct simdev_shared_device *shared = &progress->device[device];
    const unsigned long long change = there - atomic_load(&mine->live_on[device]);
    if (atomic_load(&shared->live_bytes) + change > atomic_load(&shared->peak_bytes))
        subtract_ended();
    const unsigned long long held = add_change(&mine->live_on[device], there, &shared->live_bytes);
    raise_to(&shared->peak_bytes, held);
    raise_to(&shared->needed_bytes, held + atomic_load(&shared->context_bytes));
    raise_to(&progress->peak_bytes, add_change(&mine->live_bytes, bytes, &progress->live_bytes));
    raise_to(&mine->peak_bytes, bytes);
}

size_t simdev_record_others(int device)
{
    const size_t context = simdev_device_context();
    if (!progress)
        return context;
    struct simdev_shared_device *shared = &progress->device[device];
    struct simdev_process *mine = own_or_unlisted();
    (void)add_change(&mine->context_on[device], context, &shared->context_bytes);
    subtract_ended();
    const unsigned long long contexts = atomic_load(&shared->context_bytes);
    raise_to(&shared->needed_bytes, atomic_load(&shared->live_bytes) + contexts);
    size_t others = contexts;
    for (size_t i = 0; i < SIMDEV_MOST_PROCESSES; i++)
        if (&progress->process[i] != own)
            others += atomic_load(&progress->process[i].live_on[device]);
    return others;
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

void simdev_record_memory(int device, const struct simdev_mem_totals *there,
                          const struct simdev_mem_totals *totals)
{
    atomic_store(&live, totals->live_bytes);
    if (progress)
        share_bytes(device, there->live_bytes, totals->live_bytes);
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

void simdev_record_refused(const struct simdev_mem_totals *totals)
{
    if (!own)
        return;
    atomic_store(&own->refused, totals->refused);
    atomic_store(&own->last_refused_bytes, totals->last_refused_bytes);
    atomic_store(&own->last_refused_live, totals->last_refused_live);
}

void simdev_record_traffic(size_t tensor_bytes)
{
    if (own)
        atomic_fetch_add(&own->tensor_bytes, tensor_bytes);
}

void simdev_record_workspace(size_t bytes)
{
    if (own)
        raise_to(&own->largest_workspace, bytes);
}

void simdev_record_planning(const char *text)
{
    snprintf(planning, sizeof planning, "%s", text);
    if (own)
        memcpy(own->planning, planning, sizeof planning);
}

void simdev_record_missing_device(int ordinal)
{
    if (progress && ordinal > 0)
        raise_to(&progress->missing, (unsigned long long)ordinal);
}

void simdev_record_counted(enum simdev_counter counter)
{
    struct simdev_process *mine = own_or_unlisted();
    const bool is_convolution = counter == SIMDEV_CONV_LAUNCHES,
               is_kernel = counter == SIMDEV_KERNEL_LAUNCHES;
    if (!is_convolution && !is_kernel && counter != SIMDEV_LIBRARY_CALLS)
        return;
    if (progress)
        atomic_fetch_add(is_convolution ? &progress->convolutions : &progress->kernels, 1);
    atomic_fetch_add(is_convolution ? &mine->convolutions
                     : is_kernel    ? &mine->kernels
                                    : &mine->library_calls,
                     1);
}

void simdev_note_convolution(const struct simdev_convolution *convolution)
{
    const struct simdev_work work = {.cost = convolution->cost};
    (void)simdev_usable();
    if (record)
        fprintf(record, "c %" PRIxPTR " %zu %zu %" PRIu64 " %zu %s\n",
                (uintptr_t)convolution->workspace, convolution->workspace_bytes,
                convolution->tensor_bytes, simdev_time_of_work(&work), atomic_load(&live),
                convolution->plan);
}
