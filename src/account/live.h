/* The counters of a running process, for other processes: one small file of shared memory for each
 * process, named by its process id, in a private folder of the user. It is made with mode 0600,
 * never through a link, and removed when the process ends. A killed process leaves its file, and
 * readers remove such files. Writing takes a few stores and never waits. */
#ifndef CS_ACCOUNT_LIVE_H
#define CS_ACCOUNT_LIVE_H

#include "account/account.h"
#include <limits.h>
#include <stdbool.h>

enum {
    CS_LIVE_VERSION = 1
};

/* The file. New versions only add members at the end of version 1. */
struct cs_live_page {
    _Atomic uint64_t magic; /* CS_LIVE_MAGIC after the texts are written */
    uint32_t version, bytes;
    int64_t pid, run;  /* 0: not started by `convshim run` */
    int64_t birth;     /* the start of the process in the kernel's ticks, because ids are reused */
    int64_t start_ms;  /* since 1970: the first call that the library saw */
    int64_t workspace; /* the limit */
    char program[64], script[64], vendor[64], policy[32], release[32];
    _Atomic int64_t calls, tiled, fallback, failed, launches, required_max, reported_max;
    _Atomic int64_t own_held, own_peak;
    _Atomic int64_t changed_ms; /* the last count, to a tenth of a second */
    _Atomic int64_t possible_max;
};

#define CS_LIVE_MAGIC UINT64_C(0x636f6e767368696d) /* "convshim" */

/* Facts that stay the same while the process runs. */
struct cs_live_facts {
    int64_t run, start_ms, workspace;
    const char *program, *script, *vendor, *policy, *release;
};

struct cs_live {
    _Atomic(struct cs_live_page *) page; /* NULL: no file */
    _Atomic(int64_t) process;            /* the process that has made it, or tried to */
    _Atomic(int64_t) due;                /* the next time to copy the scratch, milliseconds */
};

/* Makes the file of this process. A failure is silent. errno is kept. Thread-safe: the first call
 * in a process counts. */
void cs_live_open(struct cs_live *live, const char *folder, const struct cs_live_facts *facts);

/* True if this process has not made its file yet: at first and after a fork. */
bool cs_live_missing(const struct cs_live *live);

/* Copies the counters. False if no call was counted since the last copy. *look_p: the caller must
 * also copy the library's scratch (cs_live_scratch), at most ten times a second. */
bool cs_live_count(struct cs_live *live, const struct cs_account *account, bool *look_p);
void cs_live_scratch(struct cs_live *live, int64_t held, int64_t peak);

/* In a forked child: forgets the file, which belongs to the parent. */
void cs_live_fork(struct cs_live *live);

/* Removes the file. Later counts go to the unlinked page. errno is kept. */
void cs_live_close(struct cs_live *live, const char *folder);

/* cs_live_note records in the folder that a process of run `run` ran convolutions. cs_live_noted
 * returns whether the record exists, and removes it. */
void cs_live_note(const char *folder, int64_t run);
bool cs_live_noted(const char *folder, int64_t run);

/* For readers: the page of a process. False with errno if it has none. A file whose process has
 * ended is removed: ENOENT. */
bool cs_live_read(const char *folder, int64_t pid, struct cs_live_page *page);

/* The ids of all files, ascending, at most `room`. Returns how many exist, or -1 with errno if the
 * folder cannot be read (ENOENT: it does not exist). */
int cs_live_list(const char *folder, int64_t *pids, int room);

#endif
