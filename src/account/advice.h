/* One line of advice for those who read the summary. */
#ifndef CS_ACCOUNT_ADVICE_H
#define CS_ACCOUNT_ADVICE_H

#include "account/account.h"

enum {
    CS_ADVICE_TEXT = 160 /* bytes that hold every advice */
};

/* What could be done better, where something can: objects that bypass the library; why nothing was
 * tiled; a limit that takes very many tiles. Like snprintf; "" and 0 if there is none. */
int cs_advice_text(const struct cs_account *account, const struct cs_summary_head *head, char *text,
                   size_t size);

#endif
