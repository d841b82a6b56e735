/* One line of advice at the end of the summary. */
#ifndef CS_ACCOUNT_ADVICE_H
#define CS_ACCOUNT_ADVICE_H

#include "account/account.h"

enum {
    CS_ADVICE_TEXT = 256 /* bytes that hold every advice */
};

/* An improvement that the user can make, if one is found: objects that bypass the library, reasons
 * why no call was tiled, a limit that needs very many tiles. Otherwise the command that compares
 * results and times. Like snprintf. */
int cs_advice_text(const struct cs_account *account, const struct cs_summary_head *head, char *text,
                   size_t size);

#endif
