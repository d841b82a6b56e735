/* The options of `convshim simulate`, its own and those of the library. */
#include "simdev/simulate/simulate.h"

#include "cli/common/cli.h"
#include "cli/common/output.h"
#include <string.h>

#define CS_CLI_TARGET struct cs_simulate_options
#define CS_CLI_LIBRARY
#define CS_CLI_OPTIONS "simdev/simulate/simulate_options.def"
#include "cli/common/command_options.def"
#include "cli/common/variables.h"

static const struct cs_cli_command command = {
    .name = "simulate",
    .usage = "convshim simulate [options] [--] COMMAND [ARGUMENT...]\n"
             "       convshim simulate --device list",
    .about = "Runs COMMAND, unchanged, on a simulated GPU, without and with convshim, and\n"
             "shows its memory. No GPU is needed.\n\n"
             "COMMAND really runs, twice or more. Kernels are counted, not computed, so files\n"
             "that it saves hold zeros. They go to private layers over your folders, and are\n"
             "listed at the end. Files in caches and in /tmp are really written, unless an\n"
             "argument names a folder there. If the system allows no layer, a line reports\n"
             "that before the first run.\n\n"
             "The output of COMMAND is shown only if it fails.\n\n"
             "Status: 0 if COMMAND runs (--fits: it fits), 1 if memory is too small, 2 if the\n"
             "command line is wrong, 3 if there is no answer: COMMAND fails for another reason or\n"
             "does not use the GPU, no real cuDNN plans, or an output cannot be written.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
    .stops = true,
};
const struct cs_cli_command *const cs_cli_command_simulate = &command;

static bool take_only(struct cs_simulate_options *to, const char *value)
{
    bool without = strcmp(value, "without") == 0, with = strcmp(value, "with") == 0;
    to->side[CS_WITHOUT] = without;
    to->side[CS_WITH] = with;
    return without || with || cs_cli_refuse_value(&command, OPTION_ONLY, value, "without or with");
}

/* Reads the value of --context. Unlike other sizes it may be 0. */
static bool take_context(struct cs_simulate_options *to, const char *value)
{
    return (cs_cli_size(value, &to->context) && to->context == 0) ||
           cs_cli_take_size(&command, OPTION_CONTEXT, value, "a size such as 8GiB", &to->context);
}

static bool take_vary(struct cs_simulate_options *to, const char *value)
{
    const char *why = cs_vary_parse(value, &to->vary);
    if (why)
        cs_cli_refuse(command.name, "--vary '%s': %s", value, why);
    return !why;
}

static bool take_option(void *ctx, int option, const char *value)
{
    struct cs_simulate_options *to = ctx;
    switch (option) {
    case OPTION_CONTEXT:
        return take_context(to, value);
    case OPTION_FITS:
        to->checks = true;
        return strcmp(value, "card") == 0 ||
               cs_cli_take_size(&command, option, value, "card or a size such as 8GiB", &to->fits);
    case OPTION_VARY:
        if (to->varies) {
            cs_cli_refuse(command.name, "--vary: given twice, but only one value varies at a time");
            return false;
        }
        to->varies = true;
        return take_vary(to, value);
    default:
        return take_only(to, value);
    }
}

/* True if a word contains "{NAME}". */
static bool uses_name(char *const *word, const char *name)
{
    char braced[CS_VARY_NAME + 2];
    snprintf(braced, sizeof braced, "{%s}", name);
    while (*word && !strstr(*word, braced))
        word++;
    return *word != NULL;
}

/* Prints that an option behind the program is the program's. A command after "--" is as meant. */
static void note_options(char *const *word)
{
    char name[CS_CLI_NAME];
    for (; *word; word++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strncmp(*word, "--", 2) == 0 &&
                strcmp(*word + 2, cs_cli_spelling(rows[i].name, name)) == 0)
                cs_cli_complain("simulate: %s stands after the program, so it is passed to the "
                                "program. To use it here, put it before the program.",
                                *word);
    }
}

/* Returns the reason why the options do not go together; NULL if they do. */
static const char *find_conflict(const struct cs_simulate_options *to)
{
    const bool several = strchr(to->device, ',') != NULL;
    if (cs_child_variables_has(&to->given, "CONVSHIM_SUMMARY"))
        return "--summary: simulate sets this option itself. To keep the summaries: --keep DIR";
    if (several && (to->html || to->checks || to->baseline))
        return "--html, --fits and --baseline work with one --device";
    if (to->varies && (several || to->smallest || to->baseline))
        return "--vary works with one --device, without --smallest and --baseline";
    if (to->varies && to->vary.values == 0 && !to->checks)
        return "a range of --vary is searched for the largest value that fits: add --fits card or "
               "--fits SIZE";
    if (to->tolerance >= 0 && !to->baseline && !(to->varies && to->vary.values == 0))
        return "--tolerance works with --baseline, or with a range of --vary";
    if (to->checks && to->capacity > 0)
        return "--fits sets the memory of the GPU: omit --capacity";
    return NULL;
}

int cs_simulate_options(int argc, char **argv, struct cs_simulate_options *to, int *operand_p)
{
    *to = (struct cs_simulate_options){.device = "h200",
                                       .context = -1,
                                       .tolerance = -1,
                                       .gpus = 1,
                                       .jobs = 2,
                                       .side = {true, true}};
    int status = cs_cli_parse(&command, argc, argv, take_option, to, operand_p);
    if (status >= 0)
        return status;
    const bool lists =
        strcmp(to->device, "list") == 0 || (to->preset && strcmp(to->preset, "list") == 0);
    const char *conflict = find_conflict(to);
    if (conflict)
        return cs_cli_refuse(command.name, "%s", conflict);
    if (*operand_p == argc && !lists)
        return cs_cli_refuse(command.name,
                             "no program given. Example: convshim simulate -- python app.py");
    if (to->varies && !uses_name(argv + *operand_p, to->vary.name))
        return cs_cli_refuse(command.name,
                             "--vary %s: no word of the command contains {%s}. Example: convshim "
                             "simulate --vary px=512,1024 -- python decode.py {px}",
                             to->vary.name, to->vary.name);
    if (*operand_p < argc && strcmp(argv[*operand_p - 1], "--") != 0)
        note_options(argv + *operand_p);
    if (to->tolerance < 0)
        to->tolerance = 1;
    if (to->html && !cs_output_check(command.name, "html", to->html, CS_PAGE_BEGINS))
        return CS_CLI_USAGE;
    return -1;
}
