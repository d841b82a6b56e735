/* The options as one struct, from the ini file and the environment. This part parses options and
 * does not depend on their meaning. A bad value makes one note, and the default stays.
 *
 * Sources, highest precedence first:
 * - the variable of one option, CONVSHIM_<NAME> (CONVSHIM_TILES)
 * - CONVSHIM_CONFIG ("name=value;name=value")
 * - one file: CONVSHIM_CONFIGFILE or, if it is unset, the first that exists of <script>.ini (if the
 *   program runs a script: main.py.ini), <program>.ini and convshim.ini in
 *   $XDG_CONFIG_HOME/convshim (XDG_CONFIG_HOME unset: ~/.config), and /etc/convshim.ini
 * - built-in defaults
 *
 * CONVSHIM=0 switches everything off. The current directory is not searched: a relative
 * XDG_CONFIG_HOME or HOME counts as unset. If the file cannot be read, the defaults stay. An empty
 * environment variable counts as unset. Of larger files the first MiB is read.
 *
 * Rules are sections [rule NAME] of the file, tried in its order. In CONVSHIM_CONFIG their keys are
 * rule.NAME.KEY. Rules of CONVSHIM_CONFIG come before those of the file and replace rules of the
 * same name. A rule with a fault, or one that sets no option, is dropped as a whole.
 *
 * A variable that begins with CONVSHIM_ but belongs to no option makes a note (variables.c). */
#ifndef CS_CONFIG_CONFIG_H
#define CS_CONFIG_CONFIG_H

#include "decide/rule.h"
#include "decide/untileable.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CS_CONFIG_TEXT = 4096, /* bytes of a path, NUL included */
    CS_CONFIG_NAME = 32,   /* bytes of a name, NUL included */
    CS_CONFIG_AUTO = -1,   /* value of `auto` (SIZE, COUNT, RATIO); `off` and `lowest` are 0 */
    CS_CONFIG_CARD = -2    /* value of `card` (SIZE) */
};

/* The forms of a summary, as bits. */
enum cs_summary_form {
    CS_SUMMARY_OFF = 0,
    CS_SUMMARY_TEXT = 1,
    CS_SUMMARY_JSON = 2,
    CS_SUMMARY_BOTH = CS_SUMMARY_TEXT | CS_SUMMARY_JSON
};

/* The C type that stores each type of options.def. */
typedef int64_t cs_option_SIZE;
typedef int64_t cs_option_COUNT;
typedef int64_t cs_option_RATIO; /* thousandths */
typedef int cs_option_CHOICE;    /* the index of a word among those allowed, from 0 */
typedef int cs_option_LEVEL;     /* enum cs_level */
typedef struct {
    char text[CS_CONFIG_NAME];
} cs_option_POLICY;
typedef struct {
    char text[CS_CONFIG_TEXT];
} cs_option_PATH;
typedef struct {
    enum cs_summary_form form;
    char path[CS_CONFIG_TEXT]; /* used with CS_SUMMARY_JSON */
} cs_option_FORM;

/* The words of each CHOICE, in the order of options.def. */
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

/* The source of a value: a line of the file, an environment variable (with the number of the item,
 * from 1, if it has several), or the built-in default. */
struct cs_origin {
    const char *variable; /* valid until the thread that read it ends; NULL: the file if `line` is
                             not 0, else the built-in default */
    int line;
};

struct cs_config {
#define CS_OPTION(name, type, value, allowed, help) cs_option_##type name;
#include "convshim/options.def"
#undef CS_OPTION
    struct cs_rules rules;       /* in the order in which they are tried */
    bool enabled;                /* false: CONVSHIM=0 */
    char source[CS_CONFIG_TEXT]; /* the source that was read: the file, CONVSHIM_CONFIG, or "" for
                                    defaults */
    size_t file_length;          /* bytes of the file's path in `source`; 0: no file was read */
    struct cs_origin origin[CS_OPTIONS]; /* source of each value, by CS_OPTION_name */
};

/* Receives one line about an option that the user should fix, as "FILE:LINE: option: problem;
 * allowed: values". FILE may be the name of an environment variable. The "line" of CONVSHIM_CONFIG
 * is the number of its item. Other variables have no line. Each file or variable makes at most 16
 * notes, and one more that reports the end. */
typedef void cs_config_note_fn(void *ctx, const char *line);

/* Fills the struct from all sources. `policies` is the NULL-ended list of names that a POLICY
 * option accepts. `program` is the name for <program>.ini (NULL: no program). Not thread-safe
 * against setenv. `note` may be NULL: a first call without notes returns the log file for the notes
 * of a second call. With CONVSHIM=0 it reads no source: the options have their defaults, and
 * `enabled` is false. */
void cs_config_load(struct cs_config *config, const char *program, const char *const *policies,
                    cs_config_note_fn *note, void *ctx);

/* As cs_config_load, for a program that runs a script (NULL: no script). SCRIPT.ini comes before
 * PROGRAM.ini. */
void cs_config_load_script(struct cs_config *config, const char *program, const char *script,
                           const char *const *policies, cs_config_note_fn *note, void *ctx);

/* As cs_config_load, from one file, without the environment. False if the file cannot be read:
 * errno is set, *config has the defaults, and no note is made. */
bool cs_config_load_file(struct cs_config *config, const char *path, const char *const *policies,
                         cs_config_note_fn *note, void *ctx);

/* As cs_config_load, from one text of items, as in CONVSHIM_CONFIG. Other options have their
 * defaults. */
void cs_config_load_items(struct cs_config *config, const char *items, const char *const *policies,
                          cs_config_note_fn *note, void *ctx);

/* Adds items that the program sets. cs_config_load gives them precedence over all other sources,
 * later calls over earlier ones. False, and unchanged, if the items do not fit. Thread-safe. A
 * concurrent cs_config_load sees all items of a call or none. */
bool cs_config_override(const char *items);

/* Returns the environment variable of one option, or NULL if there is no such option. */
const char *cs_config_variable(const char *option);

/* Returns the number of this process in a distributed job, from the environment that the launcher
 * sets, or -1. */
int64_t cs_config_rank(void);

/* True if CONVSHIM=0 is set. Called before anything else. Reads only that variable. */
bool cs_config_disabled(void);

/* Sets every option to its default. */
void cs_config_default(struct cs_config *config);

/* Converts a size to bytes ("64MiB", "64M", "1.5g", "512KiB", "4096") and "auto" to CS_CONFIG_AUTO.
 * False if the text has another form or exceeds 64 bits. K, M, G, T, also with iB, are powers of
 * 1024. kB, MB, GB, TB are powers of 1000. Letters have either case, and blanks may precede the
 * unit. A number with a unit may have up to three decimals. Fractions of a byte are rounded down.
 */
bool cs_config_size(const char *text, int64_t *bytes_p);

#endif
