/* Private layers over the folders that a simulated program writes to. Results are never computed,
 * so the files that a program saves hold zeros: they must not replace the user's. */
#ifndef SIMDEV_SIMULATE_PRIVATE_LAYERS_H
#define SIMDEV_SIMULATE_PRIVATE_LAYERS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum {
    CS_LAYERS = 64
};

struct cs_private_layers {
    char folder[CS_LAYERS][PATH_MAX]; /* the folders with a layer, sorted */
    size_t folders;
    bool whole;            /* `folder` has all kinds that cs_private_layers_begin lists */
    char here[PATH_MAX];   /* the working folder */
    char area[PATH_MAX];   /* the folder of the layers; "": the system does not allow layers */
    char shared[PATH_MAX]; /* the simulation's folder, which has no layer at any place */
    int error;             /* errno value: why layers are missing; 0: all exist */
    struct timespec begun;
};

/* Finds the folders, and tries out a layer over each:
 * - the working folder, and folders of paths in the command's arguments,
 * - all others that the user can write, except /tmp, caches and the system's,
 * - file systems that are mounted below these folders.
 * If that fails, tries again without the folders of the second line. `error` is set if some or all
 * of the folders have no layer, so that the program really writes to them. */
void cs_private_layers_begin(struct cs_private_layers *layers, char *const *command,
                             const char *shared);

/* Removes the layers, after copying them to the folder `keep`. NULL: copies nothing. */
void cs_private_layers_end(struct cs_private_layers *layers, const char *keep);

/* Moves this process behind private layers with that name, if they are possible. The process must
 * have one thread, and end or execute a program soon. Returns 0 or the errno value of the failure.
 */
int cs_private_layers_enter(const struct cs_private_layers *layers, const char *name);

#endif
