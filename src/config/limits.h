/* What the options mean for decisions, for the library and for the command that predicts what it
 * does. Pure. */
#ifndef CS_CONFIG_LIMITS_H
#define CS_CONFIG_LIMITS_H

#include "config/config.h"
#include "convshim/policy.h"

/* The workspace of one convolution that arenas are made for. */
int64_t cs_limits_workspace(const struct cs_config *config);

/* The rules of the options that are for this program and script, in their order. */
void cs_limits_rules(const struct cs_config *config, const char *program, const char *script,
                     struct cs_rules *rules);

/* The most bytes that arenas may hold; `rules`: those in force. */
int64_t cs_limits_arena(const struct cs_config *config, const struct cs_rules *rules);

/* What is allowed where no rule says another. */
struct cs_limits cs_limits_of(const struct cs_config *config, const struct cs_rules *rules);

#endif
