/* Parses rules. Each fault makes one note and drops its rule as a whole, because a rule without one
 * of its conditions could match too much. Private to src/config. */
#ifndef CS_CONFIG_RULES_H
#define CS_CONFIG_RULES_H

#include "config/diagnostics.h"

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
