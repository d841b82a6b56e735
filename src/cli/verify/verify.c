/* `convshim verify`: runs convolutions without and with the library on the GPU that is present, and
 * compares. */
#include "cli/verify/verify.h"

#include "cli/common/cli.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static int verify(const struct cs_verify_options *options, struct cs_verification *verification,
                  struct cs_layers *layers)
{
    bool listed = options->command || cs_verify_list(options, layers);
    int status = listed ? cs_verify_describe(options, &verification->gpu) : CS_CLI_USAGE;
    if (status != CS_CLI_OK)
        return status;
    if (options->command && !cs_verify_program(verification, layers))
        return CS_CLI_NO;
    double start = cs_verify_seconds();
    if (!cs_verify_environment(options) || !cs_verify_choose(verification, layers)) {
        cs_cli_complain("verify: out of memory");
        return CS_CLI_NO;
    }
    bool ladder = !options->csv && !options->summary && !options->command;
    double share = ladder ? 0.75 : 1, left = options->seconds - (cs_verify_seconds() - start);
    if (!cs_verify_measure(verification, share * left))
        return CS_CLI_NO;
    if (ladder)
        cs_verify_ladder(verification, start + options->seconds);
    verification->seconds = cs_verify_seconds() - start;
    return cs_verify_conclude(verification);
}

static int run(const struct cs_verify_options *options)
{
    struct cs_layers layers = {.count = 0};
    struct cs_verification verification = {.options = options};
    int status = CS_CLI_USAGE;
    if (!options->once)
        status = verify(options, &verification, &layers);
    else if (cs_verify_list(options, &layers))
        status = cs_verify_once(options, &layers);
    for (size_t i = 0; i < verification.rows; i++)
        for (int side = 0; side < CS_VERIFY_SIDES; side++)
            cJSON_Delete(verification.row[i].measured[side]);
    free(verification.row);
    cJSON_Delete(verification.gpu.json);
    cs_layers_fini(&layers);
    return status;
}

int cs_cli_verify(int argc, char **argv)
{
    static struct cs_verify_options options;
    int status = cs_verify_options(argc, argv, &options);
    if (status < 0)
        status = run(&options);
    cs_library_options_free(&options.given);
    return status;
}
