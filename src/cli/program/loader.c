/* Queries the dynamic loader for the files that it would map for a program, without running the
 * program. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "base/text.h"
#include "cli/common/variables.h"
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

/* Runs the loader of this program for a file, with the variables `set` (NULL: none). Another
 * program may name any file as its loader, so that file is not run. Returns the loader's output,
 * which the caller frees. NULL if it cannot be run, or if this program has none. */
static char *run_loader(const char *file, const char *const *set)
{
    struct cs_elf self;
    const char *why;
    char *text = NULL;
    if (!cs_elf_open(&self, "/proc/self/exe", &why))
        return NULL;
    const char *argv[] = {self.interpreter, "--list", file, NULL};
    if (self.interpreter)
        (void)cs_child_output(argv, set, &text);
    cs_elf_close(&self);
    return text;
}

/* Runs the loader for this program with a preloaded file. `folders`: "LD_LIBRARY_PATH=...", or
 * NULL. Returns its output as run_loader does. */
static char *try_preload(const char *file, const char *folders)
{
    char self[PATH_MAX], preload[PATHS];
    const char *const set[] = {preload, folders, NULL};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", file);
    return realpath("/proc/self/exe", self) ? run_loader(self, set) : NULL;
}

/* Cuts the next library off the loader's output: its name, and its path or NULL. A line is "NAME =>
 * PATH (ADDRESS)", "NAME => not found" or "PATH (ADDRESS)", after a tab. Lines without a tab are
 * messages. False at the end. */
static bool cut_library(char **text_p, const char **name_p, const char **path_p)
{
    char *line = cs_child_line(text_p);
    while (line && *line != '\t')
        line = cs_child_line(text_p);
    if (!line)
        return false;
    char *name = line + 1, *arrow = strstr(name, " => ");
    char *path = arrow ? arrow + strlen(" => ") : name;
    char *address = strstr(path, " (0x");
    if (arrow)
        *arrow = '\0';
    if (address)
        *address = '\0';
    *name_p = name;
    *path_p = address ? path : NULL;
    return true;
}

void cs_loader_list(const char *file, cs_loader_fn *each, void *ctx)
{
    char *text = run_loader(file, NULL), *rest = text;
    const char *name, *path;
    while (cut_library(&rest, &name, &path))
        each(ctx, name, path);
    free(text);
}

bool cs_loader_try(const char *file, char *complaint, size_t size)
{
    char *text = try_preload(file, NULL), *rest = text, *line;
    if (!text)
        return false;
    do
        line = cs_child_line(&rest);
    while (line && *line == '\t');
    snprintf(complaint, size, "%s", line ? line : "");
    free(text);
    return true;
}

/* True if a search path contains a folder. */
static bool has_folder(const char *folders, const char *folder)
{
    const size_t length = strlen(folder);
    for (const char *at = folders; *at; at += strcspn(at, ":"), at += *at == ':')
        if (strcspn(at, ":") == length && strncmp(at, folder, length) == 0)
            return true;
    return false;
}

/* Writes the first folder of a search path with $ORIGIN replaced. Returns its length there. */
static size_t expand_folder(const char *folders, const char *caller, char folder[PATH_MAX])
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    struct cs_text text = {.at = folder, .size = PATH_MAX};
    const size_t length = strcspn(folders, ":");
    folder[0] = '\0';
    for (size_t at = 0; at < length;) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(folders + at, words[i], strlen(words[i])) == 0)
                skip = strlen(words[i]);
        if (skip > 0)
            cs_text_put(&text, "%.*s", (int)(cs_path_file(caller) - caller), caller);
        else
            cs_text_put(&text, "%c", folders[at]);
        at += skip > 0 ? skip : 1;
    }
    return length;
}

/* Appends the folders of a search path, with $ORIGIN replaced, without those that are there. That
 * of TensorFlow has each folder 15 times. An empty search path adds nothing, because an empty
 * folder is the current folder. */
static void put_folders(const char *folders, const char *caller, struct cs_text *text)
{
    char folder[PATH_MAX];
    while (folders && *folders) {
        const size_t length = expand_folder(folders, caller, folder);
        if (!has_folder(text->at + strlen(search_path), folder))
            cs_text_put(text, "%s%s", text->length > (int)strlen(search_path) ? ":" : "", folder);
        folders += length + (folders[length] == ':');
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

/* Preloads `name`, because the loader searches for a library that is preloaded by its bare name as
 * dlopen does. */
bool cs_loader_find(const char *name, const char *caller, char *path, size_t size)
{
    char folders[PATHS], *text = NULL;
    const char *listed, *file;
    bool is_found = false;
    if (list_folders(caller, folders, sizeof folders))
        text = try_preload(name, folders);
    for (char *rest = text; !is_found && cut_library(&rest, &listed, &file);)
        is_found = file && strcmp(cs_path_file(listed), name) == 0;
    if (is_found)
        snprintf(path, size, "%s", file);
    free(text);
    return is_found;
}
