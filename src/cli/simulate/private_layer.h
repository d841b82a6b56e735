/* Private layers over the folders that a simulated program writes to. Results are never computed,
 * so the files that a program saves hold zeros: they must not replace the user's. One thread. */
#ifndef CS_CLI_SIMULATE_PRIVATE_LAYER_H
#define CS_CLI_SIMULATE_PRIVATE_LAYER_H

#include "cli/simulate/temporary_folder.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum {
    CS_LAYERS = 64
};

struct cs_private_layers {
    char folder[CS_LAYERS][PATH_MAX]; /* that get a layer, sorted */
    size_t folders;
    bool whole;          /* also folders that neither the user's place nor the command names */
    char here[PATH_MAX]; /* the working folder */
    struct cs_temporary_folder area; /* of the layers; none if the system does not allow layers */
    char shared[PATH_MAX]; /* a folder without a layer, wherever it is: the simulation's own */
    int error;             /* why there are none, or not the whole; 0: the whole */
    struct timespec begun;
};

/* Finds the folders, which are the working folder, those of paths in the command's arguments, all
 * others that the user can write except /tmp, caches and the system's, and the file systems mounted
 * below them, and tries out a layer over each, else over those of the first two kinds. `error`: the
 * program writes to the other folders, or to all, themselves. */
void cs_layers_begin(struct cs_private_layers *layers, char *const *command, const char *shared);

/* Removes the layers; `keep`: copies them to that folder before. */
void cs_layers_end(struct cs_private_layers *layers, const char *keep);

/* Moves this process behind private layers with that name, if they are possible. The process must
 * have one thread. Returns 0 or the errno value of the failure. */
int cs_layers_enter(const struct cs_private_layers *layers, const char *name);

/* The files that programs wrote or removed, sorted; the caller frees them. In the working folder by
 * their paths in it. Without layers, files that have changed since the beginning. */
struct cs_written {
    char **name;
    size_t count;
    bool more; /* than were looked at */
};
void cs_layers_written(const struct cs_private_layers *layers, struct cs_written *written);
void cs_written_free(struct cs_written *written);

#endif
