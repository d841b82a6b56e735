/* Converts names of options to names of environment variables and back. A misspelt variable would
 * silently have no effect, so every unknown one with the prefix makes a note. */
#include "config/ini.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char prefix[] = "CONVSHIM_";

enum {
    PREFIX = sizeof prefix - 1,
    NAME = PREFIX + CS_CONFIG_NAME
};

/* Variables that belong to no option: the library's, and those that tests and scripts use. A name
 * that ends with _ stands for all names that begin with it. */
static const char *const others[] = {"CONFIG", "CONFIGFILE",    "BUILD", "SAN_RT",   "STRICT",
                                     "TEST_",  "UPDATE_GOLDEN", "RUN",   "SEGMENTS", NULL};

enum {
    SUGGESTED = 2 /* the first names in `others` are those that users set */
};

const char *cs_variable_of(int option)
{
    /* Per thread, because several threads may read the options at once. */
    static __thread char names[CS_OPTIONS][NAME] __attribute__((tls_model("initial-exec")));
    char *name = names[option];
    const char *from = cs_options[option].name;
    if (*name)
        return name;
    char *to = memcpy(name, prefix, PREFIX);
    for (to += PREFIX; *from; from++)
        *to++ = (char)(*from >= 'a' && *from <= 'z' ? *from - 'a' + 'A' : *from);
    return name;
}

const char *cs_variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static bool is_other(const char *name)
{
    for (int i = 0; others[i]; i++) {
        size_t length = strlen(others[i]);
        bool begins = others[i][length - 1] == '_';
        if (begins ? strncmp(name, others[i], length) == 0 : strcmp(name, others[i]) == 0)
            return true;
    }
    return false;
}

/* True if a variable is known, by its name without the prefix. */
static bool is_known(const char *name)
{
    for (int i = 0; i < CS_OPTIONS; i++)
        if (strcmp(name, cs_variable_of(i) + PREFIX) == 0)
            return true;
    return is_other(name);
}

/* Returns the most similar known name without its prefix, or NULL if none is similar. */
static const char *find_nearest(const char *name)
{
    size_t best = cs_option_name_too_far(strlen(name));
    const char *found = NULL;
    if (strlen(name) >= CS_CONFIG_NAME)
        return NULL;
    for (int i = 0; i < CS_OPTIONS + SUGGESTED; i++) {
        const char *known = i < CS_OPTIONS ? cs_variable_of(i) + PREFIX : others[i - CS_OPTIONS];
        size_t distance = cs_option_name_distance(name, known);
        if (distance < best) {
            best = distance;
            found = known;
        }
    }
    return found;
}

static void note_unknown(struct cs_load *load, const char *name)
{
    char shown[CS_SHOWN_BYTES];
    const char *meant = find_nearest(name + PREFIX);
    cs_diagnostics_show(shown, name);
    if (meant)
        cs_diagnostics_note(load, "%s: no such variable, ignored; did you mean %s%s?", shown,
                            prefix, meant);
    else
        cs_diagnostics_note(load,
                            "%s: no such variable, ignored; allowed: %s and the name of an option",
                            shown, prefix);
}

void cs_variables_unknown(struct cs_load *load)
{
    char name[2 * NAME];
    cs_ini_begin(load, "environment");
    for (char **item = environ; item && *item && !getauxval(AT_SECURE); item++) {
        int length = (int)strcspn(*item, "=");
        bool ours = strncmp(*item, prefix, PREFIX) == 0,
             set = (*item)[length] && (*item)[length + 1];
        /* A long name that is cut is still unknown. */
        snprintf(name, sizeof name, "%.*s", length, *item);
        if (ours && set && !is_known(name + PREFIX))
            note_unknown(load, name);
    }
}
