/* The measured constants of GPUs (config/ladder.h) for predictions of the command. */
#ifndef CS_CLI_LAYERS_MEASURED_H
#define CS_CLI_LAYERS_MEASURED_H

#include "convshim/profile.h"

/* The constants of a GPU. The first time, a line on standard error names them, or the reason why
 * their file is ignored. For one thread. */
struct cs_ladder cs_cli_measured(const char *gpu);

#endif
