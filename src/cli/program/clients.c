/* Finds the files that use cuDNN: those of a Python's frameworks, or of the command and its
 * libraries. */
#include "cli/program/command_facts.h"

#include "base/path.h"
#include "cli/common/array.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct framework {
    const char *title, *packages, *files, *asked;
} frameworks[] = {
#define CS_FRAMEWORK(title, packages, files, asked) {title, packages, files, asked},
#include "cli/program/frameworks.def"
#undef CS_FRAMEWORK
};

static struct cs_examined *add_subject(struct cs_program_facts *facts, const char *title,
                                       const struct cs_package *package)
{
    struct cs_examined *subject = cs_array_add(&facts->subject, &facts->subjects, sizeof *subject);
    if (!subject) {
        facts->broken = true;
        return NULL;
    }
    *subject =
        (struct cs_examined){.title = title, .package = package ? package->name : "", .asked = ""};
    snprintf(subject->version, sizeof subject->version, "%s", package ? package->version : "");
    return subject;
}

struct required {
    char *path;
};

static void take_cudnn(void *ctx, const char *name, const char *path)
{
    struct required *required = ctx;
    if (!*required->path && path && strncmp(name, "libcudnn.so.", strlen("libcudnn.so.")) == 0)
        snprintf(required->path, PATH_MAX, "%s", path);
}

/* The cuDNN of NVIDIA's package, which frameworks load by hand if the loader finds none. */
static void find_packaged(const struct cs_program_facts *facts, char path[PATH_MAX])
{
    for (size_t i = 0; i < facts->packages.packages && !*path; i++) {
        const struct cs_package *package = &facts->packages.package[i];
        if (strncmp(package->name, "nvidia-cudnn", strlen("nvidia-cudnn")) != 0)
            continue;
        snprintf(path, PATH_MAX, "%s/nvidia/cudnn/lib/libcudnn.so.9", package->folder);
        if (access(path, R_OK) != 0)
            path[0] = '\0';
    }
}

/* Removes the ".." that $ORIGIN leaves, and empty names, from the folder of a path. The file's name
 * stays, because it is a link. */
static void tidy_path(char path[PATH_MAX])
{
    char folder[PATH_MAX], real[PATH_MAX], whole[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(cs_path_file(path) - path), path);
    if (!realpath(folder, real))
        return;
    int length = snprintf(whole, sizeof whole, "%s/%s", real, cs_path_file(path));
    if (length < PATH_MAX)
        memcpy(path, whole, (size_t)length + 1);
}

/* Finds the cuDNN of a file. If the file does not link cuDNN, the search follows the rules that
 * hold for its own look-up. A file may call functions of cuDNN without naming a library. Then
 * another file next to it, a stand-in, provides and looks up these functions: see follow_stand_ins.
 */
static void find_cudnn(const struct cs_program_facts *facts, const struct cs_elf *elf,
                       struct cs_client *client)
{
    char complaint[256], origin[PATH_MAX];
    struct required required = {client->cudnn};
    snprintf(origin, sizeof origin, "%.*s", (int)(cs_path_file(client->path) - client->path),
             client->path);
    if (client->linkage == CS_LINKAGE_LINKED)
        cs_loader_list(client->path, NULL, take_cudnn, &required, complaint, sizeof complaint);
    client->names_none = client->linkage == CS_LINKAGE_LINKED && !*client->cudnn;
    if (!*client->cudnn &&
        !cs_loader_find("libcudnn.so.9", origin, elf->rpath, elf->runpath, client->cudnn,
                        sizeof client->cudnn) &&
        !cs_loader_find("libcudnn.so.8", origin, elf->rpath, elf->runpath, client->cudnn,
                        sizeof client->cudnn))
        client->cudnn[0] = '\0';
    client->packaged = !*client->cudnn;
    if (client->packaged)
        find_packaged(facts, client->cudnn);
    if (!*client->cudnn)
        return;
    client->version = cs_libcudnn_version(client->cudnn, &facts->packages);
    tidy_path(client->cudnn);
}

/* A file that names no library gets the cuDNN of the file that looks it up for both. */
static void follow_stand_ins(struct cs_examined *subject)
{
    for (size_t i = 0; i < subject->clients; i++)
        for (size_t j = 0; j < subject->clients && subject->client[i].names_none; j++) {
            const struct cs_client *other = &subject->client[j];
            if (other->linkage != CS_LINKAGE_LOOKED || !*other->cudnn)
                continue;
            strcpy(subject->client[i].cudnn, other->cudnn);
            subject->client[i].version = other->version;
            subject->client[i].packaged = other->packaged;
            break;
        }
}

static void note_main(void *ctx, const char *name, bool defined)
{
    bool *python = ctx;
    *python |= defined && strcmp(name, "Py_BytesMain") == 0;
}

/* True if a file contains the word RTLD_DEEPBIND. Python itself does not count: it contains the
 * word as a constant of its module os. */
static bool names_deepbind(const struct cs_elf *elf)
{
    static const char word[] = "RTLD_DEEPBIND";
    bool python = false;
    if (!cs_elf_holds(elf, word, strlen(word) + 1))
        return false;
    cs_elf_symbols(elf, note_main, &python);
    return !python;
}

/* Adds one file if it uses cuDNN or names RTLD_DEEPBIND. Other files are left out. */
static void add_client(struct cs_program_facts *facts, struct cs_examined *subject,
                       const char *path)
{
    struct cs_elf elf;
    const char *why;
    if (!cs_elf_open(&elf, path, &why))
        return;
    enum cs_linkage linkage = cs_linkage_of(&elf);
    bool deepbind = names_deepbind(&elf);
    if (linkage != CS_LINKAGE_NONE || deepbind) {
        struct cs_client *client =
            cs_array_add(&subject->client, &subject->clients, sizeof *client);
        facts->broken = facts->broken || !client;
        if (client) {
            *client = (struct cs_client){.linkage = linkage, .names_deepbind = deepbind};
            snprintf(client->path, sizeof client->path, "%s", path);
            if (linkage == CS_LINKAGE_LINKED || linkage == CS_LINKAGE_LOOKED)
                find_cudnn(facts, &elf, client);
        }
    }
    cs_elf_close(&elf);
}

static void add_files(struct cs_program_facts *facts, struct cs_examined *subject,
                      const char *folder, const char *pattern, int length)
{
    char path[PATH_MAX], seen[PATH_MAX];
    glob_t found;
    snprintf(path, sizeof path, "%s%.*s", folder, length, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    /* A file that several links name is examined once. */
    seen[0] = '\0';
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char real[PATH_MAX];
        if (!realpath(found.gl_pathv[i], real) || strcmp(real, seen) == 0)
            continue;
        snprintf(seen, sizeof seen, "%s", real);
        add_client(facts, subject, found.gl_pathv[i]);
    }
    globfree(&found);
}

static void look_at_framework(struct cs_program_facts *facts, const struct framework *framework)
{
    const struct cs_package *package = cs_packages_find(&facts->packages, framework->packages);
    struct cs_examined *subject = NULL;
    for (const char *at = framework->files; *at; at += strcspn(at, " ") + (strchr(at, ' ') != 0)) {
        int name = (int)strcspn(at, "/"), length = (int)strcspn(at, " ");
        for (size_t i = 0; i < facts->packages.modules; i++) {
            const struct cs_module *module = &facts->packages.module[i];
            if ((int)strlen(module->name) != name || strncmp(module->name, at, (size_t)name) != 0)
                continue;
            if (!subject)
                subject = add_subject(facts, framework->title, package);
            if (subject)
                subject->asked = framework->asked;
            if (subject)
                add_files(facts, subject, module->folder, at + name, length - name);
        }
    }
    if (subject)
        follow_stand_ins(subject);
}

struct scan {
    struct cs_program_facts *facts;
    struct cs_examined *subject;
};

/* Examines the command's libraries, except cuDNN itself. */
static void look_at_library(void *ctx, const char *name, const char *path)
{
    struct scan *scan = ctx;
    if (path && strchr(path, '/') &&
        strncmp(cs_path_file(name), "libcudnn", strlen("libcudnn")) != 0)
        add_client(scan->facts, scan->subject, path);
}

static void look_at_command(struct cs_program_facts *facts)
{
    char complaint[256];
    struct scan scan = {facts, add_subject(facts, cs_path_file(facts->program), NULL)};
    if (!scan.subject)
        return;
    add_client(facts, scan.subject, facts->program);
    cs_loader_list(facts->program, NULL, look_at_library, &scan, complaint, sizeof complaint);
}

void cs_clients_find(struct cs_program_facts *facts)
{
    if (facts->packages.text)
        for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++)
            look_at_framework(facts, &frameworks[i]);
    else if (*facts->program)
        look_at_command(facts);
}

const char *cs_examined_name(const struct cs_examined *subject, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", subject->title, *subject->version ? " " : "", subject->version);
    return text;
}
