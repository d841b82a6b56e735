#include "cli/cli.h"

#include <stdio.h>

static const struct cs_cli_option options[] = {
#define CS_CLI_OPTION(id, name, argument, group, help) {name, argument, group, help},
#include "cli/predict_options.def"
#undef CS_CLI_OPTION
};

static const struct cs_cli_command command = {
    .name = "predict",
    .usage = "convshim predict [options]",
    .about = "Predicts the memory that convolutions take on a card, with and without convshim.",
    .option = options,
    .options = sizeof options / sizeof *options,
};

static bool take(void *to, int option, const char *value)
{
    (void)to, (void)option, (void)value;
    return true;
}

int cs_cli_predict(int argc, char **argv)
{
    int operand;
    int status = cs_cli_parse(&command, argc, argv, take, NULL, &operand);
    if (status >= 0)
        return status;
    return cs_cli_refuse(command.name, "nothing to predict");
}
