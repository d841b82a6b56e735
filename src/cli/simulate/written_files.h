/* Shows the files that the programs of a simulation wrote. One thread. */
#ifndef CS_CLI_SIMULATE_WRITTEN_FILES_H
#define CS_CLI_SIMULATE_WRITTEN_FILES_H

#include "cli/simulate/private_layer.h"
#include <stdio.h>

struct cJSON;

/* A heading and a line each; nothing where none were written. */
void cs_written_print(const struct cs_private_layers *layers, FILE *out);

/* {"private": whether they were written to layers, "names": [...]}; NULL: memory is short. */
struct cJSON *cs_written_json(const struct cs_private_layers *layers);

#endif
