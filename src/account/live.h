/* What a running process counts, for whoever looks at it from outside: one small file of shared
 * memory a process, PID in a folder that is the user's alone. It is made for the user (0600), never
 * through a link, and removed when the process ends; one that is killed leaves it, and readers
 * remove what no process has. Writing costs a few stores and never waits. */
#ifndef CS_ACCOUNT_LIVE_H
#define CS_ACCOUNT_LIVE_H

#include "account/account.h"
#include <limits.h>
#include <stdbool.h>

enum {
    CS_LIVE_VERSION = 1
};

/* The file. Members are only added, at the end of what version 1 has. */
struct cs_live_page {
    _Atomic uint64_t magic; /* CS_LIVE_MAGIC once the texts are there */
    uint32_t version, bytes;
    int64_t pid, run;  /* 0: not started by `convshim run` */
    int64_t birth;     /* of the process, in the kernel's ticks: an id may come again */
    int64_t start_ms;  /* since 1970: the first call that the library saw */
    int64_t workspace; /* the limit */
    char program[64], script[64], vendor[64], policy[32], release[32];
    _Atomic int64_t calls, tiled, fallback, failed, launches, required_max, reported_max;
    _Atomic int64_t own_held, own_peak;
    _Atomic int64_t changed_ms; /* when a call was counted last, to a tenth of a second */
};

#define CS_LIVE_MAGIC UINT64_C(0x636f6e767368696d) /* "convshim" */

/* What does not change while the process runs. */
struct cs_live_facts {
    int64_t run, start_ms, workspace;
    const char *program, *script, *vendor, *policy, *release;
};

struct cs_live {
    _Atomic(struct cs_live_page *) page; /* NULL: there is none */
    _Atomic(int64_t) process;            /* that has made it, or tried to */
    _Atomic(int64_t) due;                /* when scratch is asked for again, milliseconds */
};

/* Makes the file of this process; without a word if it cannot be made. errno is kept. Thread-safe:
 * the first of several calls in a process counts. */
void cs_live_open(struct cs_live *live, const char *folder, const struct cs_live_facts *facts);

/* True if a file is still to be made in this process: at first and after a fork. */
bool cs_live_missing(const struct cs_live *live);

/* Copies the counters; false if nothing was counted since. *look_p: the scratch of the library's
 * own is to be told, too (cs_live_scratch), which happens ten times a second at most. */
bool cs_live_count(struct cs_live *live, const struct cs_account *account, bool *look_p);
void cs_live_scratch(struct cs_live *live, int64_t held, int64_t peak);

/* In a forked child: the parent's file is the parent's. */
void cs_live_fork(struct cs_live *live);

/* Removes the file; counting goes on into memory of nobody's. errno is kept. */
void cs_live_close(struct cs_live *live, const char *folder);

/* Notes in the folder that a process that `run` has started ran convolutions, and asks for that
 * note, removing it. */
void cs_live_note(const char *folder, int64_t run);
bool cs_live_noted(const char *folder, int64_t run);

/* For readers. The page of a process; false, with errno, if it has none. A file whose process is
 * gone is removed: ENOENT. */
bool cs_live_read(const char *folder, int64_t pid, struct cs_live_page *page);

/* The ids of all files, ascending, at most `room` of them; returns how many there are, -1 with
 * errno if the folder cannot be read (ENOENT: there is none). */
int cs_live_list(const char *folder, int64_t *pids, int room);

#endif
