/* The environment of the programs that a command starts or judges. Only this file of the command
 * reads it. The variables of the library itself are read in src/config. */
#ifndef CS_CLI_COMMON_ENVIRONMENT_H
#define CS_CLI_COMMON_ENVIRONMENT_H

/* The value of a variable; NULL if it is unset or set to nothing. Static until it is changed. */
const char *cs_cli_variable(const char *name);

#endif
