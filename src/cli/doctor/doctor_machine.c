/* Checks of the machine: the library, preloaded libraries, options, driver and cuDNN. */
#include "base/path.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/doctor/doctor.h"
#include "cli/program/command_facts.h"
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE = 1024
};

/* Whether a library exports dlsym, and functions of cuDNN. */
struct exports {
    bool lookup, entry;
};

static void note_export(void *ctx, const char *name, bool defined)
{
    struct exports *exports = ctx;
    exports->lookup |= defined && strcmp(name, "dlsym") == 0;
    exports->entry |= defined && strncmp(name, "cudnn", strlen("cudnn")) == 0;
}

void cs_doctor_library(struct cs_doctor *doctor)
{
    char why[PATH_MAX + 128];
    struct cs_elf elf;
    const char *fault;
    if (!cs_preload_library(doctor->library_option, doctor->library, sizeof doctor->library, why,
                            sizeof why)) {
        doctor->library[0] = '\0';
        cs_doctor_add(doctor, CS_CHECK_library, CS_FATAL, "libconvshim.so", "%s", why);
        return;
    }
    if (!cs_elf_open(&elf, doctor->library, &fault)) {
        cs_doctor_add(doctor, CS_CHECK_library, CS_FATAL, doctor->library, "%s", fault);
        return;
    }
    struct exports exports = {false, false};
    cs_elf_symbols(&elf, note_export, &exports);
    if (elf.machine != cs_elf_this_machine())
        cs_doctor_add(doctor, CS_CHECK_library, CS_FATAL, doctor->library,
                      "built for another processor");
    else if (!exports.lookup || !exports.entry)
        cs_doctor_add(doctor, CS_CHECK_library, CS_FATAL, doctor->library,
                      "not convshim's library: it exports no cuDNN functions");
    else
        cs_doctor_add(doctor, CS_CHECK_library, CS_FINE, doctor->library, "found");
    cs_elf_close(&elf);
}

static void ignore_library(void *ctx, const char *name, const char *path)
{
    (void)ctx, (void)name, (void)path;
}

/* Checks the library with the loader itself, because only the loader defines the requirements for a
 * preloaded library. */
void cs_doctor_glibc(struct cs_doctor *doctor)
{
    char complaint[LINE], self[PATH_MAX];
    const char *version = gnu_get_libc_version();
    if (!*doctor->library || !realpath("/proc/self/exe", self) ||
        !cs_loader_list(self, doctor->library, ignore_library, NULL, complaint, sizeof complaint))
        cs_doctor_add(doctor, CS_CHECK_glibc, CS_NOTE, "glibc",
                      "%s, not checked because the library cannot be loaded", version);
    else if (*complaint)
        cs_doctor_add(doctor, CS_CHECK_glibc, CS_FATAL, "glibc", "%s cannot load the library: %s",
                      version, complaint);
    else
        cs_doctor_add(doctor, CS_CHECK_glibc, CS_FINE, "glibc", "%s is new enough", version);
}

/* Judges one path of a list of preloaded libraries, `length` bytes long. */
static enum cs_severity judge_preloaded(struct cs_doctor *doctor, const char *where,
                                        const char *file, int length)
{
    char path[PATH_MAX];
    struct cs_elf elf;
    struct exports exports = {false, false};
    const char *why;
    snprintf(path, sizeof path, "%.*s", length, file);
    if (!strchr(path, '/') && !cs_loader_find(path, ".", NULL, NULL, path, sizeof path)) {
        cs_doctor_add(doctor, CS_CHECK_preload, CS_WARNING, where, "%.*s does not exist", length,
                      file);
        return CS_WARNING;
    }
    if (!cs_elf_open(&elf, path, &why)) {
        cs_doctor_add(doctor, CS_CHECK_preload, CS_WARNING, where, "%s: %s", path, why);
        return CS_WARNING;
    }
    cs_elf_symbols(&elf, note_export, &exports);
    cs_elf_close(&elf);
    bool ours = cs_preload_is_library(path, strlen(path));
    if (!ours && (exports.lookup || exports.entry)) {
        cs_doctor_add(doctor, CS_CHECK_preload, CS_WARNING, where,
                      "%s also intercepts %s: calls that it does not pass on do not reach convshim",
                      path, exports.entry ? "cuDNN" : "dlsym");
        return CS_WARNING;
    }
    return CS_FINE;
}

static void judge_list(struct cs_doctor *doctor, const char *where, const char *list)
{
    const char *rest = list, *file;
    size_t length;
    enum cs_severity worst = CS_FINE;
    while ((file = cs_preload_next(&rest, &length)))
        if (judge_preloaded(doctor, where, file, (int)length) > worst)
            worst = CS_WARNING;
    if (worst == CS_FINE)
        cs_doctor_add(doctor, CS_CHECK_preload, CS_FINE, where, "%s", *list ? list : "empty");
}

void cs_doctor_preload(struct cs_doctor *doctor)
{
    char list[LINE];
    const char *variable = cs_cli_variable("LD_PRELOAD");
    judge_list(doctor, "LD_PRELOAD", variable ? variable : "");
    FILE *file = fopen("/etc/ld.so.preload", "r");
    if (!file)
        return;
    list[fread(list, 1, sizeof list - 1, file)] = '\0';
    fclose(file);
    for (char *end; (end = strpbrk(list, "\n\t"));)
        *end = ' ';
    judge_list(doctor, "/etc/ld.so.preload", list);
}

void cs_doctor_enabled(struct cs_doctor *doctor)
{
    bool off = cs_config_disabled();
    cs_doctor_add(doctor, CS_CHECK_enabled, off ? CS_WARNING : CS_FINE, "CONVSHIM",
                  off ? "set to 0, so convshim is off" : "convshim is on");
}

struct notes {
    struct cs_doctor *doctor;
    int count;
};

static void note_config(void *ctx, const char *line)
{
    struct notes *notes = ctx;
    notes->count++;
    cs_doctor_add(notes->doctor, CS_CHECK_config, CS_WARNING, "options", "%s", line);
}

void cs_doctor_config(struct cs_doctor *doctor)
{
    static struct cs_config config;
    struct notes notes = {doctor, 0};
    cs_command_config(&config, doctor->command, note_config, &notes);
    if (notes.count == 0)
        cs_doctor_add(doctor, CS_CHECK_config, CS_FINE, "options", "from %s",
                      *config.source ? config.source : "built-in defaults");
}

/* Writes ", kernel module 580.65.06", from a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel
 * Module  580.65.06  ...". "": not known. */
static void driver_version(char *text, size_t size)
{
    char line[LINE] = "", *word, *rest;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    for (word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        if (!*text && strspn(word, "0123456789.") == strlen(word))
            snprintf(text, size, ", kernel module %s", word);
}

void cs_doctor_driver(struct cs_doctor *doctor)
{
    char path[PATH_MAX], version[128];
    driver_version(version, sizeof version);
    doctor->driver = cs_loader_find("libcuda.so.1", "", NULL, NULL, path, sizeof path);
    if (doctor->driver)
        cs_doctor_add(doctor, CS_CHECK_driver, CS_FINE, "libcuda.so.1", "%s%s", path, version);
    else
        cs_doctor_add(doctor, CS_CHECK_driver, CS_NOTE, "libcuda.so.1",
                      "not found%s, so programs run without a GPU", version);
}

/* True if all frameworks that were found load another cuDNN, or if a command was given and does not
 * load this one. */
static bool is_unused(const struct cs_doctor *doctor, const char *path)
{
    char wanted[PATH_MAX], real[PATH_MAX];
    bool others = doctor->command;
    if (!realpath(path, wanted))
        return false;
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        for (size_t j = 0; j < doctor->facts.subject[i].clients; j++) {
            const char *cudnn = doctor->facts.subject[i].client[j].cudnn;
            if (!*cudnn)
                continue;
            if (realpath(cudnn, real) && strcmp(real, wanted) == 0)
                return false;
            others = true;
        }
    return others;
}

void cs_doctor_cudnn(struct cs_doctor *doctor)
{
    char path[PATH_MAX], title[64];
    struct cs_packages none = {.text = NULL};
    if (!cs_loader_find("libcudnn.so.9", "", NULL, NULL, path, sizeof path) &&
        !cs_loader_find("libcudnn.so.8", "", NULL, NULL, path, sizeof path)) {
        cs_doctor_add(doctor, CS_CHECK_cudnn, CS_NOTE, "libcudnn.so.9",
                      "not in the loader's folders, so only programs that contain cuDNN find one");
        return;
    }
    int version = cs_libcudnn_version(path, &none);
    cs_libcudnn_title(path, version, title, sizeof title);
    if (is_unused(doctor, path)) {
        cs_doctor_add(doctor, CS_CHECK_cudnn, CS_NOTE, cs_path_file(path),
                      "%s in %s is not used: %s", title, path,
                      doctor->command ? "the command does not load it"
                                      : "the frameworks load their own");
        cs_doctor_advise(doctor, "Nothing to do.");
    } else if (cs_libcudnn_served(path, version))
        cs_doctor_add(doctor, CS_CHECK_cudnn, CS_FINE, "libcudnn.so.9", "%s in %s", title, path);
    else
        cs_doctor_add(doctor, CS_CHECK_cudnn, CS_WARNING, "libcudnn.so.8",
                      "%s in %s: convshim supports only cuDNN 9, so all calls run unchanged", title,
                      path);
}

/* True after a finding: the loader takes a part of this cuDNN from another folder. */
static bool judge_parts(struct cs_doctor *doctor, const char *path)
{
    char line[2 * PATH_MAX + 256];
    if (!cs_libcudnn_foreign(path, line, sizeof line))
        return false;
    cs_doctor_add(doctor, CS_CHECK_parts, CS_WARNING, "parts of cuDNN", "%s", line);
    return true;
}

void cs_doctor_parts(struct cs_doctor *doctor)
{
    char path[PATH_MAX] = "";
    const char *last = "";
    bool mixed = false;
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        for (size_t j = 0; j < doctor->facts.subject[i].clients; j++) {
            const char *cudnn = doctor->facts.subject[i].client[j].cudnn;
            if (*cudnn && strcmp(cudnn, last) != 0)
                mixed |= judge_parts(doctor, last = cudnn);
        }
    if (!*last && cs_loader_find("libcudnn.so.9", "", NULL, NULL, path, sizeof path))
        mixed = judge_parts(doctor, last = path);
    if (!mixed)
        cs_doctor_add(doctor, CS_CHECK_parts, CS_FINE, "parts of cuDNN",
                      *last ? "from one folder" : "no cuDNN was found");
}
