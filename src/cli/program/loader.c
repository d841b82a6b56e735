/* Queries the dynamic loader for the files that it would map for a program, without running the
 * program. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/common/environment.h"
#include "cli/program/child.h"
#include "cli/program/elf.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATHS = 8192
};

/* The loader that runs this program. Another program may name any file as its loader, so that file
 * is not run. */
static bool own_loader(char *path, size_t size)
{
    struct cs_elf elf;
    const char *why;
    if (!cs_elf_open(&elf, "/proc/self/exe", &why))
        return false;
    bool found = elf.interpreter && strlen(elf.interpreter) < size;
    if (found)
        snprintf(path, size, "%s", elf.interpreter);
    cs_elf_close(&elf);
    return found;
}

/* A line is "NAME => PATH (ADDRESS)", "NAME => not found" or "PATH (ADDRESS)", after a tab. */
static void report_line(char *line, cs_loader_fn *each, void *ctx)
{
    char *name = line + 1, *arrow = strstr(name, " => ");
    char *path = arrow ? arrow + strlen(" => ") : name;
    char *address = strstr(path, " (0x");
    if (arrow)
        *arrow = '\0';
    if (address)
        *address = '\0';
    each(ctx, name, address ? path : NULL);
}

static bool run_loader(const char *const *argv, const char *const *set, cs_loader_fn *each,
                       void *ctx, char *complaint, size_t size)
{
    char *text, *rest, *line;
    complaint[0] = '\0';
    int status = cs_child_output(argv, set, &text);
    if (status < 0)
        return false;
    for (rest = text; (line = cs_child_line(&rest));) {
        if (*line == '\t')
            report_line(line, each, ctx);
        else if (!*complaint && *line)
            snprintf(complaint, size, "%s", line);
    }
    free(text);
    return true;
}

bool cs_loader_list(const char *file, const char *preload, cs_loader_fn *each, void *ctx,
                    char *complaint, size_t size)
{
    char loader[PATHS], variable[PATHS];
    const char *argv[] = {loader, "--list", file, NULL}, *set[] = {variable, NULL};
    if (!own_loader(loader, sizeof loader) ||
        (size_t)snprintf(variable, sizeof variable, "LD_PRELOAD=%s", preload ? preload : "") >=
            sizeof variable)
        return false;
    return run_loader(argv, set, each, ctx, complaint, size);
}

/* Appends a text if the list has room for all of it. */
static void append_path(char *list, size_t size, const char *text, size_t length)
{
    size_t used = strlen(list);
    if (used + length < size)
        snprintf(list + used, size - used, "%.*s", (int)length, text);
}

/* Appends the folders of a search path, with $ORIGIN replaced. An empty search path adds nothing,
 * because an empty folder is the current folder. */
static void add_folders(char *list, size_t size, const char *folders, const char *origin)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    if (!folders || !*folders)
        return;
    if (list[strlen(list) - 1] != '=')
        append_path(list, size, ":", 1);
    while (*folders) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(folders, words[i], strlen(words[i])) == 0)
                skip = strlen(words[i]);
        append_path(list, size, skip ? origin : folders, skip ? strlen(origin) : 1);
        folders += skip ? skip : 1;
    }
}

struct required {
    const char *name;
    char *path;
    size_t size;
    bool found;
};

static void take_first(void *ctx, const char *name, const char *path)
{
    struct required *required = ctx;
    const char *file = cs_path_file(name);
    if (!required->found && path && strcmp(file, required->name) == 0) {
        snprintf(required->path, required->size, "%s", path);
        required->found = true;
    }
}

/* A library that is preloaded by its bare name is searched for as dlopen does. */
bool cs_loader_find(const char *name, const char *origin, const char *rpath, const char *runpath,
                    char *path, size_t size)
{
    static const char path_is[] = "LD_LIBRARY_PATH=";
    char loader[PATHS], self[PATH_MAX], preload[256], folders[PATHS], complaint[256];
    const char *argv[] = {loader, "--list", self, NULL}, *set[] = {preload, folders, NULL};
    struct required required = {name, path, size, false};
    if (!own_loader(loader, sizeof loader) || !realpath("/proc/self/exe", self) ||
        (size_t)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", name) >= sizeof preload)
        return false;
    snprintf(folders, sizeof folders, "%s", path_is);
    add_folders(folders, sizeof folders, runpath ? NULL : rpath, origin);
    add_folders(folders, sizeof folders, cs_cli_variable("LD_LIBRARY_PATH"), origin);
    add_folders(folders, sizeof folders, runpath, origin);
    return run_loader(argv, set, take_first, &required, complaint, sizeof complaint) &&
           required.found;
}
