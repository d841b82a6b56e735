/* Files about running processes, for other processes of the user: a private folder with a JSON
 * summary of each process (PID.json) and notes of runs (PID.ran). A killed process leaves its
 * files, which `convshim status` removes. Failures are silent, and errno is kept. */
#ifndef CS_ACCOUNT_SESSION_FILES_H
#define CS_ACCOUNT_SESSION_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* False if the folder belongs to another user, can be written by others, or is a link: then it is
 * not used. */
bool cs_session_is_private(const char *folder);

/* The path of a process's summary in the folder, which is made if necessary. False if it is not
 * private. */
bool cs_session_summary_path(const char *folder, int64_t pid, char path[PATH_MAX]);
void cs_session_summary_remove(const char *folder, int64_t pid);

/* cs_session_note records that a process of run `run` ran convolutions. cs_session_noted returns
 * whether the record exists, and removes it. */
void cs_session_note(const char *folder, int64_t run);
bool cs_session_noted(const char *folder, int64_t run);

#endif
