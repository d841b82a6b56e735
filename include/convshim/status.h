/* The result of an internal function. The application never sees it. It sees only the vendor's own
 * status. */
#ifndef CONVSHIM_STATUS_H
#define CONVSHIM_STATUS_H

#define CS_MUST_CHECK __attribute__((warn_unused_result))

enum cs_status {
    CS_OK,
    CS_OVERFLOW, /* a product or sum of extents leaves 64 bits */
    CS_ILLEGAL,  /* the problem cannot be cut this way */
    CS_REFUSED,  /* the vendor has no plan for this problem */
    CS_NOMEM,    /* host memory ran out */
    CS_INVALID,  /* an argument or an input text is not of the documented form */
};

/* Why a convolution is not tiled. CS_REASON_NONE: it is tiled. */
enum cs_reason {
    CS_REASON_NONE,
#define CS_REASON(id, text) CS_REASON_##id,
#include "convshim/reasons.def"
#undef CS_REASON
    CS_REASONS
};

#endif
