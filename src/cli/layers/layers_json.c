/* Reads layers from a JSON array of objects; errors name the element. */
#include "cli/layers/layers_sites.h"

#include "cli/common/read_file.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBER_TEXT = 24
};

/* Whole numbers that a double holds exactly. */
static bool number_text(const cJSON *item, char text[NUMBER_TEXT])
{
    double number = cJSON_GetNumberValue(item);
    if (number != floor(number) || fabs(number) > 0x1p53)
        return false;
    snprintf(text, NUMBER_TEXT, "%" PRId64, (int64_t)number);
    return true;
}

/* Refuses unknown keys: a misspelt key would otherwise have its default value without an error. */
static bool knows_keys(struct cs_layer_reader *reading, const cJSON *object, int64_t number)
{
    const cJSON *item;
    bool all = true;
    cJSON_ArrayForEach(item, object)
    {
        if (cs_layer_field_find(item->string) != CS_FIELDS)
            continue;
        cs_layer_reader_unknown(reading, number, "key", item->string);
        all = false;
    }
    return all;
}

static void read_object(struct cs_layer_reader *reading, const cJSON *object, int64_t number)
{
    char text[CS_FIELDS][NUMBER_TEXT];
    struct cs_record record = {{NULL}};
    if (!cJSON_IsObject(object)) {
        cs_layer_reader_diagnose(reading, number, "not an object");
        return;
    }
    if (!knows_keys(reading, object, number))
        return;
    for (int i = 0; i < CS_FIELDS; i++) {
        const char *name = cs_layer_field_name((enum cs_field)i);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
        if (cJSON_IsString(item)) {
            record.value[i] = item->valuestring;
        } else if (cJSON_IsNumber(item) && number_text(item, text[i])) {
            record.value[i] = text[i];
        } else if (item) {
            cs_layer_reader_diagnose(reading, number, "%s is not a text and not a whole number",
                                     name);
            return;
        }
    }
    cs_layer_reader_add(reading, &record, number);
}

/* The line on which the parser gave up. */
static int64_t line_of(const char *text, const char *end)
{
    int64_t line = 1;
    for (; text < end; text++)
        line += *text == '\n';
    return line;
}

/* Option trace writes an array of events; its end may be missing. */
static bool is_trace(const char *text)
{
    static const char event[] = "{\"ph\":", events[] = "{\"traceEvents\":";
    text += strspn(text, "[ \t\r\n");
    return strncmp(text, event, strlen(event)) == 0 || strncmp(text, events, strlen(events)) == 0;
}

static void read_text(struct cs_layer_reader *reading, const char *text)
{
    if (is_trace(text)) {
        cs_layer_reader_diagnose(
            reading, 0,
            "this is a trace for Perfetto, not a summary. To write a summary: --summary json:PATH");
        return;
    }
    const char *end = text;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    const cJSON *list = root, *object;
    int64_t number = 0;
    if (cJSON_IsObject(root))
        list = cJSON_GetObjectItemCaseSensitive(root, "layers");
    if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(root, "sites")))
        cs_layers_sites_read(reading, root);
    else if (!root)
        cs_layer_reader_diagnose(reading, 0, "invalid JSON in line %" PRId64 " on",
                                 line_of(text, end));
    else if (!cJSON_IsArray(list))
        cs_layer_reader_diagnose(
            reading, 0, "not a summary, an array of layers, or an object with the array 'layers'");
    else
        cJSON_ArrayForEach(object, list)
        {
            read_object(reading, object, ++number);
        }
    cJSON_Delete(root);
}

bool cs_layers_json(struct cs_layers *layers, const char *path, const struct cs_layer_rules *rules,
                    cs_layers_note_fn *note, void *ctx)
{
    struct cs_layer_reader reading = {layers, path, rules, note, ctx, " element ", 0};
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    if (text)
        read_text(&reading, text);
    else
        cs_layer_reader_diagnose(&reading, 0, "%s", error);
    free(text);
    return cs_layer_reader_end(&reading);
}
