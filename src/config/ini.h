/* Reads sources of options: ini files and texts of items. Both are lines of "name = value" for one
 * parser (inih). Private to src/config. */
#ifndef CS_CONFIG_INI_H
#define CS_CONFIG_INI_H

#include "config/diagnostics.h"

/* Begins a source that is the variable of that name. */
void cs_ini_begin(struct cs_load *load, const char *source);

/* Sets an option by name, or makes a note of the reason if it cannot. */
void cs_ini_set(struct cs_load *load, const char *name, const char *value);

/* Reads a file. Returns 0. If it cannot be opened or read at all, returns errno and makes no note.
 */
int cs_ini_file(struct cs_load *load, const char *path);

/* Reads items separated by ';' as lines. `source` is their name in notes. */
void cs_ini_items(struct cs_load *load, const char *source, const char *items);

/* --- variables ---
 *
 * The environment variables whose names begin with CONVSHIM_: one for each option, and a few more.
 * Private to src/config. */

/* Returns the variable of an option, "CONVSHIM_LOG_FILE" for log_file. The text is
 * valid until the calling thread ends. */
const char *cs_variable_of(int option);

/* Returns the value of an environment variable. NULL if it is empty, or if the program is
 * set-user-id and must not follow its user's environment. */
const char *cs_variable(const char *name);

/* Makes a note of every unknown variable that begins with CONVSHIM_, with the most similar known
 * name. */
void cs_variables_unknown(struct cs_load *load);

/* --- rules ---
 *
 * Parses rules. Each fault makes one note and drops its rule as a whole, because a rule without one
 * of its conditions could match too much. Private to src/config. */

/* Begin and end the rules of a source. The end drops faulty rules, puts the rules before those of
 * earlier sources, and removes earlier rules of the same names. */
void cs_rules_begin(struct cs_load *load);
void cs_rules_end(struct cs_load *load);

/* Begins the rule of that name, without surrounding blanks. Returns its index in the
 * configuration's rules, or -1 with a note. */
int cs_rules_open(struct cs_load *load, const char *name);

/* Sets one key of a rule that was begun. */
void cs_rules_set(struct cs_load *load, int rule, const char *key, const char *value);

/* Sets a key that is written as rule.NAME.KEY, and begins the rule if necessary. False if `name`
 * has another form. */
bool cs_rules_take(struct cs_load *load, const char *name, const char *value);

/* Drops the rule to which an unreadable line belongs. `rule` is the rule of the current section. If
 * it is -1, `text`, the line, may name its rule. False if the line belongs to no rule. */
bool cs_rules_spoil(struct cs_load *load, int rule, const char *text);

#endif
