/* A program as far as its first use of the device, of which runs are forked: SIMDEV_FORK=NAME, an
 * abstract socket on which somebody waits who wants many runs of one program. Each run has a device
 * of its own, with settings of its own.
 *
 * Messages (SOCK_SEQPACKET), texts that end with a NUL byte:
 *   from here    "ready"               of one thread, and nothing stands in the way of forking it
 *                "single", REASON      it can go on, but only once
 *                "started", PID, then "ended", PID, STATUS (as waitpid has it), in any order of
 * runs to here      OUTPUT, then settings "NAME=VALUE" or "NAME" (to be removed): one run, whose
 * output goes to that file The end of the connection ends the program if it was ready, and means
 * "go on as you are" if it was single. */
#ifndef CUDART_FORK_H
#define CUDART_FORK_H

/* Called by whatever depends on the settings, before it looks at them. Returns in a run, as often
 * as there are runs. `reload` reads the settings anew. */
void simdev_fork_point(void (*reload)(void));

#include <stdbool.h>
/* True while this file forks: a run is no child that has no device. */
bool simdev_fork_running(void);

#endif
