/* A text against a file of tests/golden. CONVSHIM_UPDATE_GOLDEN=1 (make golden) writes the file. */
#ifndef GOLDEN_FILE_H
#define GOLDEN_FILE_H

#include "check.h"
#include <limits.h>
#include <unistd.h>

/* `root`: the folder that has tests/golden below it. Prints the first lines that differ. */
static inline void golden_file(const char *root, const char *name, const char *text)
{
    char path[PATH_MAX + 64], is[] = "/tmp/convshim-golden-XXXXXX", command[2 * PATH_MAX];
    const char *update = getenv("CONVSHIM_UPDATE_GOLDEN");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root, name);
    int temporary = update ? -1 : mkstemp(is);
    FILE *file = update ? fopen(path, "we") : fdopen(temporary, "we");
    CHECK(file && fputs(text, file) >= 0);
    CHECK(file && fclose(file) == 0);
    if (update)
        return;
    snprintf(command, sizeof command, "/usr/bin/diff -U0 '%s' %s >%s.diff", path, is, is);
    int differs = system(command);
    if (differs) {
        check_failures++;
        snprintf(command, sizeof command, "/usr/bin/head -n 24 %s.diff | /usr/bin/sed 's/^/# /'",
                 is);
        fflush(stdout);
        CHECK(system(command) == 0);
        printf("# If that is meant: make golden, and read the difference.\n");
    }
    unlink(is);
    snprintf(command, sizeof command, "%s.diff", is);
    unlink(command);
}

#endif
