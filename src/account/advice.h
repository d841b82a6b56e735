/* One line of advice at the end of the summary. */
#ifndef CS_ACCOUNT_ADVICE_H
#define CS_ACCOUNT_ADVICE_H

#include "account/account.h"

enum {
    CS_ADVICE_TEXT = 256 /* bytes that hold every advice */
};

enum cs_advice_kind {
    CS_ADVICE_BYPASSED,       /* some objects call cuDNN past the library */
    CS_ADVICE_REPORT_ONLY,    /* nothing tiled: policy off */
    CS_ADVICE_NO_TILING,      /* nothing tiled: the written limit, `bytes`, is too small */
    CS_ADVICE_SLOW,           /* nothing tiled: tiles are predicted to be too slow */
    CS_ADVICE_PROVIDED,       /* nothing tiled: the program allocates its own workspaces */
    CS_ADVICE_LARGEST_WITHIN, /* nothing tiled: all within the limit, the largest is `bytes` */
    CS_ADVICE_CHANNELS_LAST,  /* nothing tiled: no workspaces, and all tensors are channels-last */
    CS_ADVICE_WITHIN,         /* nothing tiled: all within the limit */
    CS_ADVICE_REASON,         /* nothing tiled, most often for `reason` */
    CS_ADVICE_NO_GAIN,        /* tiled, but a workspace of `bytes` is still the largest */
    CS_ADVICE_MANY_TILES,     /* a call has `tiles`; a limit of `bytes` needs a quarter of them */
    CS_ADVICE_CONVERSION,     /* `bytes` hold channels-last copies of tensors */
    CS_ADVICE_VERIFY          /* none of these: the command that compares results and times */
};

struct cs_advice {
    enum cs_advice_kind kind;
    int64_t bytes, tiles; /* 0 where the kind has none */
    enum cs_reason reason;
};

/* Returns the most important improvement that the user can make: objects that bypass the library
 * first, then the reason why nothing was tiled, then the costs of tiles. */
struct cs_advice cs_advice_of(const struct cs_account *account, const struct cs_summary_head *head);

/* Writes the advice, like snprintf. `policy` is the policy's name. */
int cs_advice_text(const struct cs_advice *advice, const char *policy, char *text, size_t size);

#endif
