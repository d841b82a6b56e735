/* Limits of decisions, computed from the options, for the library and for `convshim predict`. Pure.
 */
#ifndef CS_CONFIG_LIMITS_H
#define CS_CONFIG_LIMITS_H

#include "config/config.h"
#include "convshim/policy.h"

/* Returns the workspace of one convolution, by which arenas are sized. */
int64_t cs_limits_workspace(const struct cs_config *config);

/* Copies the rules that apply to this program and script, in their order. */
void cs_limits_rules(const struct cs_config *config, const char *program, const char *script,
                     struct cs_rules *rules);

/* Returns the most bytes that arenas may hold. `rules` are those that apply. */
int64_t cs_limits_arena(const struct cs_config *config, const struct cs_rules *rules);

/* The limits for calls that match no rule. */
struct cs_limits cs_limits_of(const struct cs_config *config, const struct cs_rules *rules);

#endif
