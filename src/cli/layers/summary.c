/* Reads JSON summaries that the library wrote, and adds those of several processes. */
#include "cli/layers/summary.h"

#include "account/summary_json.h"
#include "base/text.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- reading --- */

/* Returns the reason why a file is refused. NULL: it is a summary of this version. */
static const char *find_fault(const cJSON *root)
{
    const char *schema = cs_json_text(root, "schema");
    if (!root)
        return cs_json_complete() ? "not valid JSON" : "out of memory";
    if (!schema || strcmp(schema, "convshim summary") != 0)
        return "not a summary of convshim. Write one with: convshim run --summary json:FILE -- "
               "COMMAND";
    if (cs_json_double(root, "version") != CS_SUMMARY_VERSION)
        return "a summary of another version, which this convshim does not read";
    return cJSON_IsArray(cs_json_at(root, "sites")) ? NULL : "there is no array 'sites'";
}

/* Returns a member as cs_json_at does, of a tree that may be changed. */
static cJSON *member_at(cJSON *object, const char *way)
{
    return (cJSON *)(uintptr_t)cs_json_at(object, way);
}

static void clean_text(char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

/* Replaces control characters, which change a terminal's state, by question marks: names may have
 * any source. libcjson bounds the depth. */
static void clean_texts(cJSON *item)
{
    for (; item; item = item->next) {
        clean_text(item->string);
        clean_text(cJSON_GetStringValue(item));
        clean_texts(item->child);
    }
}

/* Replaces the words of the command line by one text, with blanks between them. */
static void join_command(cJSON *root)
{
    enum {
        LONGEST = 4096 /* bytes, to which the library cuts the command line */
    };
    char text[LONGEST + 1] = "";
    struct cs_text line = {text, sizeof text, 0};
    cJSON *process = member_at(root, "process"), *word;
    const cJSON *words = cs_json_at(process, "command");
    if (!cJSON_IsArray(words))
        return;
    cJSON_ArrayForEach(word, words)
    {
        cs_text_put(&line, "%s%s", word == words->child ? "" : " ",
                    cJSON_IsString(word) ? word->valuestring : "");
    }
    cJSON_ReplaceItemInObjectCaseSensitive(process, "command", cJSON_CreateString(text));
}

cJSON *cs_summary_read(const char *path, char error[CS_SUMMARY_ERROR])
{
    char why[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, why);
    if (!text) {
        snprintf(error, CS_SUMMARY_ERROR, "%.300s: %s", path, why);
        return NULL;
    }
    cs_json_begin();
    cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
    const char *fault = find_fault(root);
    clean_texts(root);
    join_command(root);
    free(text);
    if (!fault && !cs_json_complete())
        fault = "out of memory";
    if (!fault)
        return root;
    snprintf(error, CS_SUMMARY_ERROR, "%.300s: %s", path, fault);
    cJSON_Delete(root);
    return NULL;
}

/* --- adding --- */

/* How the numbers of two runs become one. */
enum merge {
    SUM,
    MOST,
    LEAST
};

struct merged_number {
    const char *way; /* cs_json_at */
    enum merge merge;
};

static const struct merged_number run_numbers[] = {
#define CS_TOTAL(name, merge, value) {"totals." #name, merge},
#include "account/summary_numbers.def"
#undef CS_TOTAL
    {"own.peak", SUM},
    {"process.start_ms", LEAST},
    {"process.end_ms", MOST},
};
static const struct merged_number site_numbers[] = {
#define CS_SITE_NUMBER(name, merge, value) {#name, merge},
#include "account/summary_numbers.def"
#undef CS_SITE_NUMBER
};
static const struct merged_number passed_numbers[] = {{"calls", SUM}};

static const char *const run_texts[] = {"process.program",   "process.script",  "process.command",
                                        "versions.convshim", "versions.vendor", "device.name",
                                        "config.source",     "bypass",          "advice"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Merges numbers of `from` into those of `to`. A number that `to` lacks stays absent. */
static void merge_numbers(cJSON *to, const cJSON *from, const struct merged_number *number,
                          size_t numbers)
{
    for (size_t i = 0; i < numbers; i++) {
        const double other = cs_json_double(from, number[i].way);
        cJSON *own = member_at(to, number[i].way);
        if (cJSON_IsNumber(own))
            own->valuedouble = number[i].merge == SUM    ? own->valuedouble + other
                               : number[i].merge == MOST ? fmax(own->valuedouble, other)
                                                         : fmin(own->valuedouble, other);
    }
}

static void merge_text(cJSON *to, const cJSON *from)
{
    const char *other = cJSON_GetStringValue(from);
    if (cJSON_IsString(to) && (!other || strcmp(to->valuestring, other) != 0))
        cJSON_SetValuestring(to, "(various)");
}

/* Returns the element of a list with this id. NULL: there is none. */
static cJSON *find_element(const cJSON *list, const char *id)
{
    cJSON *element;
    cJSON_ArrayForEach(element, list)
    {
        if (strcmp(cs_json_text_at(element, "id", ""), id) == 0)
            return element;
    }
    return NULL;
}

/* Moves the elements of a list to another one, in which elements of one id become one, and deletes
 * the list. An element without a reason, a tiled site, stays without. */
static void merge_list(cJSON *to, cJSON *from, const struct merged_number *number, size_t numbers)
{
    while (from && from->child) {
        cJSON *element = cJSON_DetachItemViaPointer(from, from->child);
        cJSON *same = find_element(to, cs_json_text_at(element, "id", ""));
        if (!same) {
            cs_json_add(to, NULL, element);
            continue;
        }
        merge_numbers(same, element, number, numbers);
        if (!cs_json_text(element, "reason"))
            cJSON_DeleteItemFromObjectCaseSensitive(same, "reason");
        cJSON_Delete(element);
    }
    cJSON_Delete(from);
}

/* Merges the numbers, texts, options and reasons of the run `from` into `to`. */
static void merge_runs(cJSON *to, cJSON *from)
{
    const cJSON *others = cs_json_at(from, "config.options");
    cJSON *option;
    merge_numbers(to, from, run_numbers, LENGTH(run_numbers));
    for (size_t i = 0; i < LENGTH(run_texts); i++)
        merge_text(member_at(to, run_texts[i]), cs_json_at(from, run_texts[i]));
    cJSON_ArrayForEach(option, cs_json_at(to, "config.options"))
    {
        merge_text(option, cJSON_GetObjectItemCaseSensitive(others, option->string));
    }
    merge_list(member_at(to, "totals.not_tiled"),
               cJSON_DetachItemFromObjectCaseSensitive(member_at(from, "totals"), "not_tiled"),
               passed_numbers, LENGTH(passed_numbers));
}

bool cs_summary_add(cJSON **all_p, cJSON *run)
{
    cs_json_begin();
    cJSON *sites = cJSON_DetachItemFromObjectCaseSensitive(run, "sites");
    if (*all_p) {
        merge_runs(*all_p, run);
        cJSON_Delete(run);
    } else {
        *all_p = run;
        cs_json_add(run, "sites", cJSON_CreateArray());
    }
    merge_list(member_at(*all_p, "sites"), sites, site_numbers, LENGTH(site_numbers));
    return cs_json_complete();
}

/* --- rows of tables --- */

void cs_summary_row(const cJSON *object, const struct cs_column *column, const char *const *way,
                    int columns, struct cs_value *row)
{
    for (int i = 0; i < columns; i++)
        if (way[i])
            row[i] = (struct cs_value){
                .text = column[i].cell == CS_CELL_TEXT ? cs_json_text(object, way[i]) : NULL,
                .number = cs_json_whole_at(object, way[i], -1)};
}
