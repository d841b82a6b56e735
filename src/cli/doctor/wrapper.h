/* Programs that run another program (wrappers). Checks of a command apply to that other program. */
#ifndef CS_CLI_DOCTOR_WRAPPER_H
#define CS_CLI_DOCTOR_WRAPPER_H

/* The part of a command (NULL-ended) that is run in the end, behind env, nice, numactl, srun and
 * their like; the command itself if there is no such part. */
char **cs_wrapper_unwrap(char **command);

#endif
