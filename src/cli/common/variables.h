/* Variables of the environment: those of this process, and changes for programs that it starts. */
#ifndef CS_CLI_COMMON_VARIABLES_H
#define CS_CLI_COMMON_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the value of a variable of this process, which its children inherit; NULL if it is unset
 * or set to nothing. The text is valid until the variable is changed. Only variables.c reads
 * the environment of the command. The variables of the library itself are read in src/config. */
const char *cs_cli_variable(const char *name);

/* Variables that override those of this process. */
struct cs_child_variables {
    char **item; /* "NAME=VALUE", or "NAME": it is removed; owned */
    size_t items;
    bool broken; /* out of memory */
};

/* Add a variable to set or to remove, or copies of others. The last addition of a name wins. */
void cs_child_variables_set(struct cs_child_variables *variables, const char *name,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));
void cs_child_variables_remove(struct cs_child_variables *variables, const char *name);
void cs_child_variables_add(struct cs_child_variables *variables,
                            const struct cs_child_variables *others);

/* True if a variable of this name is set there. */
bool cs_child_variables_has(const struct cs_child_variables *variables, const char *name);

/* Changes the environment of this process, which from then on uses the texts of `variables`. False
 * if memory is short. */
bool cs_child_variables_apply(const struct cs_child_variables *variables);

void cs_child_variables_free(struct cs_child_variables *variables);

#endif
