/* Rules as they are written down. Every fault makes one note and drops its rule as a whole: a rule
 * that was understood by half could match more than was meant. Private to src/config. */
#ifndef CS_CONFIG_RULES_H
#define CS_CONFIG_RULES_H

#include "config/diagnostics.h"

/* Before a source's first rule, and after its last: then what is faulty is dropped, and the rules
 * go before those of earlier sources, in the place of those of the same names. */
void cs_rules_begin(struct cs_load *load);
void cs_rules_end(struct cs_load *load);

/* Begins the rule of that name, blanks around it aside. Its index in the configuration's rules; -1,
 * and a note, if it cannot be begun. */
int cs_rules_open(struct cs_load *load, const char *name);

/* Sets one key of a rule that was begun. */
void cs_rules_set(struct cs_load *load, int rule, const char *key, const char *value);

/* The same for a key written as rule.NAME.KEY: begins the rule if need be. False if `name` is not
 * of that form. */
bool cs_rules_take(struct cs_load *load, const char *name, const char *value);

/* `text`, a line that could not be read, belongs to rule `rule` (-1: outside the sections of
 * rules), which is dropped for it. False if it belongs to no rule. */
bool cs_rules_spoil(struct cs_load *load, int rule, const char *text);

#endif
