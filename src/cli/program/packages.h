/* The modules that a Python would import and the packages that it has. That Python reports them and
 * imports none of them. */
#ifndef CS_CLI_PROGRAM_PACKAGES_H
#define CS_CLI_PROGRAM_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/* The result. The other pointers to text point into `text`. The struct owns `text` and the two
 * arrays. */
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

/* Runs `python` to find the modules (NULL-ended) and all packages. A name may be listed twice,
 * because a module may have several folders. Returns false if Python does not report them. Then
 * `why` contains its output or the reason. */
bool cs_packages_read(struct cs_packages *packages, const char *python, const char *const *modules,
                      char *why, size_t size);
void cs_packages_free(struct cs_packages *packages);

/* The first package of a list of names, blanks between them; NULL if none is there. Case and the
 * kind of dashes do not matter. */
const struct cs_package *cs_packages_find(const struct cs_packages *packages, const char *names);

#endif
