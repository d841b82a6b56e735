/* The program that is to be simulated: the cuDNN that it would load, the CUDA that it was built
 * for, and NVIDIA's other libraries that it would load. To find them, files are read. Only the
 * program's Python is run, to list its packages. */
#ifndef SIMDEV_SIMULATE_PROGRAM_H
#define SIMDEV_SIMULATE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CS_MOST_LIBRARIES = 32
};

struct cs_sim_program {
    char **command;             /* NULL-ended, the caller's */
    char folder[PATH_MAX];      /* of the cuDNN; "": none was found */
    char cudnn[32];             /* "cuDNN 9.26.0"; "" */
    char foreign[3 * PATH_MAX]; /* names a part of another cuDNN that the loader takes; "": none */
    char framework[96];         /* "PyTorch 2.15.0", which has the cuDNN; "": not known */
    char python[PATH_MAX];      /* the Python that runs the command; "python3" if none does */
    int cuda;                   /* 12 or 13 */
    size_t libraries;           /* files of NVIDIA's libraries that need a GPU to start */
    char library[CS_MOST_LIBRARIES][PATH_MAX];
};

/* `cudnn` and `cuda` are the user's values, which override the detected ones; NULL and 0: not
 * given. False if there is no such program or memory is short; the reason was printed. */
bool cs_sim_program_find(struct cs_sim_program *program, char **command, const char *cudnn,
                         int cuda);

#endif
