/* Counters of what was seen and done, and the summary made of them. Knows numbers and reasons, not
 * what produced them. Counting is lock-free but for the first call of a site; memory is bounded
 * whatever the number of sites. */
#ifndef CS_ACCOUNT_ACCOUNT_H
#define CS_ACCOUNT_ACCOUNT_H

#include "convshim/plan.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    CS_MAX_SITES = 1024
};

/* What is known of one convolution, however often it is called. */
struct cs_site_facts {
    struct cs_problem problem;
    int64_t engine;
    enum cs_reason reason;   /* CS_REASON_NONE: rewritten */
    struct cs_tiling tiling; /* applied or (CS_REASON_REPORT_ONLY) only possible */
    int64_t tiles;
    int64_t wanted; /* workspace bytes before */
    int64_t told;   /* after; what it would be if CS_REASON_REPORT_ONLY; = wanted if left alone */
    int rule;       /* 1 + the index of the rule that it follows; 0: none */
};

struct cs_site {
    struct cs_site_facts facts; /* constant once the site is published */
    uint64_t hash;
    _Atomic int64_t calls;
    _Atomic int64_t launches;
    _Atomic int64_t lifeboats;
};

struct cs_account {
    _Atomic int64_t calls;     /* convolution executions seen */
    _Atomic int64_t rewritten; /* run as tiles */
    _Atomic int64_t lifeboats; /* run on the lifeboat */
    _Atomic int64_t failed;    /* ended with a vendor error after the first launch */
    _Atomic int64_t launches;  /* tile launches */
    _Atomic int64_t lanes;     /* most lanes that a call's tiles ran on */
    _Atomic int64_t passed[CS_REASONS];

    /* Largest facts.wanted and facts.told of the sites that were executed or found no room below;
     * a call passed on counts as told what it wanted, but for CS_REASON_REPORT_ONLY. */
    _Atomic int64_t wanted_max;
    _Atomic int64_t told_max;

    pthread_mutex_t lock; /* sites being added */
    _Atomic int sites;
    struct cs_site site[CS_MAX_SITES + 1]; /* the last one collects what did not fit */
};

/* In place, on zeroed memory. */
void cs_account_init(struct cs_account *account);

/* The site with these facts, found or added; never NULL: after CS_MAX_SITES of them the one that
 * collects the rest. The pointer stays valid and may be used from any thread. */
struct cs_site *cs_account_site(struct cs_account *account, const struct cs_site_facts *facts);

/* One execution passed on unchanged. `site` may be NULL where no problem could be described. */
void cs_account_passed(struct cs_account *account, struct cs_site *site, enum cs_reason reason);

/* One execution run as `launches` tiles on so many lanes. */
void cs_account_tiled(struct cs_account *account, struct cs_site *site, int64_t launches,
                      int lanes);

/* One execution run on the lifeboat, and one that ended with a vendor error after its first launch.
 */
void cs_account_lifeboat(struct cs_account *account, struct cs_site *site);
void cs_account_failed(struct cs_account *account, struct cs_site *site);

/* One line about a convolution for the log, like snprintf: "1x512x512x512 -> 512 k3x3 s1 p1 f16
 * nchw, engine 62: 516.5 MiB wanted, 61.5 MiB told, H x 9 on 2"; behind the layout "dgrad" or
 * "wgrad" if it is not forward, "fused" if there are other operations with it; "on" so many lanes
 * if more than one. */
int cs_site_text(const struct cs_site_facts *facts, char *text, size_t size);

/* Forgets everything counted (a forked child starts at zero). Sites stay valid. Not while another
 * thread counts. */
void cs_account_reset(struct cs_account *account);

/* The text of a reason; "" outside the list and for CS_REASON_NONE. */
const char *cs_reason_text(enum cs_reason reason);

/* Scratch of the library's own; zeros if it had none. */
struct cs_summary_own {
    int64_t limit, peak; /* bytes that may be and that were held */
    int64_t allocations;
    int64_t captured;    /* bytes that belong to CUDA graphs at the end */
    int64_t lost;        /* bytes that were never used again */
    int64_t handed_over; /* times from stream to stream */
    int64_t refused;     /* calls that found none */
};

/* Threads that took turns; zeros if none did. */
struct cs_summary_turns {
    int64_t waits, vain; /* at the door, and those of them that ended by time-out */
    int64_t nanoseconds; /* of all waits */
    bool given_up;
};

/* What the summary says beside the counters. */
struct cs_summary_head {
    const char *version; /* convshim's */
    const char *vendor;  /* "cuDNN 9.19.0" or "" */
    const char *policy;
    const char *config; /* the file read, "" for built-in defaults */
    const char *bypass; /* objects whose convolutions are not seen, ", " between them; "" if none */
    int64_t workspace;  /* the limit in force, bytes */
    const char *const *rules; /* names by index, NULL behind the last; NULL: there are none */
    struct cs_summary_own own;
    struct cs_summary_turns turns;
};

/* Writes the summary into `text` like snprintf: at most 41 lines of at most 100 columns, aligned,
 * sizes in binary units; returns the length it needs. Empty (0) if no convolution was seen. */
int cs_summary_text(const struct cs_account *account, const struct cs_summary_head *head,
                    char *text, size_t size);

#endif
