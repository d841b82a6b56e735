/* What the options and the rules make of one call: which limits and which policy hold for it, and
 * the decision under them. The library decides by this and `convshim predict` tells by it what the
 * library would do. Pure but for what struct cs_decide_help brings. */
#ifndef CS_DECIDE_BY_RULES_H
#define CS_DECIDE_BY_RULES_H

#include "decide/contest.h"
#include "decide/rule.h"

/* What holds in a process. */
struct cs_settings {
    const struct cs_rules *rules;   /* NULL: none */
    const char *program;            /* its file name, for rules that ask for it */
    const char *script;             /* what it runs, if it is an interpreter; NULL: nothing */
    const struct cs_policy *policy; /* where no rule says another */
    struct cs_limits limits;        /* likewise */
    int64_t most;                   /* bytes of scratch beyond which no rule goes */
};

/* A call that is to be decided about. */
struct cs_decide_call {
    const struct cs_problem *problem; /* checked */
    int64_t required;                 /* bytes of the application's own plan */
    int64_t engine;                   /* of that plan; < 0: not known */
    int64_t provided; /* scratch bytes that the caller has provided already; 0: the limits hold */
};

/* Bytes of device memory. */
struct cs_peak_level {
    int64_t record; /* the most that a convolution has held so far */
    int64_t beside; /* that may be held beside a call's operands */
};

/* What only a running process has; a NULL struct or member: it has not. */
struct cs_decide_help {
    void *ctx;
    /* What earlier calls have held, and what may be held beside this one. */
    struct cs_peak_level (*level)(void *ctx);
    /* The referee for a decision under `limits`, which outlive it; for policies with contenders. */
    const struct cs_referee *(*referee)(void *ctx, const struct cs_limits *limits);
};

/* As cs_decide, by the first rule that matches; `rule` of the decision says which. */
struct cs_decision cs_decide_by_rules(const struct cs_settings *settings,
                                      const struct cs_decide_call *call,
                                      const struct cs_vendor *vendor,
                                      const struct cs_decide_help *help);

/* True if calls that require so little are not tiled whatever they are: by the options and by every
 * rule. Looks at no problem. */
bool cs_decide_is_small(const struct cs_settings *settings, int64_t required);

#endif
