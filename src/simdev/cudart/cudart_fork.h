/* Runs a program up to its first use of the device, and forks runs from there. Each run has a
 * separate device and settings. SIMDEV_FORK=PID:DESCRIPTOR:INODE is a socket (SOCK_SEQPACKET) that
 * process PID has inherited. The other end belongs to a process that needs many runs of one
 * program.
 *
 * Messages are texts that end with a NUL byte. From here:
 *    "ready PID 0"         the process waits for requests. It has one thread, and nothing prevents
 * a fork. A process that cannot be forked sends nothing and continues. "started PID 0", then "ended
 * PID STATUS" (as from waitpid), in any order of runs To here: OUTPUT, then settings "NAME=VALUE"
 * or "NAME" (to remove it), each with a NUL byte: one run, with its output in the file OUTPUT
 *
 * If the other end is closed, the waiting process continues unchanged. */
#ifndef CUDART_FORK_H
#define CUDART_FORK_H

/* Callers that depend on settings call this before they read them. It returns once in each run.
 * `reload` reads the settings again. */
void simdev_fork_point(void (*reload)(void));

#include <stdbool.h>
/* True while this file forks, so that a run is not treated as a child without a device. */
bool simdev_fork_running(void);

#endif
