/* Temporary folders of a simulation, which SIGINT, SIGTERM and SIGHUP also remove. */
#ifndef SIMDEV_SIMULATE_TEMPORARY_FOLDER_H
#define SIMDEV_SIMULATE_TEMPORARY_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* Returns the place of temporary folders: TMPDIR, else /tmp, or /var/tmp if /tmp is in memory. */
const char *cs_temporary_place(void);

/* Makes the folder `place`/convshim-`kind`-XXXXXX, and stores its path in `folder`. False with
 * errno, and an empty path. */
bool cs_temporary_folder_make(char folder[PATH_MAX], const char *place, const char *kind);

/* Removes a folder, and makes the path empty. An empty path is no folder. */
void cs_temporary_folder_remove(char folder[PATH_MAX]);

/* From here on the first SIGINT, SIGTERM or SIGHUP only sets a flag. A second one ends the process.
 */
void cs_interrupts_begin(void);
/* Returns that signal; 0: there was none. */
int cs_interrupted(void);
/* Ends the process by the signal if there was one, after writing its buffered output. */
void cs_interrupts_end(void);

#endif
