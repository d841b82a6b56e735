/* Reads layers from the convolutions of a JSON summary. Errors name the element of `sites`. */
#include "cli/layers/layer_reader.h"

#include "account/summary_json.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 16 /* bytes: the allocators of frameworks align to this or more */
};

static bool read_number(const cJSON *item, int64_t *number_p)
{
    double number = cJSON_IsNumber(item) ? cJSON_GetNumberValue(item) : -1;
    if (!(number >= 0) || number != floor(number) || number > 0x1p53)
        return false;
    *number_p = (int64_t)number;
    return true;
}

static bool read_numbers(const cJSON *list, int64_t *number, int count)
{
    bool all = cJSON_GetArraySize(list) == count;
    for (int i = 0; all && i < count; i++)
        all = read_number(cJSON_GetArrayItem(list, i), &number[i]);
    return all;
}

static bool read_dtype(const cJSON *item, enum cs_dtype *dtype_p)
{
    return cJSON_IsString(item) && cs_shape_dtype(item->valuestring, dtype_p);
}

static bool read_tensor(const cJSON *object, int operand, struct cs_problem *problem)
{
    struct cs_tensor *tensor = &problem->tensor[operand];
    tensor->alignment = ALIGNMENT;
    tensor->side = (enum cs_operand)operand;
    tensor->written = operand == (int)cs_result(problem->direction);
    return read_numbers(cs_json_at(object, "dims"), tensor->dims, CS_DIMS) &&
           read_numbers(cs_json_at(object, "strides"), tensor->strides, CS_DIMS) &&
           read_dtype(cs_json_at(object, "dtype"), &tensor->dtype);
}

static bool read_window(const cJSON *object, struct cs_problem *problem)
{
    const cJSON *padding = cs_json_at(object, "padding");
    int64_t spatial;
    if (!read_number(cs_json_at(object, "spatial"), &spatial) || spatial < 1 ||
        spatial > CS_SPATIAL)
        return false;
    problem->spatial = (int)spatial;
    problem->flipped = cJSON_IsTrue(cs_json_at(object, "flipped"));
    return cJSON_GetArraySize(padding) == 2 &&
           read_numbers(cJSON_GetArrayItem(padding, 0), problem->pre, CS_SPATIAL) &&
           read_numbers(cJSON_GetArrayItem(padding, 1), problem->post, CS_SPATIAL) &&
           read_numbers(cs_json_at(object, "stride"), problem->stride, CS_SPATIAL) &&
           read_numbers(cs_json_at(object, "dilation"), problem->dilation, CS_SPATIAL) &&
           read_number(cs_json_at(object, "groups"), &problem->groups);
}

/* Reads the problem of a site. Values of the options, for all layers, replace those of the site. */
static bool read_problem(const cJSON *object, const struct cs_layer_rules *rules,
                         struct cs_problem *problem)
{
    static const char *const names[CS_OPERANDS] = {"x", "w", "y"};
    const cJSON *direction = cs_json_at(object, "direction");
    *problem = (struct cs_problem){.alpha = 1, .tensors = CS_OPERANDS};
    problem->beta = cJSON_IsTrue(cs_json_at(object, "accumulates"));
    if (!cJSON_IsString(direction) ||
        !cs_shape_direction(direction->valuestring, &problem->direction) ||
        !read_dtype(cs_json_at(object, "compute"), &problem->compute) ||
        !read_window(object, problem))
        return false;
    if (rules->direction)
        problem->direction = *rules->direction;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (!read_tensor(cs_json_at(object, names[i]), i, problem))
            return false;
        if (rules->dtype)
            problem->tensor[i].dtype = *rules->dtype;
    }
    return cs_problem_check(problem) == CS_OK;
}

/* The calls of a site. 1 in older summaries, which do not count them. */
static int64_t calls_of(const cJSON *site)
{
    int64_t calls;
    return read_number(cs_json_at(site, "calls"), &calls) ? calls : 1;
}

/* Members that the site lacks stay unset: `free` is missing if no decision was made, `engine` if
 * the legacy API chose it. */
static void read_recorded(const cJSON *site, struct cs_recorded *recorded)
{
    int64_t free_bytes, record, beside, engine, required;
    recorded->calls = calls_of(site);
    if (read_number(cs_json_at(site, "free"), &free_bytes) &&
        read_number(cs_json_at(site, "record"), &record) &&
        read_number(cs_json_at(site, "beside"), &beside))
        recorded->level = (struct cs_peak_level){record, beside};
    if (read_number(cs_json_at(site, "engine"), &engine) &&
        read_number(cs_json_at(site, "required"), &required)) {
        recorded->engine = engine;
        recorded->required = required;
    }
}

static void read_text(const cJSON *item, char *text, size_t size)
{
    snprintf(text, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static void read_site(struct cs_layer_reader *reading, const char *model, const cJSON *site,
                      int64_t number)
{
    struct cs_problem problem;
    /* Only sites with calls are layers. A query of the legacy API makes a site, too; another engine
     * may run the convolution, as a separate site. */
    if (calls_of(site) == 0)
        return;
    const cJSON *object = cs_json_at(site, "problem"), *name = cs_json_at(site, "name");
    if (!cJSON_IsString(name) || !*name->valuestring)
        name = cs_json_at(object, "text");
    if (!cJSON_IsString(name) || !read_problem(object, reading->rules, &problem))
        cs_layer_reader_diagnose(reading, number, "not a convolution in the form of a summary");
    else if (!cs_layers_add(reading->layers, model, name->valuestring, number, &problem))
        cs_layer_reader_diagnose(reading, number, "out of memory");
    else
        read_recorded(site, &reading->layers->layer[reading->layers->count - 1].recorded);
}

/* A summary that was written by hand may have no version. */
static bool has_our_version(struct cs_layer_reader *reading, const cJSON *summary)
{
    const cJSON *version = cs_json_at(summary, "version");
    if (!version || cJSON_GetNumberValue(version) == (double)CS_SUMMARY_VERSION)
        return true;
    cs_layer_reader_diagnose(reading, 0,
                             "the summary has another version. This convshim reads version %d.",
                             CS_SUMMARY_VERSION);
    return false;
}

static void read_sites(struct cs_layer_reader *reading, const cJSON *summary)
{
    const cJSON *program = cs_json_at(summary, "process.program"), *site;
    int64_t number = 0;
    if (!has_our_version(reading, summary))
        return;
    read_text(cs_json_at(summary, "device.name"), reading->layers->device,
              sizeof reading->layers->device);
    read_text(cs_json_at(summary, "versions.vendor"), reading->layers->vendor,
              sizeof reading->layers->vendor);
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        read_site(reading, cJSON_IsString(program) ? program->valuestring : "", site, ++number);
    }
}

/* The line on which the parser gave up. */
static int64_t find_line(const char *text, const char *end)
{
    int64_t line = 1;
    for (; text < end; text++)
        line += *text == '\n';
    return line;
}

/* True for a file of option `trace`: an array of events whose end may be missing. */
static bool is_trace(const char *text)
{
    static const char event[] = "{\"ph\":", events[] = "{\"traceEvents\":";
    text += strspn(text, "[ \t\r\n");
    return strncmp(text, event, strlen(event)) == 0 || strncmp(text, events, strlen(events)) == 0;
}

static void read_summary(struct cs_layer_reader *reading, const char *text)
{
    if (is_trace(text)) {
        cs_layer_reader_diagnose(
            reading, 0,
            "this is a trace for Perfetto, not a summary. To write a summary: --summary json:PATH");
        return;
    }
    const char *end = text;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    if (!root)
        cs_layer_reader_diagnose(reading, 0, "invalid JSON, from line %" PRId64 " on",
                                 find_line(text, end));
    else if (!cJSON_IsArray(cs_json_at(root, "sites")))
        cs_layer_reader_diagnose(reading, 0, "not a summary: there is no array 'sites'");
    else
        read_sites(reading, root);
    cJSON_Delete(root);
}

bool cs_layers_summary(struct cs_layers *layers, const char *path,
                       const struct cs_layer_rules *rules, cs_layers_note_fn *note, void *ctx)
{
    struct cs_layer_reader reading = {layers, path, rules, note, ctx, " element ", 0};
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    if (text)
        read_summary(&reading, text);
    else
        cs_layer_reader_diagnose(&reading, 0, "%s", error);
    free(text);
    return cs_layer_reader_end(&reading);
}
