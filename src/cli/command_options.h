/* The options of one command, from its table: CS_CLI_OPTIONS names it, as "cli/NAME_options.def".
 * Included once by the command's file. Defines
 *
 *   enum option  OPTION_ID of each row
 *   rows         the rows in the same order, for struct cs_cli_command */
#include "cli/cli.h"

enum option {
#define CS_CLI_OPTION(id, name, argument, group, help) OPTION_##id,
#include CS_CLI_OPTIONS
#undef CS_CLI_OPTION
};

static const struct cs_cli_option rows[] = {
#define CS_CLI_OPTION(id, name, argument, group, help) {name, argument, group, help},
#include CS_CLI_OPTIONS
#undef CS_CLI_OPTION
};
#undef CS_CLI_OPTIONS
