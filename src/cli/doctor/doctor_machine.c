/* Checks of the machine: the library, preloaded libraries, options, driver, cuDNN, XLA's caches. */
#include "cli/common/variables.h"
#include "cli/doctor/doctor.h"
#include "cli/program/xla_cache.h"
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE = 1024
};

/* Loads the library with the loader itself, because only the loader defines the requirements for a
 * preloaded library. */
void cs_doctor_library(struct cs_doctor *doctor)
{
    char path[PATH_MAX], text[PATH_MAX + 128];
    const char *glibc = gnu_get_libc_version();
    if (!cs_preload_library(doctor->library_option, path, text, sizeof text))
        cs_doctor_add(doctor, CS_FATAL, "libconvshim.so", "%s", text);
    else if (!cs_loader_try(path, text, sizeof text))
        cs_doctor_add(doctor, CS_NOTE, path, "found, but it was not loaded: no loader");
    else if (*text)
        cs_doctor_add(doctor, CS_FATAL, path, "glibc %s cannot load it: %s", glibc, text);
    else
        cs_doctor_add(doctor, CS_FINE, path, "found, and glibc %s can load it", glibc);
}

/* --- preloaded libraries --- */

/* The exports of a library that may keep calls from convshim. */
struct exports {
    bool lookup, entry;
};

static void note_export(void *ctx, const char *name, bool defined)
{
    struct exports *exports = ctx;
    exports->lookup |= defined && strcmp(name, "dlsym") == 0;
    exports->entry |= defined && strncmp(name, "cudnn", strlen("cudnn")) == 0;
}

/* Judges one path of a list of preloaded libraries. Returns false after a finding. */
static bool judge_preloaded(struct cs_doctor *doctor, const char *where, char path[PATH_MAX])
{
    struct cs_elf elf;
    struct exports exports = {false, false};
    const char *why;
    if (!strchr(path, '/') && !cs_loader_find(path, NULL, path, PATH_MAX)) {
        cs_doctor_add(doctor, CS_WARNING, where, "%s does not exist", path);
        return false;
    }
    if (!cs_elf_open(&elf, path, &why)) {
        cs_doctor_add(doctor, CS_WARNING, where, "%s: %s", path, why);
        return false;
    }
    cs_elf_symbols(&elf, note_export, &exports);
    cs_elf_close(&elf);
    if (cs_preload_is_library(path, strlen(path)) || !(exports.lookup || exports.entry))
        return true;
    cs_doctor_add(doctor, CS_WARNING, where,
                  "%s also intercepts %s: calls that it does not pass on do not reach convshim",
                  path, exports.entry ? "cuDNN" : "dlsym");
    return false;
}

/* Judges all paths of a list of preloaded libraries. `where` names the list. */
static void judge_list(struct cs_doctor *doctor, const char *where, const char *list)
{
    char path[PATH_MAX];
    const char *rest = list, *file;
    size_t length;
    bool fine = true;
    while ((file = cs_preload_next(&rest, &length))) {
        snprintf(path, sizeof path, "%.*s", (int)length, file);
        fine = judge_preloaded(doctor, where, path) && fine;
    }
    if (fine)
        cs_doctor_add(doctor, CS_FINE, where, "%s", *list ? list : "empty");
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

/* --- options --- */

static void note_mistake(void *ctx, const char *line)
{
    cs_doctor_add(ctx, CS_WARNING, "options", "%s", line);
}

void cs_doctor_config(struct cs_doctor *doctor)
{
    static struct cs_config config;
    const int before = doctor->count[CS_WARNING];
    if (cs_config_disabled())
        cs_doctor_add(doctor, CS_WARNING, "CONVSHIM", "set to 0, so convshim is off");
    cs_command_config(&config, doctor->command, note_mistake, doctor);
    if (doctor->count[CS_WARNING] == before)
        cs_doctor_add(doctor, CS_FINE, "options", "from %s",
                      *config.source ? config.source : "built-in defaults");
}

/* --- driver and cuDNN --- */

void cs_doctor_driver(struct cs_doctor *doctor)
{
    char path[PATH_MAX];
    doctor->driver = cs_loader_find("libcuda.so.1", NULL, path, sizeof path);
    if (doctor->driver)
        cs_doctor_add(doctor, CS_FINE, "libcuda.so.1", "%s", path);
    else
        cs_doctor_add(doctor, CS_NOTE, "libcuda.so.1", "not found, so programs run without a GPU");
}

void cs_doctor_cudnn(struct cs_doctor *doctor)
{
    char path[PATH_MAX], title[64], mixed[2 * PATH_MAX + 256];
    for (size_t i = 0; i < doctor->facts.subjects; i++)
        if (*doctor->facts.subject[i].cudnn)
            return;
    if (doctor->command)
        return;
    if (!cs_libcudnn_find(NULL, path)) {
        cs_doctor_add(doctor, CS_NOTE, "libcudnn.so.9",
                      "not in the loader's folders, so only programs that contain cuDNN find one");
        return;
    }
    int version = cs_libcudnn_version(path);
    cs_libcudnn_title(version, title, sizeof title);
    if (cs_libcudnn_served(version))
        cs_doctor_add(doctor, CS_FINE, "libcudnn.so.9", "%s in %s", title, path);
    else
        cs_doctor_add(doctor, CS_WARNING, "libcudnn.so.8",
                      "%s in %s: convshim supports only cuDNN 9, so all calls run unchanged", title,
                      path);
    if (cs_libcudnn_foreign(path, mixed, sizeof mixed)) {
        doctor->advice = "Put only one cuDNN into LD_LIBRARY_PATH.";
        cs_doctor_add(doctor, CS_WARNING, "libcudnn.so.9", "%s", mixed);
    }
}

/* Reports XLA's caches. Compiled programs and tuning results contain workspace sizes. If a cache is
 * written with the library and used without it, a whole convolution runs in a tile's workspace. */
void cs_doctor_cache(struct cs_doctor *doctor)
{
    for (int i = 0; i < CS_XLA_CACHES; i++) {
        const struct cs_xla_cache *cache = &cs_xla_caches[i];
        size_t length;
        const char *path = cs_xla_cache_path(cache, cs_cli_variable(cache->variable), &length);
        if (path && cache->separated)
            cs_doctor_add(
                doctor, CS_NOTE, cache->variable,
                "convshim run uses a folder below %.*s for each version and set of "
                "options. With LD_PRELOAD alone, use another folder than without convshim",
                (int)length, path);
        else if (path)
            cs_doctor_add(doctor, CS_WARNING, cache->variable,
                          "workspace sizes that %.*s stores with convshim are too small for runs "
                          "without it",
                          (int)length, path);
    }
}
