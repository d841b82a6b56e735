/* What is written when the process ends: the account as text or JSON, with what else there is to
 * say. */
#ifndef CS_SHIM_SUMMARY_H
#define CS_SHIM_SUMMARY_H

#include "shim/instance.h"

/* Writes it in the form and to the place that the options say; nothing if no convolution was seen.
 * Problems are logged. */
void cs_summary_write(struct cs *cs);

#endif
