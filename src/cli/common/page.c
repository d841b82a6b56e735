/* Writes pages. page.html is the template: style, script, and the places of the data and of the
 * command's script. A page needs no other file, and its content security policy forbids every
 * request. */
#include "cli/common/output.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

static const char TEMPLATE[] =
#include "page_html.h"
    ;

/* The contents of a page. */
struct content {
    const char *json, *view;
};

/* Writes the template up to a place, and returns the part behind it. */
static const char *put_until(const char *from, const char *place, FILE *out)
{
    const char *found = strstr(from, place);
    fwrite(from, 1, (size_t)(found - from), out);
    return found + strlen(place);
}

/* Writes the page with the text of the JSON, in which no '<' can end the element (cs_output_fn). */
static bool put_page(const void *state, FILE *out)
{
    const struct content *content = state;
    const char *rest = put_until(TEMPLATE, "{DATA}", out), *at = content->json;
    while (*at)
        if (*at == '<') {
            fputs("\\u003c", out);
            at++;
        } else
            cs_json_put_character(&at, out);
    rest = put_until(rest, "{VIEW}", out);
    fputs(content->view, out);
    fputs(rest, out);
    return true;
}

bool cs_page_write(const char *command, const char *view, const char *path, struct cJSON *root)
{
    char *text = root && cs_json_complete() ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    if (!text) {
        cs_cli_complain("%s: out of memory", command);
        return false;
    }
    const bool good = cs_output_write(path, put_page, &(struct content){text, view});
    if (!good)
        cs_cli_complain("%s: %s: cannot be written: %s", command, path, strerror(errno));
    else if (strcmp(path, "-") != 0)
        cs_cli_complain("%s: page in %s", command, path);
    cJSON_free(text);
    return good;
}
