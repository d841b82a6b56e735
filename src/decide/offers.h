/* In which ways a call site can be run, from much workspace to little: what a total is divided by.
 */
#ifndef CS_DECIDE_OFFERS_H
#define CS_DECIDE_OFFERS_H

#include "decide/decide.h"

enum {
    CS_MAX_OFFERS = 8,
    CS_OFFER_ASKS = 192 /* vendor plans after which no smaller one is looked for */
};

struct cs_offer {
    int64_t bytes; /* that is reported to the application */
    int64_t cost;  /* picoseconds beyond the untiled call, estimated from launches and halo */
    int64_t limit; /* the workspace limit under which cs_decide says so */
};

/* Decides under the limit, then under half of what was reported each time, until nothing fits. No
 * offer is beaten by another in bytes and cost; they come in order of bytes. The untiled call is
 * one if the limit allows it, or if there is no other. Returns how many, at least one. Builds at
 * most CS_OFFER_ASKS + CS_MAX_ASKS plans. */
int cs_offers(const struct cs_problem *problem, int64_t required, const struct cs_policy *policy,
              const struct cs_limits *limits, const struct cs_vendor *vendor,
              struct cs_offer offer[CS_MAX_OFFERS]);

#endif
