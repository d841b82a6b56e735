/* Rules as text for people. Pure. */
#ifndef CS_CLI_COMMON_RULE_TEXT_H
#define CS_CLI_COMMON_RULE_TEXT_H

#include "decide/rule.h"

/* Explains which rule applies: one line for each rule up to the first that matches. Like snprintf.
 */
int cs_explain_rules(const struct cs_rules *rules, const struct cs_subject *subject, char *text,
                     size_t size);

/* The rule as a section of the ini file, from which the parser makes the same rule. Like snprintf.
 */
int cs_explain_rule(const struct cs_rule *rule, char *text, size_t size);

#endif
