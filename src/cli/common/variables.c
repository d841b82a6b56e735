/* Variables of the environment: those of this process, and changes for programs that it starts. */
#include "cli/common/variables.h"

#include "cli/common/array.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cs_cli_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Takes over `item`. */
static void add_item(struct cs_child_variables *variables, char *item)
{
    char **place = item ? cs_array_add(&variables->item, &variables->items, sizeof *place) : NULL;
    if (place) {
        *place = item;
    } else {
        free(item);
        variables->broken = true;
    }
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
    add_item(variables, item);
}

void cs_child_variables_remove(struct cs_child_variables *variables, const char *name)
{
    add_item(variables, strdup(name));
}

void cs_child_variables_add(struct cs_child_variables *variables,
                            const struct cs_child_variables *others)
{
    for (size_t i = 0; i < others->items; i++)
        add_item(variables, strdup(others->item[i]));
    variables->broken = variables->broken || others->broken;
}

bool cs_child_variables_has(const struct cs_child_variables *variables, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < variables->items; i++)
        if (strncmp(variables->item[i], name, length) == 0 && variables->item[i][length] == '=')
            return true;
    return false;
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
