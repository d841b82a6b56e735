/* Files about running processes, for other processes of the user: a private folder with a JSON
 * summary of each process (PID.json) and notes of runs (PID.ran). A killed process leaves its
 * files, which `convshim status` removes. Failures are silent, and errno is kept. */
#ifndef CS_ACCOUNT_SESSION_FILES_H
#define CS_ACCOUNT_SESSION_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* True if the folder is private. If it belongs to another user, can be written by others, or is a
 * link, it is not used. */
bool cs_session_is_private(const char *folder);

/* Writes the path of a process's summary in the folder, which is made if necessary. False if the
 * folder is not private. */
bool cs_session_summary_path(const char *folder, int64_t pid, char path[PATH_MAX]);
void cs_session_summary_remove(const char *folder, int64_t pid);

/* Record that a process of run `run` ran convolutions (cs_session_note), and return whether that
 * record exists and remove it (cs_session_noted). */
void cs_session_note(const char *folder, int64_t run);
bool cs_session_noted(const char *folder, int64_t run);

#endif
