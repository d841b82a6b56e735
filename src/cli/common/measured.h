/* The measured constants of GPUs, which `convshim verify` writes (config/ladder.h). */
#ifndef CS_CLI_COMMON_MEASURED_H
#define CS_CLI_COMMON_MEASURED_H

#include "config/ladder.h"

/* Returns the measured constants of a GPU. The first time, a line on standard error names them, or
 * the reason why their file is ignored. For one thread. */
struct cs_ladder cs_cli_measured(const char *gpu);

#endif
