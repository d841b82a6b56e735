/* Folders of XLA's caches. Compiled programs and tuning results contain workspace sizes, which are
 * valid for one version of the library and one set of options. */
#ifndef CS_CLI_PROGRAM_XLA_CACHE_H
#define CS_CLI_PROGRAM_XLA_CACHE_H

#include "config/config.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    CS_XLA_CACHE_NAME = 64
};

/* Writes the name of the folder for programs with these options: the library's version, and a hash
 * of all options and rules that decide. The constants that were measured on GPUs do not decide
 * sizes that a program may keep (ARCHITECTURE.md, Guarantees). False if memory is short. */
bool cs_xla_cache_name(const struct cs_config *config, char name[CS_XLA_CACHE_NAME]);

/* A cache that a variable of the environment can name. */
struct cs_xla_cache {
    const char *variable;
    const char *option; /* before the path in the variable's value; NULL: the value is the path */
    bool separated;     /* `convshim run` uses a folder below this one */
};

enum {
    CS_XLA_CACHES = 6
};
extern const struct cs_xla_cache cs_xla_caches[CS_XLA_CACHES];

/* Returns the cache's path in the value of its variable (NULL: unset), and the length. NULL if the
 * value names none. */
const char *cs_xla_cache_path(const struct cs_xla_cache *cache, const char *value,
                              size_t *length_p);

/* Returns `value` with /`name` appended to the cache's path. The caller frees it. NULL if the value
 * names no cache, if the path ends with `name` already, or if memory is short. */
char *cs_xla_cache_value(const struct cs_xla_cache *cache, const char *value, const char *name);

#endif
