/* `convshim simulate`: runs a program on a simulated GPU without and with the library, and reports
 * the memory that it used. */
#include "cli/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/preset.h"
#include "cli/layers/device_files.h"
#include <stdio.h>
#include <string.h>

enum {
    MOST_DEVICES = 32
};

/* All simulations of one program: a pair of runs for each device. */
struct answer {
    struct cs_device_file device[MOST_DEVICES];
    struct cs_simulated_pair pair[MOST_DEVICES];
    size_t devices;
};

/* Prints the end of a failed program's output, which contains the error. A run that is short of
 * memory is a result.
 */
static void show_output(const struct cs_simulated_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_result *result = &pair->result[side];
        if (!pair->chosen[side] || cs_simulated_result_ran(result) ||
            cs_simulated_result_out_of_memory(result))
            continue;
        cs_cli_complain("simulate: the last output of the program %s convshim:",
                        cs_side_names[side]);
        if (!cs_simulated_result_output(&pair->run[side], stderr))
            fputs("(nothing)\n", stderr);
        return;
    }
}

/* --fits is decided by the run with the library, if there is one. */
static bool is_good(const struct cs_simulated_pair *pair, bool fits)
{
    const enum cs_side judged = pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT;
    if (fits)
        return cs_simulated_result_fits(&pair->result[judged]) && pair->result[judged].planned;
    bool good = true;
    for (int side = 0; side < CS_SIDES; side++)
        good = good && (!pair->chosen[side] || (cs_simulated_result_ran(&pair->result[side]) &&
                                                pair->result[side].planned));
    return good;
}

static bool print(const struct cs_simulation *simulation, const struct cs_simulate_options *options,
                  const struct answer *answer)
{
    if (options->devices)
        return cs_simulate_print_devices(simulation, answer->pair, answer->devices,
                                         options->format);
    return cs_simulate_print(simulation, &answer->pair[0], options->fits, options->format);
}

static int simulate(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                    struct answer *answer)
{
    for (size_t i = 0; i < answer->devices; i++)
        answer->pair[i] = (struct cs_simulated_pair){
            .device = &answer->device[i],
            .capacity = options->capacity,
            .history = options->html != NULL,
            .chosen = {options->side[CS_WITHOUT], options->side[CS_WITH]}};
    bool ran = cs_simulated_pairs_run(simulation, answer->pair, answer->devices) &&
               (!options->smallest ||
                cs_simulated_pairs_smallest(simulation, answer->pair, answer->devices));
    bool printed = ran && print(simulation, options, answer);
    if (ran && !printed)
        cs_cli_complain("out of memory");
    bool good = printed &&
                (!options->html || cs_simulate_html(simulation, &answer->pair[0], options->html));
    for (size_t i = 0; i < answer->devices; i++) {
        struct cs_simulated_pair *pair = &answer->pair[i];
        if (options->keep && options->side[CS_WITHOUT] && options->side[CS_WITH])
            cs_simulated_result_add_peaks(&pair->run[CS_WITH], &pair->result[CS_WITHOUT],
                                          &pair->result[CS_WITH]);
        if (printed && i == 0)
            show_output(&answer->pair[i]);
        good = good && is_good(&answer->pair[i], options->fits);
        cs_simulated_pair_free(&answer->pair[i]);
    }
    return good ? CS_CLI_OK : CS_CLI_NO;
}

/* Loads the device of a name, or of each in a list. */
static bool load_devices(const struct cs_simulate_options *options, struct answer *answer)
{
    char error[CS_DEVICE_FILE_ERROR], name[PATH_MAX];
    for (const char *at = options->devices ? options->devices : options->device; *at;) {
        size_t length = options->devices ? strcspn(at, ",") : strlen(at);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        if (answer->devices == MOST_DEVICES) {
            cs_cli_complain("simulate: --devices: at most %d devices are allowed", MOST_DEVICES);
            return false;
        }
        if (!cs_device_file_load(name, NULL, &answer->device[answer->devices], error)) {
            cs_cli_complain("%s", error);
            return false;
        }
        answer->devices++;
    }
    if (answer->devices == 0)
        cs_cli_complain("simulate: --devices: the list is empty. To list all devices: convshim "
                        "simulate --device list");
    return answer->devices > 0;
}

/* Loads the preset and the devices that the options name. */
static bool take_names(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                       struct answer *answer)
{
    char error[CS_DATA_FILE_ERROR];
    if (!options->preset ||
        cs_preset_find(options->preset, simulation->preset, sizeof simulation->preset, error))
        return load_devices(options, answer);
    cs_cli_complain("%s", error);
    return false;
}

static int answer_question(const struct cs_simulate_options *options, char **command)
{
    static struct cs_simulation simulation; /* these two are too large for the stack */
    static struct answer answer;
    const bool many = options->capacity > 0 || options->devices || options->smallest,
               both = options->side[CS_WITHOUT] && options->side[CS_WITH];
    memset(&answer, 0, sizeof answer);
    simulation = (struct cs_simulation){.title = "simulate",
                                        .options = options->given,
                                        .jobs = options->jobs,
                                        .told_single = !many,
                                        .many = many || both,
                                        .shared = both};
    int status = CS_CLI_NO;
    if (!take_names(&simulation, options, &answer))
        status = CS_CLI_USAGE;
    else if (cs_simulated_program_find(&simulation.program, command, options->cudnn,
                                       options->cuda) &&
             cs_simulation_begin(&simulation, options->library, options->keep))
        status = simulate(&simulation, options, &answer);
    cs_simulation_end(&simulation);
    for (size_t i = 0; i < answer.devices; i++)
        cs_device_file_fini(&answer.device[i]);
    return status;
}

static int list_devices(enum cs_format format)
{
    char error[CS_DEVICE_FILE_ERROR];
    if (cs_device_files_list(NULL, format, error))
        return CS_CLI_OK;
    cs_cli_complain("%s", error);
    return CS_CLI_NO;
}

int cs_cli_simulate(int argc, char **argv)
{
    struct cs_simulate_options options;
    int operand, status = cs_simulate_options(argc, argv, &options, &operand);
    if (status >= 0) {
        cs_library_options_free(&options.given);
        return status;
    }
    if (strcmp(options.device, "list") == 0)
        return list_devices(options.format);
    return answer_question(&options, argv + operand);
}
