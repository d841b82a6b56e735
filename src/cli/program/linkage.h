/* The way in which a file reaches cuDNN, derived from its symbols and constants. The library makes
 * the same check for a running process (shim/bypass.h). Both use the same lists of functions. */
#ifndef CS_CLI_PROGRAM_LINKAGE_H
#define CS_CLI_PROGRAM_LINKAGE_H

#include "cli/program/elf.h"

enum cs_linkage {
    CS_LINKAGE_NONE,   /* not at all */
    CS_LINKAGE_LINKED, /* it calls functions of libcudnn: a preloaded library comes first */
    CS_LINKAGE_LOOKED, /* it looks them up by name: the library's dlsym answers */
    CS_LINKAGE_INSIDE  /* it has cuDNN in itself */
};

/* Convolutions only: a file that links cuDNN only for other operations counts as CS_LINKAGE_NONE. A
 * file that defines functions with cuDNN's names and looks such names up has stand-ins
 * (TensorFlow). */
enum cs_linkage cs_linkage_of(const struct cs_elf *elf);

#endif
