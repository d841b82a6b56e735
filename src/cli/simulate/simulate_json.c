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

static cJSON *gpus_json(const struct cs_simulated_pair *pair, enum cs_side side)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < pair->result[side].gpus; i++) {
        const struct cs_gpu_peaks *peaks = &pair->result[side].gpu[i];
        cJSON *one = cJSON_CreateObject();
        if (peaks->allocated >= 0)
            cJSON_AddNumberToObject(one, "allocated_peak", (double)peaks->allocated);
        if (peaks->reserved >= 0)
            cJSON_AddNumberToObject(one, "reserved_peak", (double)peaks->reserved);
        cJSON_AddNumberToObject(one, "device_peak", (double)peaks->device_peak);
        cJSON_AddNumberToObject(one, "needed", (double)peaks->needed);
        cs_json_add(list, NULL, one);
    }
    return list;
}

/* The memory held at the peak, by layer and line, as the page shows it. An empty list if there is
 * no report. NULL: memory is short, or the record cannot be read. */
static cJSON *contents_json(const struct cs_simulated_pair *pair, enum cs_side side)
{
    struct cs_timeline timeline[CS_SIDES] = {{.moments = 0}};
    struct cs_table table;
    const struct cs_simulated_result *with = &pair->result[CS_WITH];
    const bool named = pair->chosen[CS_WITH] && with->report;
    if (!pair->result[side].report)
        return cJSON_CreateArray();
    cJSON *list = NULL;
    if (cs_timeline_read(&pair->run[side], &pair->result[side], &timeline[side]) &&
        (side == CS_WITH || !named ||
         cs_timeline_read(&pair->run[CS_WITH], with, &timeline[CS_WITH]))) {
        const bool same = named && timeline[side].calls == timeline[CS_WITH].calls;
        if (cs_peak_table(&timeline[side], same ? &timeline[CS_WITH] : NULL, with->summary,
                          &table)) {
            list = table.broken ? NULL : cs_table_json(&table);
            cs_table_fini(&table);
        }
    }
    for (int i = 0; i < CS_SIDES; i++)
        cs_timeline_fini(&timeline[i]);
    return list;
}

static cJSON *side_json(const struct cs_simulated_pair *pair, enum cs_side side)
{
    const struct cs_simulated_result *result = &pair->result[side];
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
    cs_simulate_figures_json(result, object);
    if (pair->has_base[side]) {
        const struct cs_other_plans others = cs_simulated_pair_others(pair, side);
        cJSON_AddNumberToObject(object, "other_engines", (double)others.engines);
        cJSON_AddNumberToObject(object, "other_work", (double)others.work);
    }
    if (pair->smallest[side].runs > 0) {
        cJSON_AddNumberToObject(object, "smallest_capacity", (double)pair->smallest[side].runs);
        cJSON_AddNumberToObject(object, "smallest_capacity_same_engines",
                                (double)pair->smallest[side].engines);
    }
    const cJSON *unknown = cJSON_GetObjectItemCaseSensitive(result->framework_peaks, "unknown");
    if (unknown)
        cs_json_add(object, "unknown", cJSON_Duplicate(unknown, true));
    if (pair->gpus > 1)
        cs_json_add(object, "gpus", gpus_json(pair, side));
    if (pair->history)
        cs_json_add(object, "peak", contents_json(pair, side));
    return object;
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
        if (pair->chosen[side] && pair->result[side].report)
            cs_json_add(object, cs_side_names[side],
                        cJSON_Duplicate(pair->result[side].report, true));
    return object;
}

struct cJSON *cs_simulate_json(const struct cs_simulation *simulation,
                               const struct cs_simulated_pair *pair)
{
    const enum cs_side judged = pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
    char text[2 * MOST_TEXT];
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    add_fits(root, cs_simulate_fits(pair, judged, text, sizeof text));
    cJSON_AddStringToObject(root, "why", text);
    cs_json_add(root, "command", cs_simulate_command_json(simulation));
    cJSON_AddStringToObject(root, "device", pair->device->title);
    cJSON_AddNumberToObject(root, "memory", (double)cs_simulate_memory(pair));
    cJSON_AddNumberToObject(root, "context", (double)pair->context);
    cJSON_AddStringToObject(root, "planning", pair->result[judged].planning);
    cJSON_AddStringToObject(root, "cudnn", simulation->program.folder);
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            cs_json_add(root, cs_side_names[side], side_json(pair, (enum cs_side)side));
    const char *advice = cs_simulate_advice(&simulation->program, pair);
    if (advice)
        cJSON_AddStringToObject(root, "advice", advice);
    if (cs_simulate_why(pair, text, sizeof text))
        cJSON_AddStringToObject(root, "no_gain", text);
    cs_json_add(root, "files", cs_written_json(&simulation->layers));
    cs_json_add(root, "internals", internals_json(pair));
    return root;
}
