/* The JSON of a simulation; docs/simulate.md lists its members. */
#include "cli/simulate/simulate.h"

#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>

enum {
    MOST_TEXT = 768
};

static cJSON *processes_json(const struct cs_simulated_result *result)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < result->processes && i < CS_MOST_PROCESSES; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "pid", (double)result->process[i].pid);
        cJSON_AddNumberToObject(one, "device_peak", (double)result->process[i].device_peak);
        cJSON_AddNumberToObject(one, "convolution_launches", (double)result->process[i].launches);
        cJSON_AddBoolToObject(one, "reported", result->process[i].reported);
        cs_json_add(list, NULL, one);
    }
    return list;
}

/* "fits": true, false, or null without an answer. */
static void add_fits(cJSON *object, enum cs_answer answer)
{
    if (answer == CS_ANSWER_NONE)
        cJSON_AddNullToObject(object, "fits");
    else
        cJSON_AddBoolToObject(object, "fits", answer != CS_ANSWER_NO);
    cJSON_AddStringToObject(object, "answer", cs_answer_names[answer]);
}

static cJSON *gpus_json(const struct cs_simulated_result *result)
{
    cJSON *list = cJSON_CreateArray();
    for (int gpu = 0; gpu < result->gpus; gpu++) {
        cJSON *one = cJSON_CreateObject();
        for (int i = 0; i < CS_PEAKS; i++)
            if (result->gpu[gpu][i] >= 0)
                cJSON_AddNumberToObject(one, cs_figures[i].name, (double)result->gpu[gpu][i]);
        cs_json_add(list, NULL, one);
    }
    return list;
}

static cJSON *side_json(const struct cs_simulated_pair *pair, enum cs_side side)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    int64_t value[CS_FIGURES][CS_SIDES];
    char text[MOST_TEXT];
    cJSON *object = cJSON_CreateObject();
    cs_simulate_verdict(pair, side, text, sizeof text);
    cJSON_AddBoolToObject(object, "ran", cs_simulated_result_ran(result));
    cJSON_AddNumberToObject(object, "status", result->status);
    cJSON_AddStringToObject(object, "verdict", text);
    cJSON_AddStringToObject(object, "planning", result->planning);
    cJSON_AddStringToObject(object, "framework", result->framework);
    add_fits(object, cs_simulate_fits(pair, side, text, sizeof text));
    cJSON_AddStringToObject(object, "fits_why", text);
    cJSON_AddNumberToObject(object, "capacity", (double)result->capacity);
    if (result->processes > 1)
        cs_json_add(object, "processes", processes_json(result));
    cJSON_AddNumberToObject(object, "seconds", result->seconds);
    cs_simulate_figures(pair, false, value);
    for (int i = 0; i < CS_FIGURES; i++)
        if (value[i][side] >= 0)
            cJSON_AddNumberToObject(object, cs_figures[i].name, (double)value[i][side]);
    if (pair->base[side].name) {
        const struct cs_other_plans others = cs_simulated_pair_others(pair, side);
        cJSON_AddNumberToObject(object, "other_engines", (double)others.engines);
        cJSON_AddNumberToObject(object, "other_work", (double)others.work);
    }
    if (pair->smallest[side].runs > 0) {
        cJSON_AddNumberToObject(object, "smallest_capacity", (double)pair->smallest[side].runs);
        cJSON_AddNumberToObject(object, "smallest_capacity_same_engines",
                                (double)pair->smallest[side].engines);
    }
    const cJSON *unknown = cs_json_at(result->framework_peaks, "unknown");
    if (unknown)
        cs_json_add(object, "unknown", cJSON_Duplicate(unknown, true));
    if (pair->gpus > 1)
        cs_json_add(object, "gpus", gpus_json(result));
    return object;
}

/* Adds the memory held at the peaks, by layer and line, as the page shows it. The list is empty if
 * the run has no timeline. */
static void add_contents(const struct cs_simulated_pair *pair, cJSON *root)
{
    struct cs_timelines timelines;
    struct cs_table table;
    const bool read = cs_timelines_read(pair, &timelines);
    for (int side = 0; side < CS_SIDES; side++) {
        cJSON *run = cJSON_GetObjectItem(root, cs_side_names[side]), *list = NULL;
        if (!run)
            continue;
        if (read && !timelines.has[side])
            list = cJSON_CreateArray();
        else if (read && cs_timelines_peak(&timelines, pair, (enum cs_side)side, &table)) {
            list = cs_table_json(&table);
            cs_table_fini(&table);
        }
        cs_json_add(run, "peak", list);
    }
    if (read)
        cs_timelines_fini(&timelines);
}

struct cJSON *cs_simulate_command_json(const struct cs_simulation *simulation)
{
    cJSON *command = cJSON_CreateArray();
    for (char **word = simulation->program.command; command && *word; word++)
        cs_json_add(command, NULL, cJSON_CreateString(*word));
    return command;
}

/* The reports of the simulated GPU: their members may change. */
static cJSON *internals_json(const struct cs_simulated_pair *pair)
{
    cJSON *object = cJSON_CreateObject();
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side] && pair->run[side].result.report)
            cs_json_add(object, cs_side_names[side],
                        cJSON_Duplicate(pair->run[side].result.report, true));
    return object;
}

struct cJSON *cs_simulate_json(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair)
{
    const enum cs_side judged = cs_simulated_pair_judged(pair);
    char text[2 * MOST_TEXT];
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    add_fits(root, cs_simulate_fits(pair, judged, text, sizeof text));
    cJSON_AddStringToObject(root, "why", text);
    cs_json_add(root, "command", cs_simulate_command_json(simulation));
    cJSON_AddStringToObject(root, "device", pair->device->title);
    cJSON_AddNumberToObject(root, "memory", (double)cs_simulate_memory(pair));
    cJSON_AddNumberToObject(root, "context", (double)pair->context);
    cJSON_AddStringToObject(root, "planning", pair->run[judged].result.planning);
    cJSON_AddStringToObject(root, "cudnn", simulation->program.folder);
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            cs_json_add(root, cs_side_names[side], side_json(pair, (enum cs_side)side));
    if (pair->history)
        add_contents(pair, root);
    const char *advice = cs_simulate_advice(&simulation->program, pair);
    if (advice)
        cJSON_AddStringToObject(root, "advice", advice);
    if (cs_simulate_why(pair, text, sizeof text))
        cJSON_AddStringToObject(root, "no_gain", text);
    cs_json_add(root, "files", cs_written_json(&simulation->layers));
    cs_json_add(root, "internals", internals_json(pair));
    return root;
}

/* --- CSV --- */

/* The text of a number or a text. NULL: it is absent. */
static const char *text_of(const cJSON *item, char number[CS_CELL_TEXT_BYTES])
{
    if (!cJSON_IsNumber(item))
        return cJSON_GetStringValue(item);
    snprintf(number, CS_CELL_TEXT_BYTES, "%.0f", item->valuedouble);
    return number;
}

static void add_row(struct cs_table *table, const char *name, cJSON *const side[CS_SIDES],
                    const char *member)
{
    char number[CS_SIDES][CS_CELL_TEXT_BYTES];
    struct cs_value row[1 + CS_SIDES] = {{.text = name}};
    for (int i = 0; i < CS_SIDES; i++)
        row[1 + i].text = text_of(cs_json_at(side[i], member), number[i]);
    cs_table_add(table, row);
}

bool cs_simulate_print_csv(const struct cs_simulated_pair *pair)
{
    static const struct cs_column columns[] = {
        {"figure", "", CS_CELL_TEXT}, {"without", "", CS_CELL_TEXT}, {"with", "", CS_CELL_TEXT}};
    cJSON *side[CS_SIDES] = {NULL};
    struct cs_table table;
    cs_json_begin();
    for (int i = 0; i < CS_SIDES; i++)
        side[i] = pair->chosen[i] ? side_json(pair, (enum cs_side)i) : NULL;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < CS_FIGURES; i++)
        add_row(&table, cs_figures[i].name, side, cs_figures[i].name);
    if (cs_json_at(side[CS_WITHOUT], "smallest_capacity") ||
        cs_json_at(side[CS_WITH], "smallest_capacity")) {
        add_row(&table, "smallest_capacity", side, "smallest_capacity");
        add_row(&table, "smallest_capacity_same_engines", side, "smallest_capacity_same_engines");
    }
    add_row(&table, "fits", side, "answer");
    add_row(&table, "status", side, "status");
    add_row(&table, "verdict", side, "verdict");
    const bool printed = cs_json_complete() && cs_table_print(&table, CS_FORMAT_CSV, stdout);
    cs_table_fini(&table);
    for (int i = 0; i < CS_SIDES; i++)
        cJSON_Delete(side[i]);
    return printed;
}
