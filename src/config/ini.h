/* Sources of options: ini files and texts of items. Both are lines of "name = value" for one parser
 * (inih). Private to src/config. */
#ifndef CS_CONFIG_INI_H
#define CS_CONFIG_INI_H

#include "config/diagnostics.h"

/* Starts a source of that name, a variable's. */
void cs_ini_begin(struct cs_load *load, const char *source);

/* Sets an option by name, or notes why not. */
void cs_ini_set(struct cs_load *load, const char *name, const char *value);

/* Reads the file: 0, or the errno with which it could not be opened or read at all. Nothing is
 * noted in that case. */
int cs_ini_file(struct cs_load *load, const char *path);

/* Reads items separated by ';', as if each were a line; `source` names them in notes. */
void cs_ini_items(struct cs_load *load, const char *source, const char *items);

#endif
