/* The report at the end of the process: the account as text or JSON, with data of the process. */
#ifndef CS_FLOW_EXIT_REPORT_H
#define CS_FLOW_EXIT_REPORT_H

#include "flow/instance.h"

/* True if calls came since the last report. */
static inline bool cs_exit_report_due(const struct cs *cs)
{
    return cs->account.calls != cs->reported;
}

/* Writes the summary in the form and to the file of the options, unless no convolution was seen, or
 * no new one since cs_exit_report_last. Problems are logged. */
void cs_exit_report_write(struct cs *cs);

/* Writes the current JSON summary, if the options name a file that can be replaced. The last one
 * replaces it. Calls neither the loader nor the heap. */
void cs_exit_report_early(struct cs *cs, const char *vendor);

/* Writes the current JSON summary for `convshim status`. */
void cs_exit_report_session(struct cs *cs, const char *folder, const char *vendor);

/* For an end of the process without exit: the same, with a line that names the file, the text, and
 * the rest of the trace, unless no convolution was seen since the last report. Calls neither the
 * loader nor the heap, so the text does not list objects that bypass the library. */
void cs_exit_report_last(struct cs *cs, const char *vendor);

/* The current JSON summary, like snprintf, also without convolutions. Calls the loader. */
size_t cs_exit_report_text(struct cs *cs, char *at, size_t size);

/* Writes the rest of the trace, and logs its file. */
void cs_exit_report_trace(struct cs *cs);

#endif
