/* Holds back the signals that writing to a file may raise, SIGPIPE and SIGXFSZ, whose default is to
 * end the process. Between hold and release the calling thread does not receive them. A signal that
 * its writing raised is consumed. A signal that was pending before stays pending. */
#ifndef CS_BASE_SIGNALS_H
#define CS_BASE_SIGNALS_H

#include <signal.h>

struct cs_signals {
    sigset_t deadly, before, pending;
};

void cs_signals_hold(struct cs_signals *signals);
void cs_signals_release(struct cs_signals *signals);

#endif
