/* Reads options of the library from a command line and adds them to the value of CONVSHIM_CONFIG.
 */
#include "cli/common/library_options.h"

#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/program/command_facts.h"
#include "convshim/policy.h"
#include <stdlib.h>
#include <string.h>

static bool refuse_value(const char *command, const struct cs_option *option, const char *value)
{
    char allowed[CS_OPTION_TEXT];
    char name[CS_CLI_NAME];
    cs_cli_refuse(command, "--%s: \"%s\" is not allowed; allowed: %s",
                  cs_cli_spelling(option->name, name), value,
                  cs_option_allowed(option, cs_policy_names, allowed));
    return false;
}

bool cs_library_options_take(struct cs_library_options *options, const char *command, int index,
                             const char *value)
{
    static struct cs_config scratch;
    const struct cs_option *option = &cs_options[index];
    if (!cs_option_set(&scratch, index, value, cs_policy_names))
        return refuse_value(command, option, value);
    if (strpbrk(value, ";\n")) {
        char name[CS_CLI_NAME];
        cs_cli_refuse(command,
                      "--%s: the value contains a semicolon, which separates options. Set it in an "
                      "ini file instead.",
                      cs_cli_spelling(option->name, name));
        return false;
    }
    const char *now = options->items ? options->items : cs_cli_variable("CONVSHIM_CONFIG");
    char *items = cs_preload_items(now, option->name, value);
    free(options->items);
    options->items = items;
    options->given[index] = true;
    if (!items)
        cs_cli_complain("out of memory");
    return items != NULL;
}

const char *cs_library_options_variable(const struct cs_library_options *options, int index)
{
    const char *variable =
        options->given[index] ? cs_config_variable(cs_options[index].name) : NULL;
    return variable && cs_cli_variable(variable) ? variable : NULL;
}

void cs_library_options_free(struct cs_library_options *options)
{
    free(options->items);
    options->items = NULL;
}
