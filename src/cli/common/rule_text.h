/* Rules as text for people. */
#ifndef CS_CLI_COMMON_RULE_TEXT_H
#define CS_CLI_COMMON_RULE_TEXT_H

#include "decide/rule.h"
#include <stdio.h>

/* Explains which rule applies: a line for each rule up to the first that matches. */
void cs_explain_rules(const struct cs_rules *rules, const struct cs_subject *subject, FILE *out);

/* Writes the rule as a section of the ini file, from which the parser makes the same rule. */
void cs_explain_rule(const struct cs_rule *rule, FILE *out);

#endif
