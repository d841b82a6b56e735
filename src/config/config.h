/* The options as one struct, from the ini file and the environment. This part knows how options are
 * written down, not what they are for. A bad value never stops anything: it makes one note and the
 * default stays.
 *
 * Order of precedence: the variable of an option alone, CONVSHIM_<NAME> (CONVSHIM_WORKSPACE,
 * CONVSHIM_INTERLEAVE_BUDGET); CONVSHIM_CONFIG ("name=value;name=value"); one file:
 * CONVSHIM_CONFIGFILE, else $XDG_CONFIG_HOME/convshim/<script>.ini (XDG_CONFIG_HOME unset:
 * ~/.config), where the program runs one (main.py.ini), else <program>.ini, else convshim.ini in
 * the same place, else /etc/convshim.ini; built-in defaults. CONVSHIM=0 switches everything off.
 * The current directory is never looked at: relative XDG_CONFIG_HOME and HOME are as good as unset.
 * The first file that exists decides; if it cannot be read, the defaults stay. An environment
 * variable that is set to nothing counts as unset. Files beyond 1 MiB are read up to there.
 *
 * Rules are sections [rule NAME] of the file, tried in its order; in CONVSHIM_CONFIG their keys are
 * rule.NAME.KEY. Rules of CONVSHIM_CONFIG come before those of the file and take the place of rules
 * with their names. A rule with a fault, or one that sets nothing, is dropped as a whole.
 *
 * A variable that begins with CONVSHIM_ and is no option's makes a note (variables.c). */
#ifndef CS_CONFIG_CONFIG_H
#define CS_CONFIG_CONFIG_H

#include "decide/rule.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_CONFIG_TEXT = 4096, /* bytes of a path, its end included */
    CS_CONFIG_NAME = 32,
    CS_CONFIG_AUTO = -1 /* a SIZE, COUNT or RATIO written as auto; off is 0 */
};

/* Bits: one form, or both. */
enum cs_summary_form {
    CS_SUMMARY_OFF = 0,
    CS_SUMMARY_TEXT = 1,
    CS_SUMMARY_JSON = 2,
    CS_SUMMARY_BOTH = CS_SUMMARY_TEXT | CS_SUMMARY_JSON
};

/* How each type of options.def is stored. */
typedef int64_t cs_option_SIZE;
typedef int64_t cs_option_COUNT;
typedef int64_t cs_option_RATIO; /* thousandths */
typedef int cs_option_CHOICE;    /* the place of a word among those allowed, from 0 */
typedef int cs_option_LEVEL;     /* enum cs_level */
typedef struct {
    char text[CS_CONFIG_NAME];
} cs_option_POLICY;
typedef struct {
    char text[CS_CONFIG_TEXT];
} cs_option_PATH;
typedef struct {
    enum cs_summary_form form;
    char path[CS_CONFIG_TEXT]; /* where there is CS_SUMMARY_JSON */
} cs_option_FORM;

/* The words of each CHOICE. */
enum cs_interleave {
    CS_INTERLEAVE_OFF,
    CS_INTERLEAVE_STAGE
};

enum cs_untileable {
    CS_UNTILEABLE_AUTO,
    CS_UNTILEABLE_RUN,
    CS_UNTILEABLE_REFUSE
};

enum cs_config_backing {
    CS_CONFIG_BACKING_AUTO,
    CS_CONFIG_BACKING_CLIENT,
    CS_CONFIG_BACKING_OWN
};

enum {
#define CS_OPTION(name, type, value, allowed, help) CS_OPTION_##name,
#include "convshim/options.def"
#undef CS_OPTION
    CS_OPTIONS
};

/* Where a value comes from: a line of the file, an environment variable (an item of it, counted
 * from 1, if it has several), or nowhere: the built-in default. */
struct cs_origin {
    const char *variable; /* static; NULL: the file if `line` is not 0, else built-in */
    int line;
};

struct cs_config {
#define CS_OPTION(name, type, value, allowed, help) cs_option_##type name;
#include "convshim/options.def"
#undef CS_OPTION
    struct cs_rules rules;       /* in the order in which they are tried */
    bool enabled;                /* false: CONVSHIM=0 */
    char source[CS_CONFIG_TEXT]; /* what was read: the file, CONVSHIM_CONFIG, or "" for defaults */
    size_t file_length; /* bytes of `source` that are the file's path; 0: no file was read */
    struct cs_origin origin[CS_OPTIONS]; /* of each option, by CS_OPTION_name */
};

/* One line about something the user should mend, as "FILE:LINE: option: what is wrong; allowed:
 * what is". FILE may be the name of an environment variable: the "line" of CONVSHIM_CONFIG is the
 * number of its item, other variables have none. Of one file or variable at most 16 notes are made
 * and one that says so. */
typedef void cs_config_note_fn(void *ctx, const char *line);

/* Fills the struct. `policies` is the NULL-ended list of policy names that a POLICY option may
 * have, `program` the name for <program>.ini (NULL: none). Reads files and the environment; not
 * thread-safe against setenv. `note` may be NULL: a first call without notes tells where to log
 * those of a second. interleave.budget makes backing own; a source that says application gets a
 * note. With CONVSHIM=0 nothing is read: defaults, not enabled. */
void cs_config_load(struct cs_config *config, const char *program, const char *const *policies,
                    cs_config_note_fn *note, void *ctx);

/* The same where the program runs a script (NULL: none), for which SCRIPT.ini comes before
 * PROGRAM.ini. */
void cs_config_load_script(struct cs_config *config, const char *program, const char *script,
                           const char *const *policies, cs_config_note_fn *note, void *ctx);

/* The same from one file alone, whatever the environment says. False, with errno set and defaults
 * in *config, if it cannot be read at all; nothing is noted then. */
bool cs_config_load_file(struct cs_config *config, const char *path, const char *const *policies,
                         cs_config_note_fn *note, void *ctx);

/* Items as CONVSHIM_CONFIG has them, alone, over defaults. */
void cs_config_load_items(struct cs_config *config, const char *items, const char *const *policies,
                          cs_config_note_fn *note, void *ctx);

/* Items that cs_config_load puts over all else from now on, behind those of calls before; the
 * program gives them. False, and nothing is changed, if they are too many. Thread-safe but against
 * cs_config_load, which sees them whole or not at all. */
bool cs_config_override(const char *items);

/* The environment variable that stands for the option of that name alone, or NULL. */
const char *cs_config_variable(const char *option);

/* The number of this process in a job of many, as the program that started the job gives it in the
 * environment; -1 if there is none. */
int64_t cs_config_rank(void);

/* True if CONVSHIM=0 is set: asked before anything else, reads nothing but that variable. */
bool cs_config_disabled(void);

/* Defaults alone. */
void cs_config_default(struct cs_config *config);

/* "64MiB", "64M", "1.5g", "512KiB", "4096" to bytes, "auto" to CS_CONFIG_AUTO. False if it is none
 * of these or beyond 64 bits. K, M, G, T mean powers of 1024, with or without iB or B, in any case;
 * blanks may stand before them. Of these a number may have up to three decimals; what is then no
 * whole number of bytes is rounded down. */
bool cs_config_size(const char *text, int64_t *bytes_p);

#endif
