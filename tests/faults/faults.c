/* Selects the failing point. FAULT_AT=N: the N-th of the process alone; FAULT_AT=N+: that and all
 * later ones; unset: none. FAULT_REPORT=PATH is written when the process ends: the number of
 * points, and the name of the first that failed. FAULT_STACKS=PATH: a line for each point with a
 * number for the calls that led to it, in threads of the program and of the library. */
#define CS_FAULTS_ITSELF
#include "faults.h"

#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DEPTH = 40,
    LINE = 64
};

static atomic_long points;
static _Atomic(const char *) fired;

static int stacks = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULT_STACKS");
    stacks = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

static void note_stack(long point)
{
    void *frame[DEPTH];
    char line[LINE];
    uint64_t number = 0xcbf29ce484222325u;
    int depth = backtrace(frame, DEPTH);
    for (int i = 0; i < depth; i++)
        number = (number ^ (uintptr_t)frame[i]) * 0x100000001b3u;
    int length = snprintf(line, sizeof line, "%ld %llx\n", point, (unsigned long long)number);
    if (write(stacks, line, (size_t)length) != length)
        abort();
}

bool cs_fault(const char *what)
{
    const char *at = getenv("FAULT_AT");
    long now = atomic_fetch_add(&points, 1) + 1;
    if (stacks >= 0)
        note_stack(now);
    if (!at)
        return false;
    char *end;
    long from = strtol(at, &end, 10);
    if (now != from && !(*end == '+' && now > from))
        return false;
    const char *none = NULL;
    atomic_compare_exchange_strong(&fired, &none, what);
    return true;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAULT_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    const char *what = atomic_load(&fired);
    fprintf(file, "%ld %s\n", atomic_load(&points), what ? what : "none");
    fclose(file);
}
