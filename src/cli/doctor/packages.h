/* What a Python would import and which packages it has, asked of that Python without importing any
 * of them. */
#ifndef CS_CLI_DOCTOR_PACKAGES_H
#define CS_CLI_DOCTOR_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The answer: `text` holds what the others point into. Nothing else is owned. */
struct cs_packages {
    char *text;
    const char *python, *version; /* the interpreter's file and its version */
    struct cs_module {
        const char *name, *folder;
    } * module;
    size_t modules;
    struct cs_package {
        const char *name, *version, *folder; /* the folder of site-packages that it is in */
    } * package;
    size_t packages;
};

/* Asks `python` for modules (NULL-ended; a name may stand twice, a module may have several folders)
 * and all packages. False if it cannot say, with what it said, or why, in `why`. */
bool cs_packages_read(struct cs_packages *packages, const char *python, const char *const *modules,
                      char *why, size_t size);
void cs_packages_free(struct cs_packages *packages);

/* The first package of a list of names, blanks between them; NULL if none is there. Case and the
 * kind of dashes do not matter. */
const struct cs_package *cs_packages_find(const struct cs_packages *packages, const char *names);

#endif
