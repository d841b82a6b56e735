/* The program that is to be simulated: which cuDNN it would load, which CUDA it was built for, and
 * which of NVIDIA's other libraries it would bring along. Files are read; nothing of it is run but
 * the Python that is asked for its packages. */
#ifndef CS_CLI_SIMULATE_SIMULATED_PROGRAM_H
#define CS_CLI_SIMULATE_SIMULATED_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct cs_simulated_program {
    char **command;        /* NULL-ended, the caller's */
    char folder[PATH_MAX]; /* of the cuDNN; "": none was found */
    char cudnn[32];        /* "cuDNN 9.26.0"; "" */
    char framework[96];    /* "PyTorch 2.15.0"; "": none, or not the one that the cuDNN is of */
    int cuda;              /* 12 or 13 */
    char **library;        /* files of NVIDIA's libraries that need a GPU to start; owned */
    size_t libraries;
};

/* `cudnn` and `cuda` are the user's values, which override the detected ones; NULL and 0: not
 * given. False if there is no such program or memory is short; the reason was printed. */
bool cs_simulated_program_find(struct cs_simulated_program *program, char **command,
                               const char *cudnn, int cuda);
void cs_simulated_program_free(struct cs_simulated_program *program);

#endif
