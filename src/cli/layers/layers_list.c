/* Reads a list of layers, one in a line. Errors name file and line. */
#include "cli/layers/layers.h"

#include "cli/common/read_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 3 /* shape, name, model */
};

/* Cuts a line at its commas in place, without blanks around the columns. Missing columns are "".
 * False: it has too many. */
static bool split_line(char *line, char *column[COLUMNS])
{
    char *const end = line + strlen(line);
    for (int i = 0; i < COLUMNS; i++) {
        char *text = line ? strsep(&line, ",") : end;
        text += strspn(text, " \t");
        for (size_t length = strlen(text); length > 0 && strchr(" \t\r", text[length - 1]);)
            text[--length] = '\0';
        column[i] = text;
    }
    return line == NULL;
}

/* Adds the layer of a line. False with the reason in `error`. */
static bool read_line(struct cs_layers *layers, char *line, const struct cs_layer_rules *rules,
                      char error[CS_LAYERS_ERROR])
{
    char *column[COLUMNS];
    struct cs_problem problem;
    if (!split_line(line, column)) {
        snprintf(error, CS_LAYERS_ERROR, "more than %d columns. Allowed: SHAPE, LAYER, MODEL",
                 COLUMNS);
        return false;
    }
    if (!cs_shape_text(column[0], rules, &problem, error))
        return false;
    if (cs_layers_add(layers, column[2], *column[1] ? column[1] : column[0], &problem))
        return true;
    snprintf(error, CS_LAYERS_ERROR, "out of memory");
    return false;
}

bool cs_layers_list(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                    char error[CS_LAYERS_ERROR])
{
    char why[CS_LAYERS_ERROR];
    char *const text = cs_read_file_text(path, why);
    char *rest = text, *line;
    int64_t number = 0;
    bool good = text != NULL;
    if (!good)
        snprintf(error, CS_LAYERS_ERROR, "%.200s: %.250s", path, why);
    while (good && (line = strsep(&rest, "\n"))) {
        number++;
        if (strspn(line, " \t\r") == strlen(line) || *line == '#')
            continue;
        good = read_line(layers, line, rules, why);
        if (!good)
            snprintf(error, CS_LAYERS_ERROR, "%.200s:%" PRId64 ": %.250s", path, number, why);
    }
    free(text);
    if (good && layers->count == 0)
        snprintf(error, CS_LAYERS_ERROR, "%.200s: contains no layer", path);
    return good && layers->count > 0;
}
