/* `convshim simulate`: runs a program on a simulated GPU without and with the library, and tells
 * what memory it took. */
#include "cli/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/predict/device_files.h"
#include "cli/run/preset.h"
#include <string.h>

/* More than any device has: a run that was short of memory is compared with one that is not. */
static const int64_t plenty = (int64_t)1 << 44;

static const char *const names[CS_SIDES] = {"without", "with"};

static bool read_all(const struct cs_simulated_run *run, const bool *chosen,
                     struct cs_simulated_result *result)
{
    bool good = true;
    for (int side = 0; side < CS_SIDES && good; side++)
        good = !chosen[side] || cs_simulated_result_read(&run[side], &result[side]);
    return good;
}

/* Runs the chosen sides at once. */
static bool run_sides(struct cs_simulation *simulation, struct cs_simulated_run *run,
                      const bool *chosen)
{
    struct cs_simulated_run list[CS_SIDES];
    size_t count = 0;
    for (int side = 0; side < CS_SIDES; side++)
        if (chosen[side])
            list[count++] = run[side];
    bool good = cs_simulation_run(simulation, list, count);
    count = 0;
    for (int side = 0; side < CS_SIDES; side++)
        if (chosen[side])
            run[side] = list[count++];
    return good;
}

static bool was_short(const struct cs_simulated_result *result)
{
    return result->refused > 0 && cs_simulated_result_ran(result);
}

static bool run_pair(struct cs_simulation *simulation, struct cs_simulated_pair *pair)
{
    if (!run_sides(simulation, pair->run, pair->chosen) ||
        !read_all(pair->run, pair->chosen, pair->result))
        return false;
    for (int side = 0; side < CS_SIDES; side++) {
        pair->has_base[side] = pair->chosen[side] && was_short(&pair->result[side]);
        pair->base_run[side] = pair->run[side];
        pair->base_run[side].capacity = plenty;
    }
    return run_sides(simulation, pair->base_run, pair->has_base) &&
           read_all(pair->base_run, pair->has_base, pair->base);
}

static void free_pair(struct cs_simulated_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++) {
        cs_simulated_result_free(&pair->result[side]);
        cs_simulated_result_free(&pair->base[side]);
    }
}

/* What the program said, where it says why it failed; a run that is short of memory is an answer.
 */
static void show_output(const struct cs_simulated_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_result *result = &pair->result[side];
        if (!pair->chosen[side] || cs_simulated_result_ran(result) ||
            cs_simulated_result_out_of_memory(result))
            continue;
        cs_cli_complain("simulate: the end of what the program printed %s the library:",
                        names[side]);
        if (!cs_simulated_result_output(&pair->run[side], stderr))
            fputs("(nothing)\n", stderr);
        return;
    }
}

static bool is_good(const struct cs_simulated_pair *pair)
{
    bool good = true;
    for (int side = 0; side < CS_SIDES; side++)
        good = good && (!pair->chosen[side] || (cs_simulated_result_ran(&pair->result[side]) &&
                                                pair->result[side].planned));
    return good;
}

static int simulate(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                    const struct cs_device_file *device)
{
    struct cs_simulated_pair pair = {.chosen = {options->side[CS_WITHOUT], options->side[CS_WITH]}};
    for (int side = 0; side < CS_SIDES; side++)
        pair.run[side] = (struct cs_simulated_run){.name = names[side],
                                                   .profile = device->path,
                                                   .capacity = options->capacity,
                                                   .with = side == CS_WITH};
    bool ran = run_pair(simulation, &pair);
    bool printed = ran && cs_simulate_print(simulation, device, &pair, options->format);
    if (printed)
        show_output(&pair);
    else if (ran)
        cs_cli_complain("out of memory");
    int status = printed && is_good(&pair) ? CS_CLI_OK : CS_CLI_NO;
    free_pair(&pair);
    return status;
}

/* The parts of a simulation that are asked for by name. */
static bool take_names(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                       struct cs_device_file *device)
{
    char error[CS_DEVICE_FILE_ERROR];
    if (options->preset &&
        !cs_preset_find(options->preset, simulation->preset, sizeof simulation->preset, error)) {
        cs_cli_complain("%s", error);
        return false;
    }
    if (cs_device_file_load(options->device, NULL, device, error))
        return true;
    cs_cli_complain("%s", error);
    return false;
}

static int answer(const struct cs_simulate_options *options, char **command)
{
    static struct cs_simulation simulation; /* too large for the stack */
    struct cs_device_file device = {.text = NULL};
    simulation = (struct cs_simulation){
        .title = "simulate", .options = options->given, .jobs = options->jobs};
    int status = CS_CLI_NO;
    if (!take_names(&simulation, options, &device))
        status = CS_CLI_USAGE;
    else if (cs_simulated_program_find(&simulation.program, command, options->cudnn,
                                       options->cuda) &&
             cs_simulation_begin(&simulation, options->library, options->keep))
        status = simulate(&simulation, options, &device);
    cs_simulation_end(&simulation);
    cs_device_file_fini(&device);
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
    return answer(&options, argv + operand);
}
