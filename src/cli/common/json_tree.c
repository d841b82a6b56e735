/* Checks every allocation of libcjson, and the range of numbers. */
#include "cli/common/json_tree.h"

#include "base/json.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static bool complete;

static void *allocate_watched(size_t bytes)
{
    void *memory = malloc(bytes);
    complete = complete && memory;
    return memory;
}

void cs_json_begin(void)
{
    complete = true;
    cJSON_InitHooks(&(cJSON_Hooks){allocate_watched, free});
}

void cs_json_add(cJSON *parent, const char *name, cJSON *item)
{
    complete = complete && item;
    bool added =
        name ? cJSON_AddItemToObject(parent, name, item) : cJSON_AddItemToArray(parent, item);
    if (!added)
        cJSON_Delete(item);
}

bool cs_json_complete(void)
{
    return complete;
}

void cs_json_put_character(const char **text_p, FILE *out)
{
    const size_t length = cs_json_utf8(*text_p);
    const unsigned char byte = (unsigned char)**text_p;
    if (length > 0)
        fwrite(*text_p, 1, length, out);
    else
        fprintf(out, "%c%c", 0xc0 | byte >> 6, 0x80 | (byte & 0x3f));
    *text_p += length > 0 ? length : 1;
}

static bool print_tree(cJSON *root, char *text, FILE *out)
{
    cJSON_Delete(root);
    for (const char *at = text; at && *at;)
        cs_json_put_character(&at, out);
    if (text)
        fputc('\n', out);
    cJSON_free(text);
    return text != NULL;
}

bool cs_json_print(cJSON *root, FILE *out)
{
    return print_tree(root, root && complete ? cJSON_Print(root) : NULL, out);
}

bool cs_json_print_line(cJSON *root, FILE *out)
{
    return print_tree(root, root && complete ? cJSON_PrintUnformatted(root) : NULL, out) &&
           fflush(out) == 0;
}

int64_t cs_json_whole(const cJSON *item, int64_t otherwise)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53
               ? (int64_t)item->valuedouble
               : otherwise;
}

const cJSON *cs_json_at(const cJSON *object, const char *way)
{
    char name[64];
    while (object && *way) {
        const size_t length = strcspn(way, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, way);
        object = cJSON_GetObjectItemCaseSensitive(object, name);
        way += length + (way[length] == '.');
    }
    return object;
}

int64_t cs_json_whole_at(const cJSON *object, const char *way, int64_t otherwise)
{
    return cs_json_whole(cs_json_at(object, way), otherwise);
}

double cs_json_double(const cJSON *object, const char *way)
{
    const cJSON *item = cs_json_at(object, way);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *cs_json_text(const cJSON *object, const char *way)
{
    return cJSON_GetStringValue(cs_json_at(object, way));
}

const char *cs_json_text_at(const cJSON *object, const char *way, const char *otherwise)
{
    const char *text = cs_json_text(object, way);
    return text ? text : otherwise;
}
