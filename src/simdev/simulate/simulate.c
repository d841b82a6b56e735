/* `convshim simulate`: runs a program on a simulated GPU without and with the library, and reports
 * the memory that it used. */
#include "simdev/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/data_files.h"
#include "cli/common/json_tree.h"
#include "cli/common/variables.h"
#include "simdev/simulate/temporary_folder.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* All simulations of one program: a pair of runs for each device. */
struct question {
    struct cs_device_file device[CS_MOST_DEVICES];
    struct cs_sim_pair pair[CS_MOST_DEVICES];
    size_t devices;
    cJSON *earlier; /* the answer of --baseline; NULL: it was not given */
};

void cs_sim_pair_show_output(const struct cs_sim_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_sim_outcome *outcome = &pair->run[side].outcome;
        if (!pair->chosen[side] || cs_sim_outcome_ran(outcome) ||
            cs_sim_outcome_out_of_memory(outcome))
            continue;
        cs_cli_complain("simulate: the last output of the program %s convshim:",
                        cs_side_names[side]);
        if (!cs_sim_outcome_output(&pair->run[side], stderr))
            fputs("(nothing)\n", stderr);
        return;
    }
}

/* Returns the exit status for a run. Without --fits (`checks`), it is enough that the run ends
 * well. */
static int status_of_run(const cJSON *run, bool checks)
{
    const cJSON *fits = cs_json_at(run, "fits");
    if (cJSON_IsNull(fits))
        return CS_CLI_NONE;
    const bool good = cJSON_IsTrue(fits) || (!checks && cJSON_IsTrue(cs_json_at(run, "ran")));
    return good ? CS_CLI_OK : CS_CLI_NO;
}

static int worse_of(int status, int other)
{
    return status > other ? status : other;
}

/* Returns the exit status for an answer. With --fits only one run counts: that with convshim, if it
 * was made. */
static int status_of(const cJSON *answer, bool checks)
{
    const cJSON *without = cs_json_at(answer, "without"), *with = cs_json_at(answer, "with");
    const int status = with ? status_of_run(with, checks) : CS_CLI_OK;
    return without && !(with && checks) ? worse_of(status, status_of_run(without, checks)) : status;
}

/* Prints the JSON of one answer, or of several as rows, and deletes it. False: memory is short. */
static bool print_json(const struct cs_simulation *simulation, cJSON *answers)
{
    cJSON *root;
    if (answers->child->next) {
        root = cJSON_CreateObject();
        cs_sim_rows_add(root, &simulation->program, answers, CS_ROWS_DEVICES);
    } else {
        root = cJSON_DetachItemFromArray(answers, 0);
        cs_json_add(root, "files", cs_private_layers_json(&simulation->layers));
    }
    return cs_json_print(root, stdout);
}

/* Prints the lines that the table of several devices has no column for: how the work differs, and
 * why the peak does not fall. */
static void print_sentences(const cJSON *answers)
{
    static const char *const member[] = {"work", "no_gain"}, *const label[] = {"work", "no gain"};
    const cJSON *answer;
    for (int i = 0; i < 2; i++) {
        cJSON_ArrayForEach(answer, answers)
        {
            const char *text = cs_json_text(answer, member[i]);
            if (text)
                printf("%s on %s: %s\n", label[i], cs_json_text(answer, "name"), text);
        }
    }
}

/* Prints the answers in the format of the options. False: memory is short. */
static bool print_results(const struct cs_simulation *simulation,
                          const struct cs_simulate_options *options, const struct cs_sim_pair *pair,
                          const cJSON *earlier, cJSON *answers)
{
    const bool csv = options->format == CS_FORMAT_CSV, several = answers->child->next != NULL;
    if (options->format == CS_FORMAT_JSON)
        return print_json(simulation, answers);
    if (!csv && !several)
        cs_sim_answer_print(simulation, pair, answers->child, options->checks);
    else if (!cs_sim_rows_print(answers, CS_ROWS_DEVICES, options->format))
        return false;
    if (several && !csv)
        printf("\nSimulated: kernels were counted, not computed. The sizes are from the cuDNN in "
               "%s.\nMemory includes the context, device peaks exclude it. Times are predicted, of "
               "convolutions only.\n",
               *simulation->program.folder ? simulation->program.folder
                                           : "no folder: NONE WAS FOUND");
    if (several && !csv)
        print_sentences(answers);
    if (earlier)
        cs_baseline_print(earlier, answers->child, csv ? stderr : stdout);
    return true;
}

int cs_sim_answers_show(const struct cs_simulation *simulation,
                        const struct cs_simulate_options *options, const struct cs_sim_pair *pair,
                        size_t pairs, const struct cJSON *earlier)
{
    int status = CS_CLI_OK;
    cs_json_begin();
    cJSON *answers = cJSON_CreateArray();
    for (size_t i = 0; i < pairs; i++) {
        cJSON *answer = cs_sim_answer(simulation, &pair[i], false);
        if (pairs > 1 || options->format == CS_FORMAT_CSV)
            cJSON_AddStringToObject(answer, "name", pair[i].device->name);
        if (pairs > 1 && cJSON_IsNull(cs_json_at(answer, "fits")))
            cs_cli_complain("simulate: %s: %s", pair[i].device->name, cs_json_text(answer, "why"));
        status = worse_of(status, status_of(answer, options->checks));
        cs_json_add(answers, NULL, answer);
    }
    if (earlier)
        status =
            worse_of(status, cs_baseline_compare(earlier, options->baseline, options->tolerance,
                                                 cJSON_GetArrayItem(answers, 0)));
    bool printed = cs_json_complete();
    if (printed && options->html &&
        !cs_sim_page_write(simulation, pair, answers->child, options->html))
        status = CS_CLI_NONE;
    printed = printed && print_results(simulation, options, pair, earlier, answers);
    if (!printed)
        cs_cli_complain("out of memory");
    cJSON_Delete(answers);
    return printed ? status : CS_CLI_NONE;
}

/* Returns the memory of the simulated GPU: that of --fits or --capacity, else the card's. If --fits
 * exceeds the card's memory, prints a line and returns the card's. */
static int64_t memory_for(const struct cs_simulate_options *options,
                          const struct cs_device_file *device)
{
    char bytes[CS_BYTES_TEXT];
    const int64_t given = options->fits > 0 ? options->fits : options->capacity;
    if (options->fits <= device->memory)
        return given > 0 ? given : device->memory;
    cs_cli_complain("simulate: %s has %s of usable memory, less than --fits. It is simulated with "
                    "that.",
                    device->title, cs_table_bytes_text(bytes, device->memory));
    return device->memory;
}

/* True if the output shows the contents of the peaks, as the page and the JSON do. */
static bool needs_history(const struct cs_simulate_options *options)
{
    return !options->varies &&
           (options->html || options->baseline || options->format == CS_FORMAT_JSON);
}

/* Runs the pairs of all devices, prints their answers and frees them. Returns the exit status. */
static int run_devices(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                       struct question *question)
{
    for (size_t i = 0; i < question->devices; i++)
        question->pair[i] = (struct cs_sim_pair){
            .device = &question->device[i],
            .memory = memory_for(options, &question->device[i]),
            .context = options->context >= 0 ? options->context : question->device[i].context,
            .gpus = options->gpus,
            .history = question->devices == 1 && needs_history(options),
            .chosen = {options->side[CS_WITHOUT], options->side[CS_WITH]}};
    if (options->varies)
        return cs_vary_run(simulation, options, &question->pair[0]);
    bool ran = cs_sim_pairs_run(simulation, question->pair, question->devices) &&
               (question->devices > 1 || cs_sim_pair_record(simulation, question->pair)) &&
               (!options->smallest ||
                cs_sim_pairs_smallest(simulation, question->pair, question->devices));
    ran = ran || (cs_interrupted() && cs_sim_pairs_take_ended(question->pair, question->devices));
    int status = ran ? cs_sim_answers_show(simulation, options, question->pair, question->devices,
                                           question->earlier)
                     : CS_CLI_NONE;
    if (ran)
        cs_sim_pair_show_output(&question->pair[0]);
    for (size_t i = 0; i < question->devices; i++)
        cs_sim_pair_free(&question->pair[i]);
    return status;
}

/* Loads the device profiles that --device names. False after printing the reason. */
static bool load_devices(const struct cs_simulate_options *options, struct question *question)
{
    char error[CS_DEVICE_FILE_ERROR], name[PATH_MAX];
    for (const char *at = options->device; *at;) {
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        if (question->devices == CS_MOST_DEVICES) {
            cs_cli_complain("simulate: --device: at most %d names are allowed", CS_MOST_DEVICES);
            return false;
        }
        if (!cs_device_file_load(name, NULL, &question->device[question->devices], error)) {
            cs_cli_complain("%s", error);
            return false;
        }
        question->devices++;
    }
    if (question->devices == 0)
        cs_cli_complain("simulate: --device: the name is empty. To list all: convshim simulate "
                        "--device list");
    return question->devices > 0;
}

/* Loads the preset, the earlier answer and the devices that the options name. */
static bool take_names(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                       struct question *question)
{
    char error[CS_DATA_FILE_ERROR];
    if (options->preset &&
        !cs_preset_find(options->preset, simulation->preset, sizeof simulation->preset, error)) {
        cs_cli_complain("%s", error);
        return false;
    }
    if (options->baseline)
        question->earlier = cs_baseline_read(options->baseline);
    return (question->earlier || !options->baseline) && load_devices(options, question);
}

/* Finds the program, simulates it and prints the question. Returns the exit status. */
static int answer_question(const struct cs_simulate_options *options, char **command)
{
    static struct cs_simulation simulation; /* these two are too large for the stack */
    static struct question question;
    const bool many = options->capacity > 0 || options->checks || options->varies ||
                      options->smallest || strchr(options->device, ','),
               both = options->side[CS_WITHOUT] && options->side[CS_WITH];
    memset(&question, 0, sizeof question);
    simulation = (struct cs_simulation){.title = "simulate",
                                        .options = options->given,
                                        .jobs = options->jobs,
                                        .forks = many || both,
                                        .shared = both};
    int status = CS_CLI_NONE;
    if (!take_names(&simulation, options, &question))
        status = CS_CLI_USAGE;
    else if (cs_sim_program_find(&simulation.program, command, options->cudnn, options->cuda) &&
             cs_simulation_begin(&simulation, options->library, options->keep))
        status = run_devices(&simulation, options, &question);
    cs_simulation_end(&simulation);
    cJSON_Delete(question.earlier);
    for (size_t i = 0; i < question.devices; i++)
        cs_device_file_fini(&question.device[i]);
    return status;
}

int cs_cli_simulate(int argc, char **argv)
{
    struct cs_simulate_options options;
    int operand, status = cs_simulate_options(argc, argv, &options, &operand);
    if (status >= 0) {
        cs_child_variables_free(&options.given);
        return status;
    }
    if (options.preset && strcmp(options.preset, "list") == 0)
        return cs_preset_list() ? CS_CLI_OK : CS_CLI_USAGE;
    if (strcmp(options.device, "list") == 0)
        return cs_device_files_list("simulate", NULL, options.format);
    return answer_question(&options, argv + operand);
}
