/* Reads sources of options: ini files and texts of items. Both are lines of "name = value" for one
 * parser (inih). Private to src/config. */
#ifndef CS_CONFIG_INI_H
#define CS_CONFIG_INI_H

#include "config/diagnostics.h"

/* Begins a source that is the variable of that name. */
void cs_ini_begin(struct cs_load *load, const char *source);

/* Sets an option by name, or makes a note of the reason if it cannot. */
void cs_ini_set(struct cs_load *load, const char *name, const char *value);

/* Reads a file. Returns 0. If it cannot be opened or read at all, returns errno and makes no note.
 */
int cs_ini_file(struct cs_load *load, const char *path);

/* Reads items separated by ';' as lines. `source` is their name in notes. */
void cs_ini_items(struct cs_load *load, const char *source, const char *items);

#endif
