/* How a file comes to cuDNN, reported from its symbols and constants. What the library asks of a
 * running process (shim/bypass.h) is asked here of files, by the same lists of functions. */
#ifndef CS_CLI_DOCTOR_LINKAGE_H
#define CS_CLI_DOCTOR_LINKAGE_H

#include "cli/doctor/elf.h"

enum cs_linkage {
    CS_LINKAGE_NONE,   /* not at all */
    CS_LINKAGE_LINKED, /* it calls functions of libcudnn: a preloaded library comes first */
    CS_LINKAGE_LOOKED, /* it looks them up by name: the library's dlsym answers */
    CS_LINKAGE_INSIDE  /* it has cuDNN in itself */
};

/* Convolutions only: who links cuDNN for something else alone counts as none. A file that has
 * functions of cuDNN's names and looks such up has stand-ins (TensorFlow). */
enum cs_linkage cs_linkage_of(const struct cs_elf *elf);

#endif
