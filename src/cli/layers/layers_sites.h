/* The convolutions of a JSON summary (docs/summary.md, version 1) as a list of layers. Private to
 * the readers of lists. */
#ifndef CS_CLI_LAYERS_LAYERS_SITES_H
#define CS_CLI_LAYERS_LAYERS_SITES_H

#include "cli/layers/layer_reader.h"
#include <cjson/cJSON.h>

/* Adds every site, by its NVTX name or its text, with the program as the model; notes sites that
 * are not convolutions. Fused operations are lost, because a summary does not contain them. */
void cs_layers_sites_read(struct cs_layer_reader *reading, const cJSON *summary);

#endif
