/* The rows of options.def as a table: how a text becomes a value. For src/config and
 * the command. Pure. */
#ifndef CS_CONFIG_OPTION_H
#define CS_CONFIG_OPTION_H

#include "config/config.h"

struct cs_option {
    const char *name;    /* "name" or "section.name" */
    const char *value;   /* default */
    const char *allowed; /* for people. The limits of SIZE, COUNT and RATIO are read from it,
                            "[auto, or |off, or |auto, off, or ]MIN to MAX", and the words of
                            CHOICE: "WORD, WORD". It is "" for POLICY: see cs_option_allowed */

    /* True if `text` is allowed; then stores the value in *out. `policies` NULL: any name. */
    bool (*parse)(const struct cs_option *option, const char *text, const char *const *policies,
                  void *out);
    size_t offset; /* offset of the value in struct cs_config */
};

enum {
    CS_OPTION_TEXT = 256 /* bytes of a composed text */
};

extern const struct cs_option cs_options[CS_OPTIONS];

/* All names: "workspace, threshold, ...". */
const char *cs_option_names(void);

/* Index of the option of that name, or -1. */
int cs_option_find(const char *name);

/* True if the option only affects output, and no decision. */
bool cs_option_is_output(int option);

/* All sections, as "[interleave], [rule NAME]", composed in `text`. */
const char *cs_option_sections(char text[CS_OPTION_TEXT]);

/* True if some option is in the section. */
bool cs_option_section(const char *section);

/* The allowed values, for people: option->allowed or, for POLICY, the names in `policies`, composed
 * in `text`. */
const char *cs_option_allowed(const struct cs_option *option, const char *const *policies,
                              char text[CS_OPTION_TEXT]);

/* Edit distance of two names, case-insensitive; two swapped letters are one edit. `b` is shorter
 * than CS_CONFIG_NAME. */
size_t cs_option_name_distance(const char *a, const char *b);

/* Names of that length whose distance is at least this are not similar. */
size_t cs_option_name_too_far(size_t length);

/* The most similar name, or NULL. */
const char *cs_option_nearest(const char *name);

/* The most similar section. False if none is similar. */
bool cs_option_nearest_section(const char *text, char section[CS_CONFIG_NAME]);

/* Sets one option from its text. False, and unchanged, if the text is not allowed. */
bool cs_option_set(struct cs_config *config, int index, const char *text,
                   const char *const *policies);

#endif
