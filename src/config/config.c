/* Merges the sources of options in their order of precedence. */
#include "config/config.h"

#include "config/ini.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cs_config_disabled(void)
{
    const char *value = cs_variable("CONVSHIM");
    return value && strcmp(value, "0") == 0;
}

void cs_config_default(struct cs_config *config)
{
    memset(config, 0, sizeof *config);
    config->enabled = true;
    for (int i = 0; i < CS_OPTIONS; i++)
        (void)cs_option_set(config, i, cs_options[i].value, NULL);
}

/* Reads a file. True if the search for a file ends at this one: it was read or cannot be read.
 * `named`: the user has named it, so its absence makes a note, too. */
static bool try_file(struct cs_load *load, const char *path, bool named)
{
    int error = cs_ini_file(load, path);
    if (!error) {
        struct cs_config *config = load->config;
        snprintf(config->source, sizeof config->source, "%s", path);
        config->file_length = strlen(config->source);
        return true;
    }
    if (!named && (error == ENOENT || error == ENOTDIR))
        return false;
    char text[128];
    cs_ini_begin(load, path);
    cs_diagnostics_note(load, "cannot be read: %s; its options are ignored",
                        strerror_r(error, text, sizeof text));
    return true;
}

/* Finds the user's folder for files, up to convshim/: below the folder in variable `name`, else
 * below the home folder. False if there is none. */
static bool user_folder(const char *name, const char *below_home, char *path, size_t size)
{
    const char *base = cs_variable(name), *below = "";
    if (!base || base[0] != '/') {
        base = cs_variable("HOME");
        below = below_home;
    }
    return base && base[0] == '/' &&
           (size_t)snprintf(path, size, "%s%s/convshim/", base, below) < size;
}

static bool try_user_file(struct cs_load *load, const char *folder, const char *program)
{
    char path[CS_CONFIG_TEXT];
    return (size_t)snprintf(path, sizeof path, "%s%s.ini", folder, program) < sizeof path &&
           try_file(load, path, false);
}

static bool names_file(const char *name)
{
    return name && *name && !strchr(name, '/');
}

/* Loads the first file that exists. */
static void search_file(struct cs_load *load, const char *program, const char *script)
{
    char folder[CS_CONFIG_TEXT];
    if (user_folder("XDG_CONFIG_HOME", "/.config", folder, sizeof folder)) {
        if (names_file(script) && try_user_file(load, folder, script))
            return;
        if (names_file(program) && try_user_file(load, folder, program))
            return;
        if (try_user_file(load, folder, "convshim"))
            return;
    }
    try_file(load, "/etc/convshim.ini", false);
}

/* Makes a note if the current directory has a convshim.ini, which is not read: a program must not
 * get other options from the folder that it is started in. */
static void note_unread_file(struct cs_load *load)
{
    static const char name[] = "convshim.ini";
    struct stat here, used;
    const char *source = load->config->source;
    bool is_here = stat(name, &here) == 0 && S_ISREG(here.st_mode);
    bool is_used = is_here && *source && stat(source, &used) == 0 && used.st_dev == here.st_dev &&
                   used.st_ino == here.st_ino;
    if (!is_here || is_used)
        return;
    cs_ini_begin(load, "./convshim.ini");
    cs_diagnostics_note(load, "not read. To use it: CONVSHIM_CONFIGFILE=$PWD/convshim.ini, or "
                              "convshim run --preset ./convshim.ini");
}

static void load_file(struct cs_load *load, const char *program, const char *script)
{
    const char *named = cs_variable("CONVSHIM_CONFIGFILE");
    if (named) {
        try_file(load, named, true);
        return;
    }
    search_file(load, program, script);
    note_unread_file(load);
}

const char *cs_config_variable(const char *option)
{
    int index = cs_option_find(option);
    return index >= 0 ? cs_variable_of(index) : NULL;
}

int64_t cs_config_rank(void)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = cs_variable(names[i]);
        size_t digits = value ? strspn(value, "0123456789") : 0;
        if (digits > 0 && digits < 10 && !value[digits])
            return strtol(value, NULL, 10);
    }
    return -1;
}

/* Adds a name to the sources of options: "convshim.ini and variables". */
static void add_source(struct cs_config *config, const char *name)
{
    size_t length = strlen(config->source);
    snprintf(config->source + length, sizeof config->source - length, "%s%s",
             length > 0 ? " and " : "", name);
}

/* Reads CONVSHIM_CONFIG and the variables of single options, and makes notes of unknown ones. */
static void load_environment(struct cs_load *load)
{
    const char *items = cs_variable("CONVSHIM_CONFIG");
    bool has_variables = false;
    if (items) {
        cs_ini_items(load, "CONVSHIM_CONFIG", items);
        add_source(load->config, "CONVSHIM_CONFIG");
    }
    for (int i = 0; i < CS_OPTIONS; i++) {
        const char *name = cs_variable_of(i), *value = cs_variable(name);
        cs_ini_begin(load, name);
        if (value)
            cs_ini_set(load, cs_options[i].name, value);
        has_variables = has_variables || (value && !cs_option_is_output(i));
    }
    if (has_variables)
        add_source(load->config, "variables");
    cs_variables_unknown(load);
    const char *enabled = cs_variable("CONVSHIM");
    cs_ini_begin(load, "CONVSHIM");
    if (enabled && strcmp(enabled, "1") != 0)
        cs_diagnostics_note(load, "only 0 switches convshim off; allowed: 0, 1");
}

static char overrides[CS_CONFIG_TEXT];
static _Atomic size_t overriding; /* bytes of complete items */
static atomic_flag writing = ATOMIC_FLAG_INIT;

bool cs_config_override(const char *items)
{
    if (atomic_flag_test_and_set(&writing))
        return false;
    size_t used = overriding, room = sizeof overrides - used;
    bool fits = (size_t)snprintf(overrides + used, room, ";%s", items) < room;
    if (fits)
        overriding = used + 1 + strlen(items);
    atomic_flag_clear(&writing);
    return fits;
}

static void load_overrides(struct cs_load *load)
{
    char items[CS_CONFIG_TEXT];
    size_t length = overriding;
    if (length == 0)
        return;
    snprintf(items, sizeof items, "%.*s", (int)(length - 1), overrides + 1);
    cs_ini_items(load, "convshim_configure", items);
    add_source(load->config, "convshim_configure");
}

void cs_config_load_items(struct cs_config *config, const char *items, const char *const *policies,
                          cs_config_note_fn *note, void *ctx)
{
    struct cs_load load = {.config = config, .policies = policies, .note = note, .ctx = ctx};
    cs_config_default(config);
    cs_ini_items(&load, "convshim_configure", items);
}

void cs_config_load(struct cs_config *config, const char *program, const char *const *policies,
                    cs_config_note_fn *note, void *ctx)
{
    cs_config_load_script(config, program, NULL, policies, note, ctx);
}

void cs_config_load_script(struct cs_config *config, const char *program, const char *script,
                           const char *const *policies, cs_config_note_fn *note, void *ctx)
{
    struct cs_load load = {.config = config, .policies = policies, .note = note, .ctx = ctx};
    cs_config_default(config);
    config->enabled = !cs_config_disabled();
    if (!config->enabled)
        return;
    load_file(&load, program, script);
    load_environment(&load);
    load_overrides(&load);
}

bool cs_config_load_file(struct cs_config *config, const char *path, const char *const *policies,
                         cs_config_note_fn *note, void *ctx)
{
    struct cs_load load = {.config = config, .policies = policies, .note = note, .ctx = ctx};
    cs_config_default(config);
    int error = cs_ini_file(&load, path);
    if (error) {
        errno = error;
        return false;
    }
    snprintf(config->source, sizeof config->source, "%s", path);
    config->file_length = strlen(config->source);
    return true;
}
