/* The list of files that programs wrote, for people and for programs. */
#include "cli/simulate/written_files.h"

#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>

enum {
    MOST_SHOWN = 12
};

void cs_written_print(const struct cs_private_layers *layers, FILE *out)
{
    struct cs_written written;
    cs_layers_written(layers, &written);
    if (written.count > 0) {
        fputs("\nfiles that the program ", out);
        fputs(*layers->area.path ? "wrote in a private layer (your own files are unchanged)\n"
                                 : "MAY HAVE REPLACED (they changed while it ran)\n",
              out);
    }
    for (size_t i = 0; i < written.count && i < MOST_SHOWN; i++) {
        fputs("  * ", out);
        cs_cli_put(written.name[i], out);
        fputc('\n', out);
    }
    if (written.count > MOST_SHOWN)
        fprintf(out, "  * and %zu%s more\n", written.count - MOST_SHOWN, written.more ? " or" : "");
    cs_written_free(&written);
}

struct cJSON *cs_written_json(const struct cs_private_layers *layers)
{
    struct cs_written written;
    cJSON *object = cJSON_CreateObject(), *names = cJSON_AddArrayToObject(object, "names");
    cs_layers_written(layers, &written);
    cJSON_AddBoolToObject(object, "private", *layers->area.path != '\0');
    for (size_t i = 0; i < written.count; i++)
        cs_json_add(names, NULL, cJSON_CreateString(written.name[i]));
    cs_written_free(&written);
    return object;
}
