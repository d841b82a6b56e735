/* Reads /proc/PID/maps and comm. */
#include "cli/program/command_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_of(int64_t pid, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, file);
    return fopen(path, "re");
}

static void name_of(int64_t pid, char *name, int size)
{
    FILE *file = open_of(pid, "comm");
    if (!file || !fgets(name, size, file))
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
}

/* Keeps the path of a mapped file if it is the first libconvshim.so, or of cuDNN: preferably that
 * of libcudnn.so, not of another part. */
static void note_path(struct cs_process_files *files, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    if (!*files->library && cs_preload_is_library(path, strcspn(path, " ")))
        snprintf(files->library, sizeof files->library, "%s", path);
    if (strncmp(name, "libcudnn", strlen("libcudnn")) != 0)
        return;
    if (!*files->cudnn || strncmp(name, "libcudnn.so", strlen("libcudnn.so")) == 0)
        snprintf(files->cudnn, sizeof files->cudnn, "%s", path);
}

bool cs_process_files(int64_t pid, struct cs_process_files *files)
{
    char *line = NULL;
    size_t room = 0;
    FILE *maps = open_of(pid, "maps");
    *files = (struct cs_process_files){.library = ""};
    if (!maps) {
        errno = errno == ENOENT ? ESRCH : errno;
        return false;
    }
    errno = 0;
    while (getline(&line, &room, maps) > 0) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        note_path(files, path);
    }
    int error = errno;
    free(line);
    fclose(maps);
    name_of(pid, files->program, sizeof files->program);
    errno = error;
    return error == 0;
}

int64_t cs_process_id(const char *word)
{
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 12 && !word[digits] ? strtoll(word, NULL, 10) : 0;
}
