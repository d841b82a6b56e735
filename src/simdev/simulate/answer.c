/* The answer of a pair of runs as JSON. docs/simulate-json.md lists its members. */
#include "simdev/simulate/simulate.h"

#include "base/text.h"
#include "cli/common/json_tree.h"
#include "cli/program/command_facts.h"
#include <cjson/cJSON.h>

enum {
    MOST_TEXT = 1536
};

int64_t cs_sim_answer_number(const struct cJSON *answer, enum cs_side side, const char *member)
{
    return cs_json_whole_at(cs_json_at(answer, cs_side_names[side]), member, -1);
}

struct cJSON *cs_sim_program_command(const struct cs_sim_program *program)
{
    cJSON *command = cJSON_CreateArray();
    for (char **word = program->command; *word; word++)
        cs_json_add(command, NULL, cJSON_CreateString(*word));
    return command;
}

/* --- a run --- */

/* Adds the known figures of a run. */
static void add_figures(cJSON *object, const struct cs_sim_outcome *r)
{
    const int64_t value[CS_FIGURES] = {
#define CS_FIGURE(name, title, column, tables, cell, value) value,
#include "simdev/simulate/figures.def"
#undef CS_FIGURE
    };
    for (int i = 0; i < CS_FIGURES; i++)
        if (r->used && value[i] >= 0)
            cJSON_AddNumberToObject(object, cs_figures[i].name, (double)value[i]);
}

static cJSON *processes_json(const struct cs_sim_outcome *outcome)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < outcome->processes && i < SIMDEV_MOST_PROCESSES; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "pid", (double)outcome->process[i].pid);
        cJSON_AddNumberToObject(one, "device_peak", (double)outcome->process[i].device_peak);
        cJSON_AddNumberToObject(one, "convolution_launches", (double)outcome->process[i].launches);
        cJSON_AddBoolToObject(one, "reported", outcome->process[i].reported);
        cs_json_add(list, NULL, one);
    }
    return list;
}

static cJSON *gpus_json(const struct cs_sim_outcome *outcome)
{
    cJSON *list = cJSON_CreateArray();
    for (int gpu = 0; gpu < outcome->gpus; gpu++) {
        cJSON *one = cJSON_CreateObject();
        for (int i = 0; i < CS_PEAKS; i++)
            if (outcome->gpu[gpu][i] >= 0)
                cJSON_AddNumberToObject(one, cs_figures[i].name, (double)outcome->gpu[gpu][i]);
        cs_json_add(list, NULL, one);
    }
    return list;
}

/* Adds whether that side fits: true, false, or null without an answer. `why`: the name of the
 * member with the sentence. */
static void add_fits(cJSON *object, const struct cs_sim_program *program,
                     const struct cs_sim_pair *pair, enum cs_side side, const char *why)
{
    static const char *const names[] = {"yes", "adapts", "may fail", "no", "no answer"};
    char line[MOST_TEXT];
    struct cs_text text = {line, sizeof line, 0};
    const enum cs_sim_fit answer = cs_sim_answer_fits(program, pair, side, &text);
    if (answer == CS_SIM_FIT_NONE)
        cJSON_AddNullToObject(object, "fits");
    else
        cJSON_AddBoolToObject(object, "fits", answer != CS_SIM_FIT_NO);
    cJSON_AddStringToObject(object, "answer", names[answer]);
    cJSON_AddStringToObject(object, why, line);
}

/* Returns the member of the outcome for one side. `spare` as in cs_sim_answer. */
static cJSON *side_json(const struct cs_sim_program *program, const struct cs_sim_pair *pair,
                        enum cs_side side, bool spare)
{
    const struct cs_sim_outcome *outcome = &pair->run[side].outcome;
    char line[MOST_TEXT];
    struct cs_text verdict = {line, sizeof line, 0};
    cJSON *object = cJSON_CreateObject();
    cs_sim_answer_verdict(program, pair, side, &verdict);
    cJSON_AddBoolToObject(object, "ran", cs_sim_outcome_ran(outcome));
    cJSON_AddNumberToObject(object, "status", outcome->status);
    cJSON_AddStringToObject(object, "verdict", line);
    cJSON_AddStringToObject(object, "planning", outcome->planning);
    cJSON_AddStringToObject(object, "framework", outcome->framework);
    add_fits(object, program, pair, side, "fits_why");
    if (outcome->processes > 1)
        cs_json_add(object, "processes", processes_json(outcome));
    cJSON_AddNumberToObject(object, "seconds", outcome->seconds);
    const struct cs_sim_outcome *shown = spare ? cs_sim_pair_base(pair, side) : outcome;
    if (!spare || cs_sim_outcome_ran(shown))
        add_figures(object, shown);
    if (pair->base[side].name) {
        const struct cs_sim_outcome *base = &pair->base[side].outcome;
        const struct cs_sim_work work = cs_sim_work_compare(outcome, base);
        cJSON_AddNumberToObject(object, "other_engines",
                                (double)cs_sim_outcome_other_engines(outcome, base));
        cJSON_AddNumberToObject(object, "other_work", (double)(work.more + work.less));
    }
    const cJSON *unknown = cs_json_at(outcome->framework_peaks, "unknown");
    if (unknown)
        cs_json_add(object, "unknown", cJSON_Duplicate(unknown, true));
    if (pair->gpus > 1)
        cs_json_add(object, "gpus", gpus_json(outcome));
    return object;
}

/* --- a pair --- */

/* Adds the contents of the peaks, by layer and line. The list is empty if the run has no record. */
static void add_peaks(const struct cs_sim_pair *pair, cJSON *root)
{
    struct cs_timelines timelines;
    const bool read = cs_timelines_read(pair, &timelines);
    for (int side = 0; side < CS_SIDES; side++) {
        cJSON *run = cJSON_GetObjectItem(root, cs_side_names[side]);
        if (run)
            cs_json_add(run, "peak",
                        read ? cs_timelines_peak(&timelines, (enum cs_side)side) : NULL);
    }
    if (read)
        cs_timelines_fini(&timelines);
}

/* Returns the convolutions of the summary, with their engines and workspaces. */
static cJSON *convolutions_json(const cJSON *summary)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *site;
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        const char *text = cs_json_text(site, "problem.text");
        if (!text || cs_json_whole_at(site, "calls", 0) <= 0)
            continue;
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "of", text);
        cJSON_AddNumberToObject(one, "calls", cs_json_double(site, "calls"));
        cJSON_AddNumberToObject(one, "engine", cs_json_double(site, "engine"));
        cJSON_AddNumberToObject(one, "required", cs_json_double(site, "required"));
        cJSON_AddNumberToObject(one, "reported", cs_json_double(site, "reported"));
        cs_json_add(list, NULL, one);
    }
    return list;
}

struct cJSON *cs_sim_answer(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                            bool spare)
{
    const struct cs_sim_program *program = &simulation->program;
    const enum cs_side judged = cs_sim_pair_judged(pair);
    char line[MOST_TEXT] = "", work_line[MOST_TEXT] = "";
    struct cs_text why = {line, sizeof line, 0}, work = {work_line, sizeof work_line, 0};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "version", CS_SIMULATE_JSON_VERSION);
    add_fits(root, program, pair, judged, "why");
    cs_json_add(root, "command", cs_sim_program_command(program));
    cJSON_AddStringToObject(root, "device", pair->device->title);
    cJSON_AddNumberToObject(root, "memory", (double)pair->memory);
    cJSON_AddNumberToObject(root, "context", (double)pair->context);
    cJSON_AddStringToObject(root, "planning", pair->run[judged].outcome.planning);
    cJSON_AddStringToObject(root, "cudnn", program->folder);
    cJSON *options = cs_command_changed_options(pair->run[CS_WITH].outcome.summary);
    if (options)
        cs_json_add(root, "options", options);
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            cs_json_add(root, cs_side_names[side],
                        side_json(program, pair, (enum cs_side)side, spare));
    if (pair->history || pair->recorded.name)
        add_peaks(pair, root);
    if (pair->history && pair->run[CS_WITH].outcome.summary)
        cs_json_add(root, "convolutions", convolutions_json(pair->run[CS_WITH].outcome.summary));
    const char *advice = cs_sim_answer_advice(program, pair);
    if (advice)
        cJSON_AddStringToObject(root, "advice", advice);
    cs_sim_answer_work(pair, &work);
    if (work.length > 0)
        cJSON_AddStringToObject(root, "work", work_line);
    cs_sim_answer_why(pair, cs_json_at(root, "with.peak"), &why);
    if (why.length > 0)
        cJSON_AddStringToObject(root, "no_gain", line);
    cs_json_add(root, "notes", cs_sim_answer_notes(pair));
    return root;
}
