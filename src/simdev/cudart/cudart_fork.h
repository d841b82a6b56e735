/* Runs a program up to its first use of the device, and forks runs from there. SIMDEV_FORK=NAME is
 * an abstract socket of a process that needs many runs of one program. Each run has a separate
 * device and settings.
 *
 * Messages (SOCK_SEQPACKET) are texts that end with a NUL byte. From here:
 *    "ready"               one thread, nothing prevents a fork
 *    "single", REASON      cannot fork, can continue as one run
 *    "started", PID, then "ended", PID, STATUS (as from waitpid), in any order of runs
 * To here:
 *    OUTPUT, then settings "NAME=VALUE" or "NAME" (to remove it): one run, output to OUTPUT
 *
 * When the connection closes, a "ready" program ends. A "single" program continues unchanged. */
#ifndef CUDART_FORK_H
#define CUDART_FORK_H

/* Callers that depend on settings call this before they read them. It returns once in each run.
 * `reload` reads the settings again. */
void simdev_fork_point(void (*reload)(void));

#include <stdbool.h>
/* True while this file forks, so that a run is not treated as a child without a device. */
bool simdev_fork_running(void);

#endif
