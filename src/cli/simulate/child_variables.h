/* Variables of a program that override the variables of this process. */
#ifndef CS_CLI_SIMULATE_CHILD_VARIABLES_H
#define CS_CLI_SIMULATE_CHILD_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

struct cs_child_variables {
    char **item; /* "NAME=VALUE", or "NAME": it is removed; owned */
    size_t items;
    bool broken; /* out of memory */
};

/* Adds one; a later one of the same name wins. */
void cs_child_variables_set(struct cs_child_variables *variables, const char *name,
                            const char *format, ...) __attribute__((format(printf, 3, 4)));
void cs_child_variables_remove(struct cs_child_variables *variables, const char *name);

/* Makes them this process's own. False if memory is short. */
bool cs_child_variables_apply(const struct cs_child_variables *variables);

void cs_child_variables_free(struct cs_child_variables *variables);

#endif
