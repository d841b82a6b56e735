/* Names of GPUs as people and nvidia-smi write them. */
#ifndef CS_CLI_LAYERS_DEVICE_NAME_H
#define CS_CLI_LAYERS_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The name of a profile for a written name: "rtx4060" for "NVIDIA GeForce RTX 4060", "RTX4060" and
 * "4060". A size behind the name is kept ("a100-40gb"), a form is not ("SXM4", "PCIe"). `name` gets
 * the written name if it is not like one of a GPU. */
void cs_device_name(const char *written, char *name, size_t size);

/* Why no profile can stand for this GPU: a part of a GPU (MIG), memory shared with the CPU, or a
 * laptop's GPU, which has other units than the one of its name. NULL: no such reason is known. */
const char *cs_device_name_refusal(const char *written);

#endif
