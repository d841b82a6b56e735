/* What is written when the process ends: the account as text or JSON, with what else there is to
 * say. */
#ifndef CS_FLOW_EXIT_REPORT_H
#define CS_FLOW_EXIT_REPORT_H

#include "flow/instance.h"

/* True if calls came since the last report. */
static inline bool cs_exit_report_due(const struct cs *cs)
{
    return cs->account.calls != cs->reported;
}

/* Writes it in the form and to the place that the options say; nothing if no convolution was seen,
 * or none since cs_exit_report_last.
 * Problems are logged. */
void cs_exit_report_write(struct cs *cs);

/* The JSON summary as it is now, if there is to be one in a file that can be replaced; the last one
 * replaces it. Asks neither the loader nor the heap. */
void cs_exit_report_early(struct cs *cs, const char *vendor);

/* For an end of the process that is no exit: the same, named by a line, the text, and what is left
 * of the trace; nothing if no convolution came since the last one. Asks neither the loader nor the
 * heap: the text does not say what bypasses the library. */
void cs_exit_report_last(struct cs *cs, const char *vendor);

/* The JSON summary as it is now, like snprintf; also if no convolution was seen. Asks the loader.
 */
size_t cs_exit_report_text(struct cs *cs, char *at, size_t size);

/* Writes what is left of the trace and says where it is. */
void cs_exit_report_trace(struct cs *cs);

#endif
