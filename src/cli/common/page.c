/* Writes pages. page.html is the template: style, script, and the place of the data. A page needs
 * no other file, and its content security policy forbids every request. */
#include "cli/common/page.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

static const char TEMPLATE[] =
#include "page_html.h"
    ;

/* Writes the page with the text of the JSON, in which no '<' can end the element (cs_output_fn). */
static bool put_page(const void *json, FILE *out)
{
    static const char place[] = "DATA</script>";
    const char *data = strstr(TEMPLATE, place), *at = json;
    fwrite(TEMPLATE, 1, (size_t)(data - TEMPLATE), out);
    while (*at)
        if (*at == '<') {
            fputs("\\u003c", out);
            at++;
        } else
            cs_json_put_character(&at, out);
    fputs(data + strlen("DATA"), out);
    return true;
}

bool cs_page_write(const char *command, const char *path, struct cJSON *root)
{
    char *text = root && cs_json_complete() ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    if (!text) {
        cs_cli_complain("%s: out of memory", command);
        return false;
    }
    const bool good = cs_output_write(path, put_page, text);
    if (!good)
        cs_cli_complain("%s: %s: cannot be written: %s", command, path, strerror(errno));
    else if (strcmp(path, "-") != 0)
        cs_cli_complain("%s: page in %s", command, path);
    cJSON_free(text);
    return good;
}
