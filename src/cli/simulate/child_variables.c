/* Collects the variables of a program that is to be run. */
#include "cli/simulate/child_variables.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes over `item`. */
static void add(struct cs_child_variables *variables, char *item)
{
    char **grown = item ? reallocarray(variables->item, variables->items + 1, sizeof *grown) : NULL;
    if (!grown) {
        free(item);
        variables->broken = true;
        return;
    }
    grown[variables->items++] = item;
    variables->item = grown;
}

void cs_child_variables_set(struct cs_child_variables *variables, const char *name,
                            const char *format, ...)
{
    char *value = NULL, *item = NULL;
    va_list list;
    va_start(list, format);
    if (vasprintf(&value, format, list) < 0)
        value = NULL;
    va_end(list);
    if (!value || asprintf(&item, "%s=%s", name, value) < 0)
        item = NULL;
    free(value);
    add(variables, item);
}

void cs_child_variables_remove(struct cs_child_variables *variables, const char *name)
{
    add(variables, strdup(name));
}

bool cs_child_variables_apply(const struct cs_child_variables *variables)
{
    for (size_t i = 0; i < variables->items; i++) {
        const char *item = variables->item[i];
        if (!strchr(item, '=')) {
            unsetenv(item);
            continue;
        }
        if (putenv(variables->item[i]) != 0)
            return false;
    }
    return !variables->broken;
}

void cs_child_variables_free(struct cs_child_variables *variables)
{
    for (size_t i = 0; i < variables->items; i++)
        free(variables->item[i]);
    free(variables->item);
    *variables = (struct cs_child_variables){.item = NULL};
}
