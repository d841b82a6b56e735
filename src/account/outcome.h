/* The outcome of a convolution, for lines and tables. */
#ifndef CS_ACCOUNT_OUTCOME_H
#define CS_ACCOUNT_OUTCOME_H

#include "account/account.h"
#include "base/log.h"

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
