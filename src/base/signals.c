/* Blocks SIGPIPE and SIGXFSZ while this thread writes, and consumes the signals that the writing
 * raised. */
#include "base/signals.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void cs_signals_hold(struct cs_signals *signals)
{
    sigemptyset(&signals->deadly);
    sigaddset(&signals->deadly, SIGPIPE);
    sigaddset(&signals->deadly, SIGXFSZ);
    sigpending(&signals->pending);
    pthread_sigmask(SIG_BLOCK, &signals->deadly, &signals->before);
}

void cs_signals_release(struct cs_signals *signals)
{
    /* A signal that was pending before is the application's: it stays pending. */
    if (sigismember(&signals->pending, SIGPIPE))
        sigdelset(&signals->deadly, SIGPIPE);
    if (sigismember(&signals->pending, SIGXFSZ))
        sigdelset(&signals->deadly, SIGXFSZ);
    const struct timespec at_once = {0};
    while (sigtimedwait(&signals->deadly, NULL, &at_once) > 0 || errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
