/* Finds libconvshim.so and builds the environment that preloads it. The previous content of
 * LD_PRELOAD is kept. */
#include "cli/program/command_facts.h"

#include "cli/common/data_files.h"
#include "cli/program/elf.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libconvshim.so"

static const char separators[] = ": ";

/* Returns the reason why the file cannot be a library; NULL if it can. */
static const char *no_library(const char *path)
{
    struct cs_elf elf;
    const char *why;
    if (!cs_elf_open(&elf, path, &why))
        return why;
    cs_elf_close(&elf);
    return NULL;
}

bool cs_preload_library(const char *named, char path[PATH_MAX], char *why, size_t why_size)
{
    const char *reason = NULL;
    bool found =
        named ? realpath(named, path) && access(path, R_OK) == 0 : cs_cli_installed(LIBRARY, path);
    if (named && !found)
        snprintf(why, why_size, "%s: %s", named, strerror(errno));
    else if (!found)
        snprintf(why, why_size,
                 LIBRARY " is not in the folder of this program and not in ../lib. Name it: "
                         "--library FILE");
    else if (strpbrk(path, separators))
        snprintf(why, why_size,
                 "%s: LD_PRELOAD allows no blank and no colon in a path. Move the file.", path);
    else if (named && (reason = no_library(path)))
        snprintf(why, why_size, "--library %s: %s. Name libconvshim.so.", named, reason);
    return found && !strpbrk(path, separators) && !reason;
}

const char *cs_preload_next(const char **list_p, size_t *length_p)
{
    const char *start = *list_p + strspn(*list_p, separators);
    *length_p = strcspn(start, separators);
    *list_p = start + *length_p;
    return *length_p > 0 ? start : NULL;
}

/* The file name in a path of *length_p bytes: the part after the last slash. *length_p becomes its
 * length. */
static const char *file_of(const char *path, size_t *length_p)
{
    const char *slash = memrchr(path, '/', *length_p);
    const char *file = slash ? slash + 1 : path;
    *length_p -= (size_t)(file - path);
    return file;
}

bool cs_preload_is_library(const char *path, size_t length)
{
    const char *file = file_of(path, &length);
    return length == strlen(LIBRARY) && memcmp(file, LIBRARY, length) == 0;
}

static bool is_sanitizer(const char *path, size_t length)
{
    static const char *const names[] = {"libasan.so", "libtsan.so", "liblsan.so", "libubsan.so",
                                        "libclang_rt."};
    const char *file = file_of(path, &length);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length >= strlen(names[i]) && memcmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

char *cs_preload_list(const char *library, const char *now)
{
    const char *before = now ? now : "", *rest = before, *file;
    char *list = NULL;
    size_t length, first = 0;
    while ((file = cs_preload_next(&rest, &length))) {
        if (length == strlen(library) && memcmp(file, library, length) == 0)
            return strdup(before);
        if (is_sanitizer(file, length))
            first = (size_t)(rest - before);
    }
    const char *tail = before + first + strspn(before + first, separators);
    if (asprintf(&list, "%.*s%s%s%s%s", (int)first, before, first ? ":" : "", library,
                 *tail ? ":" : "", tail) < 0)
        return NULL;
    return list;
}
