/* The rows of options.def as a table, and the functions that find options and parse their values.
 * For src/config and the command. Pure. */
#ifndef CS_CONFIG_OPTION_H
#define CS_CONFIG_OPTION_H

#include "config/config.h"

struct cs_option {
    const char *name;
    const char *value;   /* default */
    const char *allowed; /* for people. The limits of SIZE, COUNT and RATIO are read from it,
                            "[auto, or |off, or |auto, off, or ]MIN to MAX", and the words of
                            CHOICE: "WORD, WORD". It is "" for POLICY: see cs_option_allowed */

    /* Parses a value. True if `text` is allowed: the value is stored in *out. `policies` NULL: any
     * name. */
    bool (*parse)(const struct cs_option *option, const char *text, const char *const *policies,
                  void *out);
    size_t offset; /* offset of the value in struct cs_config */
};

enum {
    CS_OPTION_TEXT = 256 /* bytes of a composed text */
};

extern const struct cs_option cs_options[CS_OPTIONS];

/* Returns all names: "workspace, threshold, ...". */
const char *cs_option_names(void);

/* Index of the option of that name, or -1. */
int cs_option_find(const char *name);

/* True if the option only affects output, and no decision. */
bool cs_option_is_output(int option);

/* Returns the allowed values for people: option->allowed or, for POLICY, the names in `policies`,
 * composed in `text`. */
const char *cs_option_allowed(const struct cs_option *option, const char *const *policies,
                              char text[CS_OPTION_TEXT]);

/* Returns the edit distance of two names, case-insensitive. Two swapped letters are one edit. `b`
 * is shorter than CS_CONFIG_NAME. */
size_t cs_option_name_distance(const char *a, const char *b);

/* Returns the distance from which names are not similar to one of that length. */
size_t cs_option_name_too_far(size_t length);

/* Returns the most similar name, or NULL if none is similar. */
const char *cs_option_nearest(const char *name);

/* Sets one option from its text. False, and unchanged, if the text is not allowed. */
bool cs_option_set(struct cs_config *config, int index, const char *text,
                   const char *const *policies);

enum {
    CS_OPTION_VALUE = CS_CONFIG_TEXT + 8 /* bytes that hold every value */
};

/* The value of an option (CS_OPTION_name) as in an ini file. A size has the largest unit in which
 * it is exact. */
void cs_option_text(const struct cs_config *config, int option, char *text, size_t size);

/* The source of a value: "built-in", "FILE:LINE", "CONVSHIM_CONFIG:ITEM" or a variable. */
void cs_option_origin_text(const struct cs_config *config, int option, char *text, size_t size);

#endif
