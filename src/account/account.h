/* Counters of what was seen and done, and the summaries made of them. Knows numbers and reasons,
 * not what produced them. Counting is lock-free; making a site takes a lock. Memory is bounded
 * whatever the number of sites: where there is no room for another, the one with the smallest spike
 * is folded into a line of all such. */
#ifndef CS_ACCOUNT_ACCOUNT_H
#define CS_ACCOUNT_ACCOUNT_H

#include "base/lock.h"
#include "convshim/choices.h"
#include <stdatomic.h>

enum {
    CS_MAX_SITES = 1800,
    CS_SITE_NAME = 48, /* bytes, its end included */
    CS_ORDER = 4096    /* first calls whose sites are kept */
};

/* What is known of one convolution, however often it is called. */
struct cs_site_facts {
    struct cs_problem problem;
    int64_t engine;
    enum cs_reason reason;   /* CS_REASON_NONE: tiled */
    struct cs_tiling tiling; /* applied or (CS_REASON_REPORT_ONLY) only possible */
    int64_t tiles;
    int64_t required; /* workspace bytes before */
    int64_t
        reported;  /* after; what it would be if CS_REASON_REPORT_ONLY; = required if not tiled */
    int64_t asked; /* vendor plans that were built to decide */
    struct cs_choices choices; /* that was decided among; no part of what makes a site */
    int64_t limit;             /* bytes that workspace was; likewise, as is what follows */
    bool raised;               /* it was raised so that tiles stay within max_slowdown, or because
                                  none do with less */
    int rule;                  /* 1 + the index of the rule that it follows; 0: none */
};

/* Whoever runs a convolution holds this and counts by it. Zeros: no site. */
struct cs_site_ref {
    uint64_t hash;   /* of all facts */
    uint32_t place;  /* 1 + the index of the site; CS_MAX_SITES + 1: folded from the start */
    uint32_t tenant; /* that the site had; another one now: folded since */
    int64_t required, reported;
};

/* The low 44 bits count, those above are the site's tenant: what is counted by an older reference
 * goes to the folded ones, also if it comes at the moment of folding. */
typedef _Atomic uint64_t cs_tagged;

enum cs_counter {
    CS_COUNT_CALLS,
    CS_COUNT_TILED,
    CS_COUNT_FALLBACKS,
    CS_COUNT_FAILED,
    CS_COUNT_LAUNCHES,
    CS_COUNTERS
};

struct cs_site {
    cs_tagged counter[CS_COUNTERS];
    cs_tagged first, last;   /* numbers of calls of the process, from 1 */
    uint32_t tenant;         /* what follows is guarded by the account's lock */
    int64_t required, saved; /* which one is folded first */
    int64_t prepared;        /* times */
    int64_t host;            /* nanoseconds of preparing */
    char name[CS_SITE_NAME];
};

struct cs_account {
    _Atomic int64_t calls;       /* convolution executions seen */
    _Atomic int64_t tiled_calls; /* run as tiles */
    _Atomic int64_t fallbacks;   /* run on the fallback plan */
    _Atomic int64_t failed;      /* ended with a vendor error after the first launch */
    _Atomic int64_t refused;  /* plans that could not be finalized: the application takes others */
    _Atomic int64_t launches; /* tile launches */
    _Atomic int64_t lanes;    /* most lanes that a call's tiles ran on */
    _Atomic int64_t passed[CS_REASONS];

    /* Largest facts.required and facts.reported of the sites that were executed or found no room
     * below; a call passed on counts as reported what it required, but for CS_REASON_REPORT_ONLY.
     */
    _Atomic int64_t required_max;
    _Atomic int64_t reported_max;

    struct cs_lock lock; /* making and folding sites */
    _Atomic int sites;
    int smallest; /* the site to be folded next; valid if all places are taken */
    uint64_t hash[CS_MAX_SITES];
    struct cs_site site[CS_MAX_SITES];
    struct cs_site_facts facts[CS_MAX_SITES];

    /* Sites that were folded, or found no room: how many, and what they counted. */
    _Atomic int64_t folds;
    _Atomic int64_t folded[CS_COUNTERS];
    int64_t folded_host;

    _Atomic uint32_t order[CS_ORDER]; /* of the first calls, as cs_account_order reads it */
};

_Static_assert(sizeof(struct cs_account) <= 8 << 20, "counting takes more than 8 MiB");

/* In place, on zeroed memory. */
void cs_account_init(struct cs_account *account);

/* The site with these facts, found or added; one that is added gets that name, cut where it is
 * longer. The reference may be used from any thread for good. If there is no room, either this
 * site or the one with the smallest spike (least required - reported, then least required) is
 * folded. */
struct cs_site_ref cs_account_site(struct cs_account *account, const struct cs_site_facts *facts,
                                   const char *name);

/* A site was prepared in so many nanoseconds. */
void cs_account_prepared(struct cs_account *account, const struct cs_site_ref *site,
                         int64_t nanoseconds);

/* Copies a site's facts; false if it is folded or none. */
bool cs_account_facts(struct cs_account *account, const struct cs_site_ref *site,
                      struct cs_site_facts *facts);

/* One execution passed on unchanged. `site` NULL or zeros: no problem could be described. Each of
 * these returns the call's number, from 1. */
int64_t cs_account_passed(struct cs_account *account, const struct cs_site_ref *site,
                          enum cs_reason reason);

/* One execution run as `launches` tiles on so many lanes. */
int64_t cs_account_tiled(struct cs_account *account, const struct cs_site_ref *site,
                         int64_t launches, int lanes);

/* One execution run on the fallback plan, and one that ended with a vendor error after its first
 * launch.
 */
int64_t cs_account_fallback(struct cs_account *account, const struct cs_site_ref *site);
int64_t cs_account_failed(struct cs_account *account, const struct cs_site_ref *site);

/* One plan that the application was refused. */
void cs_account_refused(struct cs_account *account);

/* What a site has counted. */
int64_t cs_account_site_count(const struct cs_site *site, enum cs_counter counter);

/* The site of call `number`, [1, CS_ORDER], as an index; -1: of none that is still there. */
int cs_account_order(const struct cs_account *account, int64_t number);

/* How many calls followed a rule, by its number from 1; folded ones aside. */
int64_t cs_account_rule(const struct cs_account *account, int rule);

/* What a problem is called, 16 hexadecimal digits, the same in every run of one version; returns
 * `id`. */
enum {
    CS_SITE_ID = 17
};
char *cs_account_problem_id(const struct cs_problem *problem, char id[CS_SITE_ID]);

/* A problem as people write it: "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", behind it "dgrad" or
 * "wgrad" if it is not forward, "fused" if there are other operations with it. Like snprintf. */
int cs_site_problem_text(const struct cs_problem *problem, char *text, size_t size);

/* One line about a convolution for the log, like snprintf: the problem's text and ", engine 62:
 * 516.5 MiB required, 61.5 MiB reported, H x 9 on 2"; "on" so many lanes if more than one. */
int cs_site_text(const struct cs_site_facts *facts, char *text, size_t size);

/* Forgets everything counted (a forked child starts at zero). Sites stay valid. Not while another
 * thread counts. */
void cs_account_reset(struct cs_account *account);

/* The text of a reason, and its id ("SMALL"); "" outside the list and for CS_REASON_NONE. */
const char *cs_account_reason_text(enum cs_reason reason);
const char *cs_account_reason_id(enum cs_reason reason);

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
struct cs_summary_gate {
    int64_t waits, timed_out; /* at the door, and those of them that ended by time-out */
    int64_t nanoseconds;      /* of all waits */
    bool given_up;
};

/* What the summary says beside the counters. */
struct cs_summary_head {
    const char *version; /* convshim's */
    const char *vendor;  /* "cuDNN 9.19.0" or "" */
    const char *policy;
    int known;          /* convolutions that the policy knows from earlier runs */
    const char *config; /* the file read, "" for built-in defaults */
    const char *bypass; /* objects whose convolutions are not seen, ", " between them; "" if none */
    int64_t workspace;  /* the limit in force, bytes; < 0: auto, one for each convolution */
    const char *const *rules; /* names by index, NULL after the last; NULL: there are none */
    struct cs_summary_own own;
    struct cs_summary_gate gate;
};

/* Writes the summary into `text` like snprintf: at most 40 lines of at most 100 columns, aligned,
 * sizes in binary units; returns the length it needs. Empty (0) if no convolution was seen. */
int cs_summary_text(const struct cs_account *account, const struct cs_summary_head *head,
                    char *text, size_t size);

#endif
