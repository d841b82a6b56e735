/* The environment of the programs that a command starts or judges: the one place of the command
 * that reads it. What the library itself reads is src/config's. */
#ifndef CS_CLI_COMMON_ENVIRONMENT_H
#define CS_CLI_COMMON_ENVIRONMENT_H

/* The value of a variable; NULL if it is unset or set to nothing. Static until it is changed. */
const char *cs_cli_variable(const char *name);

#endif
