/* Counts calls, and makes the summaries from the counts. Independent of the parts that call it.
 * Counting is lock-free. Adding a site takes a lock. A site is a convolution with a decision.
 * Memory is bounded for any number of sites: if the table is full, the site with the smallest spike
 * is folded into one common line. */
#ifndef CS_ACCOUNT_ACCOUNT_H
#define CS_ACCOUNT_ACCOUNT_H

#include "base/lock.h"
#include "base/log.h"
#include "convshim/plan.h"
#include <stdatomic.h>

enum {
    CS_MAX_SITES = 1800,
    CS_SITE_NAME = 48, /* bytes, NUL included */
    CS_ORDER = 4096    /* first calls whose sites are recorded */
};

/* The facts about one convolution, independent of its number of calls. */
struct cs_site_facts {
    struct cs_problem problem;
    int64_t engine;
    enum cs_reason reason;   /* CS_REASON_NONE: tiled */
    struct cs_tiling tiling; /* chosen or, with CS_REASON_REPORT_ONLY, possible */
    int64_t tiles;
    int64_t required; /* bytes without convshim */
    int64_t possible; /* bytes with convshim, with CS_REASON_REPORT_ONLY as if the decision were
                         applied; = required if not tiled */
    int64_t queries;  /* vendor plans built for the decision */
    int64_t free; /* workspace in bytes that cost nothing; this and the following are not part of a
                     site's identity */
    int64_t untiled_ns, predicted_ns; /* predicted times of a call that is not tiled, and of one
                                         that follows the decision; 0: not known */
    int64_t untiled_most_ns, predicted_most_ns; /* the other ends of these (cs_cost_times) */
    bool raised; /* the limit was raised so that tiles stay within max_slowdown, or because no
                    tiling fits */
    int rule;    /* 1 + the index of the rule that applies; 0: no rule */
};

/* A reference to a site, for counting its calls. Zeros: no site. */
struct cs_site_ref {
    uint64_t hash;   /* hash of all facts */
    uint32_t place;  /* 1 + the index of the site; CS_MAX_SITES + 1: folded from the start */
    uint32_t tenant; /* the number of the convolution at that place; if it has another one now, this
                        one was folded */
    int64_t required, possible;
};

/* A counter with the tenant of its site. The low 44 bits are the count, the bits above are the
 * tenant. A count by an outdated reference goes to the folded sites, even at the moment of folding.
 */
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
    uint32_t tenant;         /* this and the following are protected by the account's lock */
    int64_t required, saved; /* bytes, from which the site to fold is chosen */
    int64_t prepared;        /* the number of times */
    int64_t host;            /* nanoseconds of preparing */
    char name[CS_SITE_NAME];
};

/* The workspace that is reported to the program. */
static inline int64_t cs_site_reported(const struct cs_site_facts *facts)
{
    return facts->reason == CS_REASON_REPORT_ONLY ? facts->required : facts->possible;
}

struct cs_account {
    _Atomic int64_t calls;       /* convolution executions seen */
    _Atomic int64_t tiled_calls; /* run as tiles */
    _Atomic int64_t fallbacks;   /* run on the fallback plan */
    _Atomic int64_t failed;      /* ended with a vendor error after their first launch */
    _Atomic int64_t
        refused; /* plans that could not be finalized, so that the application takes others */
    _Atomic int64_t launches;                /* tile launches */
    _Atomic int64_t lanes;                   /* the largest number of lanes of a call */
    _Atomic int64_t added_ns, added_most_ns; /* both ends of the predicted time that tiles add to
                                                untiled calls */
    _Atomic int64_t passed[CS_REASONS];

    /* The largest facts.required, cs_site_reported and facts.possible of the sites that were
     * executed or found no room. For a call that is passed on they are equal, except the possible
     * size with CS_REASON_REPORT_ONLY. */
    _Atomic int64_t required_max;
    _Atomic int64_t reported_max;
    _Atomic int64_t possible_max;

    struct cs_lock lock; /* adding and folding sites */
    _Atomic int sites;
    int smallest; /* the site to fold next; valid if the table is full */
    uint64_t hash[CS_MAX_SITES];
    struct cs_site site[CS_MAX_SITES];
    struct cs_site_facts facts[CS_MAX_SITES];

    /* Sites that were folded or found no room: their number, and their counts. */
    _Atomic int64_t folds;
    _Atomic int64_t folded[CS_COUNTERS];
    int64_t folded_host;

    _Atomic uint32_t order[CS_ORDER];      /* sites of the first calls, read by cs_account_order */
    _Atomic int32_t launches_of[CS_ORDER]; /* launches of each of these calls; 0: it failed */
};

_Static_assert(sizeof(struct cs_account) <= 8 << 20, "counting takes more than 8 MiB");

/* Initializes zeroed memory. */
void cs_account_init(struct cs_account *account);

/* Finds or adds the site with these facts. A new one gets that name, cut to its size. The reference
 * stays usable from any thread. If the table is full, this site or another one is folded: the one
 * with the smallest spike (least required - reported, then least required). */
struct cs_site_ref cs_account_site(struct cs_account *account, const struct cs_site_facts *facts,
                                   const char *name);

/* Adds the nanoseconds of preparing a site. */
void cs_account_prepared(struct cs_account *account, const struct cs_site_ref *site,
                         int64_t nanoseconds);

/* Copies a site's facts, for tests. False if the site was folded or the reference is empty. */
bool cs_account_facts(struct cs_account *account, const struct cs_site_ref *site,
                      struct cs_site_facts *facts);

/* Counts an execution that was passed on unchanged. `site` NULL or zeros: the problem could not be
 * described. */
void cs_account_passed(struct cs_account *account, const struct cs_site_ref *site,
                       enum cs_reason reason);

/* Counts an execution that ran as `launches` tiles on `lanes` lanes. */
void cs_account_tiled(struct cs_account *account, const struct cs_site_ref *site, int64_t launches,
                      int lanes);

/* Adds to both ends of the predicted time that tiles take in addition to untiled calls. */
void cs_account_added(struct cs_account *account, int64_t least_ns, int64_t most_ns);

/* Count an execution that ran on the fallback plan, and one that ended with a vendor error after
 * its first launch. */
void cs_account_fallback(struct cs_account *account, const struct cs_site_ref *site);
void cs_account_failed(struct cs_account *account, const struct cs_site_ref *site);

/* Counts a plan that the application could not finalize. */
void cs_account_refused(struct cs_account *account);

/* Returns the value of a site's counter. */
int64_t cs_account_site_count(const struct cs_site *site, enum cs_counter counter);

/* Returns the index of the site of call `number`, [1, CS_ORDER]. -1 if the site was folded or is
 * unknown. */
int cs_account_order(const struct cs_account *account, int64_t number);

/* Returns the number of calls that followed a rule, by its number from 1. Folded calls are not
 * included. */
int64_t cs_account_rule(const struct cs_account *account, int rule);

/* Writes the id of a problem, 16 hexadecimal digits, which is the same in every run of one version.
 * Returns `id`. */
enum {
    CS_SITE_ID = 17
};
char *cs_account_problem_id(const struct cs_problem *problem, char id[CS_SITE_ID]);

/* Writes a problem as text: "1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw", followed by "dgrad" or
 * "wgrad" if it is not forward, and by "fused" if it has fused operations. Like snprintf. */
int cs_site_problem_text(const struct cs_problem *problem, char *text, size_t size);

/* Writes a line about a convolution for the log, like snprintf: the problem's text and ", engine
 * 62: 516.5 MiB required, 61.5 MiB reported, H x 9 on 2". The number of lanes follows "on" if it is
 * more than one. */
int cs_site_text(const struct cs_site_facts *facts, char *text, size_t size);

/* Resets all counts (a forked child starts at zero). Sites stay valid. Must not run while another
 * thread counts. */
void cs_account_reset(struct cs_account *account);

/* Return the text of a reason, and its id ("SMALL"). "" outside the list and for CS_REASON_NONE. */
const char *cs_account_reason_text(enum cs_reason reason);
const char *cs_account_reason_id(enum cs_reason reason);

/* Numbers about the library's own scratch. Zeros if it had none. */
struct cs_summary_own {
    int64_t limit, peak; /* largest allowed and largest held bytes */
    int64_t allocations;
    int64_t captured;    /* bytes that belong to CUDA graphs at the end */
    int64_t lost;        /* bytes that can never be reused */
    int64_t handed_over; /* times that a block moved to another stream */
    int64_t refused;     /* calls that found no scratch */
};

enum {
    CS_SUMMARY_GPUS = 16,   /* most GPUs of a summary */
    CS_SUMMARY_REASONS = 16 /* most reasons of a struct cs_summary_gpu */
};

/* Calls of one way to run. */
struct cs_summary_way {
    const char *id; /* "untiled", "fewer" or "planned" */
    int64_t calls, launches;
};

/* Numbers about the memory that the program holds of one GPU, from its allocator. Bytes. */
struct cs_summary_gpu {
    int number;
    int64_t without, with; /* peak of the allocated memory, without convshim and with it */
    int64_t reserved;      /* peak of the memory that the allocator holds */
    bool pool;     /* the allocator is a pool of the driver, whose peaks are those that calls saw */
    int64_t grown; /* times that the library's scratch made the allocator grow unexpectedly */
    struct cs_summary_way way[3];
    int reasons;
    struct {
        const char *id, *text;
        int64_t calls;
    } as_planned[CS_SUMMARY_REASONS]; /* calls that ran as planned, by the reason */
};

/* Data of the summary in addition to the counters. */
struct cs_summary_head {
    const char *version; /* convshim's */
    const char *vendor;  /* "cuDNN 9.19.0" or "" */
    const char *policy;
    bool counts;        /* the policy uses option tiles instead of workspace */
    const char *config; /* the file read, "" for built-in defaults */
    const char
        *bypass; /* objects whose convolutions are not intercepted, separated by ", ", or "" */
    int64_t workspace; /* option workspace in bytes; < 0: auto, which is no limit */
    int64_t
        threshold; /* convolutions that require no more bytes are not tiled; <= 0: rules differ */
    int gpus;      /* 0: the program's allocator does not report its memory */
    const struct cs_summary_gpu *gpu; /* by number, ascending */
    int64_t peak_without, peak_with;  /* of convolutions, see cs_convolution_peak_read */
    const char *const *rules;         /* names by index, NULL after the last; NULL: no rules */
    struct cs_summary_own own;
};

/* The GPU of the largest allocated peak with convshim. NULL: no GPU's memory is known. */
const struct cs_summary_gpu *cs_summary_main_gpu(const struct cs_summary_head *head);

/* Writes the summary into `text` like snprintf: lines that are never cut, tables aligned, sizes in
 * binary units. Returns the length. Empty (0) if the library saw no convolution. */
int cs_summary_text(const struct cs_account *account, const struct cs_summary_head *head,
                    char *text, size_t size);

enum {
    CS_ADVICE_TEXT = 256 /* bytes that hold every advice */
};

/* Writes the line of advice at the end of the summary, like snprintf: the most important
 * improvement that the user can make. Objects that bypass the library are first, then the reason
 * why nothing was tiled, then the costs of tiles. */
int cs_advice_text(const struct cs_account *account, const struct cs_summary_head *head, char *text,
                   size_t size);

enum {
    CS_PROBLEM_TEXT = 512 /* bytes that hold every text of a problem */
};

struct cs_site_outcome_text {
    char reported[CS_SIZE_TEXT]; /* "" if it is not tiled */
    char tiles[96]; /* "H x 9 on 2", "H x 9, raised", "possible: 8 MiB, H x 9", or the reason */
};

/* Writes both texts for a convolution. */
void cs_site_outcome_text(const struct cs_site_facts *facts, struct cs_site_outcome_text *outcome);

#endif
