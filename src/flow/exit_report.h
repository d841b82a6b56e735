/* What is written when the process ends: the account as text or JSON, with what else there is to
 * say. */
#ifndef CS_FLOW_EXIT_REPORT_H
#define CS_FLOW_EXIT_REPORT_H

#include "flow/instance.h"

/* Writes it in the form and to the place that the options say; nothing if no convolution was seen.
 * Problems are logged. */
void cs_exit_report_write(struct cs *cs);

/* The JSON summary as it is now, if there is to be one in a file that can be replaced; the last one
 * replaces it. Asks neither the loader nor the heap. `last`: the process ends without another one,
 * so a line names the file. */
void cs_exit_report_early(struct cs *cs, const char *vendor, bool last);

/* The JSON summary as it is now, like snprintf; also if no convolution was seen. Asks the loader.
 */
size_t cs_exit_report_text(struct cs *cs, char *at, size_t size);

/* Writes what is left of the trace and says where it is. */
void cs_exit_report_trace(struct cs *cs);

#endif
