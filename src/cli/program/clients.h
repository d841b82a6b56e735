/* Finds the users of cuDNN in files that are not loaded yet. */
#ifndef CS_CLI_PROGRAM_CLIENTS_H
#define CS_CLI_PROGRAM_CLIENTS_H

#include "cli/doctor/doctor.h"

/* Fills `subject` from `packages`, or from `program` if there is no Python. Unreadable files are
 * left out. Sets `broken` if memory runs out. The caller calls cs_doctor_free afterwards. */
void cs_clients_find(struct cs_doctor *doctor);

/* Its title and, where it is known, its version, as a finding names it. Returns `text`. */
const char *cs_examined_name(const struct cs_examined *subject, char *text, size_t size);

#endif
