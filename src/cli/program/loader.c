/* Queries the dynamic loader for the files that it would map for a program, without running the
 * program. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "base/text.h"
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

static const char search_path[] = "LD_LIBRARY_PATH=";

/* The receiver of the loader's output: each library, and the first line of an error message. */
struct receiver {
    cs_loader_fn *each;
    void *ctx;
    char *complaint;
    size_t size;
};

/* A line is "NAME => PATH (ADDRESS)", "NAME => not found" or "PATH (ADDRESS)", after a tab. */
static void report_line(const struct receiver *to, char *line)
{
    char *name = line + 1, *arrow = strstr(name, " => ");
    char *path = arrow ? arrow + strlen(" => ") : name;
    char *address = strstr(path, " (0x");
    if (arrow)
        *arrow = '\0';
    if (address)
        *address = '\0';
    to->each(to->ctx, name, address ? path : NULL);
}

/* Runs the loader of this program for a file, with the variables `set` (NULL: none). Another
 * program may name any file as its loader, so that file is not run. False if this program has none.
 */
static bool run_loader(const char *file, const char *const *set, const struct receiver *to)
{
    struct cs_elf self;
    const char *why;
    char *text, *rest, *line;
    if (!cs_elf_open(&self, "/proc/self/exe", &why))
        return false;
    const char *argv[] = {self.interpreter, "--list", file, NULL};
    bool ran = self.interpreter && cs_child_output(argv, set, &text) >= 0;
    cs_elf_close(&self);
    if (!ran)
        return false;
    to->complaint[0] = '\0';
    for (rest = text; (line = cs_child_line(&rest));) {
        if (*line == '\t')
            report_line(to, line);
        else if (!*to->complaint)
            snprintf(to->complaint, to->size, "%s", line);
    }
    free(text);
    return true;
}

void cs_loader_list(const char *file, cs_loader_fn *each, void *ctx)
{
    char complaint[256];
    const struct receiver to = {each, ctx, complaint, sizeof complaint};
    (void)run_loader(file, NULL, &to);
}

/* Runs the loader for this program with a preloaded file. `folders`: "LD_LIBRARY_PATH=...", or
 * NULL.
 */
static bool try_preload(const char *file, const char *folders, const struct receiver *to)
{
    char self[PATH_MAX], preload[PATHS];
    const char *const set[] = {preload, folders, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", file);
    return realpath("/proc/self/exe", self) && run_loader(self, set, to);
}

static void ignore_library(void *ctx, const char *name, const char *path)
{
    (void)ctx, (void)name, (void)path;
}

bool cs_loader_try(const char *file, char *complaint, size_t size)
{
    const struct receiver to = {ignore_library, NULL, complaint, size};
    return try_preload(file, NULL, &to);
}

/* Appends the folders of a search path, with $ORIGIN replaced. An empty search path adds nothing,
 * because an empty folder is the current folder. */
static void put_folders(const char *folders, const char *caller, struct cs_text *text)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    if (!folders || !*folders)
        return;
    if (text->length > (int)strlen(search_path))
        cs_text_put(text, ":");
    while (*folders) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(folders, words[i], strlen(words[i])) == 0)
                skip = strlen(words[i]);
        if (skip > 0)
            cs_text_put(text, "%.*s", (int)(cs_path_file(caller) - caller), caller);
        else
            cs_text_put(text, "%c", *folders);
        folders += skip > 0 ? skip : 1;
    }
}

/* Writes the LD_LIBRARY_PATH with which the loader searches as dlopen does for `caller`. False if
 * it is too long. */
static bool list_folders(const char *caller, char *list, size_t size)
{
    struct cs_text text = {.at = list, .size = size};
    struct cs_elf elf = {.rpath = NULL};
    const char *why;
    bool is_open = caller && cs_elf_open(&elf, caller, &why);
    cs_text_put(&text, "%s", search_path);
    if (!elf.runpath)
        put_folders(elf.rpath, caller, &text);
    put_folders(cs_cli_variable("LD_LIBRARY_PATH"), caller ? caller : "", &text);
    put_folders(elf.runpath, caller, &text);
    if (is_open)
        cs_elf_close(&elf);
    return (size_t)text.length < size;
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
    if (required->found || !path || strcmp(cs_path_file(name), required->name) != 0)
        return;
    snprintf(required->path, required->size, "%s", path);
    required->found = true;
}

/* A library that is preloaded by its bare name is searched for as dlopen does. */
bool cs_loader_find(const char *name, const char *caller, char *path, size_t size)
{
    struct required required = {name, path, size, false};
    char complaint[256], folders[PATHS];
    const struct receiver to = {take_first, &required, complaint, sizeof complaint};
    return list_folders(caller, folders, sizeof folders) && try_preload(name, folders, &to) &&
           required.found;
}
