/* Makes notes about invalid options: one line each that begins with its place, and a limited number
 * for each source. Private to src/config. */
#ifndef CS_CONFIG_DIAGNOSTICS_H
#define CS_CONFIG_DIAGNOSTICS_H

#include "config/option.h"

/* The configuration that is being filled, and the receiver of its notes. */
struct cs_load {
    struct cs_config *config;
    const char *const *policies;
    cs_config_note_fn *note; /* may be NULL */
    void *ctx;

    /* Of the source being read. cs_ini_begin sets them. */
    const char *source;
    bool file;                      /* else the source is a variable, its name static */
    int line;                       /* 0: the source has no lines */
    int notes;                      /* notes made so far */
    int set_at[CS_OPTIONS];         /* line of the last valid value, 0 if no line set it */
    int first_rule;                 /* index of the source's first rule in config->rules */
    bool rule_faulty[CS_MAX_RULES]; /* rules with a fault, by their indexes in config->rules */
    bool rules_full;                /* the note was made already */
};

/* Makes a note with the place before it. */
void cs_diagnostics_note(struct cs_load *load, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns a text for a note: shortened, and without bytes that a terminal could act on. */
enum {
    CS_SHOWN_BYTES = 48
};
const char *cs_diagnostics_show(char shown[CS_SHOWN_BYTES], const char *text);

/* Returns text to add to a note if the value seems to hold several options separated by commas,
 * else "". */
const char *cs_diagnostics_comma(const struct cs_load *load, const char *value);

/* Returns the probable mistake in a value that is allowed by `allowed`: a size without a unit, or a
 * filter with one extent. NULL if there is none. */
const char *cs_diagnostics_doubt(const char *allowed, const char *value);

/* Returns the unit of `line`: "line" for a file, "item" for a variable. */
const char *cs_diagnostics_line_word(const struct cs_load *load);

#endif
