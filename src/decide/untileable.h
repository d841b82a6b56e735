/* Option `untileable`: whether the application should take another plan, because no tiling makes
 * this one small enough. Pure except for the vendor's queries. */
#ifndef CS_DECIDE_UNTILEABLE_H
#define CS_DECIDE_UNTILEABLE_H

#include "decide/decide.h"

enum cs_untileable {
    CS_UNTILEABLE_AUTO, /* refused if the vendor lists another engine that fits */
    CS_UNTILEABLE_RUN,
    CS_UNTILEABLE_REFUSE /* also if its tiles are only too slow */
};

/* The callback that decides the same problem with another engine. Valid during the call. */
struct cs_rivals {
    void *ctx;
    struct cs_decision (*decide)(void *ctx, const struct cs_engine *engine, int64_t required,
                                 const struct cs_vendor *vendor);
};

/* True if a plan of `engine` with this decision should be refused. `reason`: why it is not tiled,
 * or CS_REASON_NONE if its limit was raised. May query the vendor's list of engines, once: the
 * result is stored in decision->elsewhere. */
bool cs_decide_refuses(enum cs_untileable option, struct cs_decision *decision,
                       enum cs_reason reason, const struct cs_engine *engine,
                       const struct cs_vendor *vendor, const struct cs_rivals *rivals);

#endif
