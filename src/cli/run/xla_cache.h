/* Folders of XLA's caches. Compiled programs and tuning results contain workspace sizes, which are
 * valid for one version of the library and one set of options. */
#ifndef CS_CLI_RUN_XLA_CACHE_H
#define CS_CLI_RUN_XLA_CACHE_H

#include "config/config.h"

enum {
    CS_XLA_CACHE_NAME = 64
};

/* The name of the folder for programs with these options: the library's version, and a hash of all
 * options and rules that decide, and of the constants that were measured on GPUs (config/ladder.h).
 * Reads the environment and files. */
void cs_xla_cache_name(const struct cs_config *config, char name[CS_XLA_CACHE_NAME]);

/* The number of environment variables that may name such folders, and their names. */
enum {
    CS_XLA_CACHES = 3
};
const char *cs_xla_cache_variable(int index);

/* Returns `value`, that of variable `index`, with /`name` appended to the folder that it names. The
 * caller frees it. NULL if `value` is NULL or names no folder, if the folder ends with `name`
 * already, or if memory is short. */
char *cs_xla_cache_value(int index, const char *value, const char *name);

#endif
