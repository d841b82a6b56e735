/* Temporary folders of a simulation, which SIGINT, SIGTERM and SIGHUP also remove. One thread. */
#ifndef CS_CLI_SIMULATE_TEMPORARY_FOLDER_H
#define CS_CLI_SIMULATE_TEMPORARY_FOLDER_H

#include <limits.h>
#include <stdbool.h>

struct cs_temporary_folder {
    char path[PATH_MAX]; /* "": there is none */
    int lock;            /* held while the owner lives */
};

/* TMPDIR. Otherwise /tmp, or /var/tmp if /tmp is in memory. */
const char *cs_temporary_place(void);

/* Makes `place`/convshim-`kind`-XXXXXX, and removes the folders of that kind there whose owner has
 * ended. False with errno. */
bool cs_temporary_folder_make(struct cs_temporary_folder *folder, const char *place,
                              const char *kind);
void cs_temporary_folder_remove(struct cs_temporary_folder *folder);

/* True if less than 1 MiB is free where the folder is. */
bool cs_temporary_is_full(const char *folder);

/* From here on the first SIGINT, SIGTERM or SIGHUP only sets a flag. A second one ends the process.
 */
void cs_interrupts_begin(void);
bool cs_interrupted(void);
/* Ends the process by the signal if there was one. */
void cs_interrupts_end(void);

#endif
