/* Policy `budget`: each call site's share of a total, as the workspace limit of its decision. A
 * site that was given a share keeps it for as long as the process lives, since its size has been
 * reported.
 *
 * Sites come one by one. What each could use is remembered under the program's name (store.h). From
 * its second run on a program's known sites are given the shares that make all of them together
 * fastest, at once; others get of what is left a quarter, or the little that they cannot do
 * without, as all do beyond CS_MAX_SHARES sites. Thread-safe. */
#ifndef CS_FLOW_BUDGET_H
#define CS_FLOW_BUDGET_H

#include "base/lock.h"
#include "config/store.h"
#include "decide/offers.h"
#include "decide/split.h"

struct cs_request;

enum {
    CS_MAX_SHARES = 1024
};

struct cs_budget {
    struct cs_lock lock;
    int64_t total;    /* bytes */
    int64_t left;     /* not given away; less than 0 if even the least of all sites is too much */
    uint64_t program; /* a number for it and for the options that it runs under */
    bool begun;       /* what is remembered has been divided */
    bool reported;    /* that the total is too small */
    int shares;
    struct cs_share {
        uint64_t site;
        int64_t limit;
    } share[CS_MAX_SHARES];
};

void cs_budget_init(struct cs_budget *budget, int64_t total, uint64_t program);

/* The workspace limit for a request's decision by `policy`. `limits`: what the user allows a single
 * one. */
int64_t cs_budget_limit(struct cs_budget *budget, struct cs_store *store,
                        const struct cs_request *request, const struct cs_policy *policy,
                        const struct cs_limits *limits, const struct cs_vendor *vendor);

#endif
