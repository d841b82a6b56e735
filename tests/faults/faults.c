/* Which point fails. FAULT_AT=N: the N-th of the process alone; FAULT_AT=N+: that and all behind
 * it; unset: none. FAULT_REPORT=PATH is written when the process ends: how many points there were,
 * and what the first one that failed was. */
#define CS_FAULTS_ITSELF
#include "faults.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_long points;
static _Atomic(const char *) fired;

bool cs_fault(const char *what)
{
    const char *at = getenv("FAULT_AT");
    long now = atomic_fetch_add(&points, 1) + 1;
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
