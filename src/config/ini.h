/* Sources of options: ini files and texts of items. Both are lines of "name = value" for one parser
 * (inih). Private to src/config. */
#ifndef CS_CONFIG_INI_H
#define CS_CONFIG_INI_H

#include "config/option.h"

/* What is being filled, and where its notes go. */
struct cs_load {
    struct cs_config *config;
    const char *const *policies;
    cs_config_note_fn *note; /* may be NULL */
    void *ctx;

    /* Of the source being read; cs_load_begin sets them. */
    const char *source;
    bool file;              /* else the source is a variable, its name static */
    int line;               /* 0: the source has none */
    int notes;              /* made so far */
    int set_at[CS_OPTIONS]; /* line of the last valid value, 0: none */
    int first_rule;         /* of the source, in config->rules */
    struct cs_load_rule {
        int line; /* where it begins */
        bool faulty;
    } rule[CS_MAX_RULES]; /* by their places in config->rules */
    bool rules_full;      /* said already */
};

/* Starts a source of that name, a variable's. */
void cs_load_begin(struct cs_load *load, const char *source);

/* Makes a note with the place before it. */
void cs_load_note(struct cs_load *load, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets an option by name, or notes why not. */
void cs_load_set(struct cs_load *load, const char *name, const char *value);

/* `text` for a note: shortened, without bytes that a terminal could act on. */
enum {
    CS_SHOWN_BYTES = 48
};
const char *cs_load_show(char shown[CS_SHOWN_BYTES], const char *text);

/* What to add to a note about a value that seems to hold several options, separated by commas; ""
 * for all others. */
const char *cs_load_comma(const struct cs_load *load, const char *value);

/* Reads the file: 0, or the errno with which it could not be opened or read at all. Nothing is
 * noted in that case. */
int cs_load_file(struct cs_load *load, const char *path);

/* Reads items separated by ';', as if each were a line; `source` names them in notes. */
void cs_load_items(struct cs_load *load, const char *source, const char *items);

#endif
