/* The end of the process, also of one that never called cuDNN: nothing else of the library runs
 * there. Everywhere but in what `convshim run` started, and where convolutions have come, that is a
 * look at one variable.
 *
 * libc's exit runs what is registered with it, but not every program ends so. dash, os._exit and
 * the children of Python's multiprocessing call _exit; Python, and whoever follows the custom, ends
 * a program that Ctrl-C has stopped by kill(getpid(), SIGINT), so that its parent learns of the
 * signal. Both are calls of libc's functions, in whose place these stand: they write what there is
 * to write and call the real one. Nothing of what the program asked for changes. Before memory
 * shows that there is something to write, none of them makes a system call of its own: a sandbox
 * may end a process for it. */
#include "base/stack.h"
#include "cudnn/bind/find_dlsym.h"
#include "flow/renewal.h"
#include "flow/sign_of_life.h"
#include "intercept/cudnn_host.h"
#include "intercept/entry/entry.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of several copies of the library in a process the first one speaks. */
static bool speaks(void)
{
    return cs_sign_due() && cs_host_first_copy();
}

__attribute__((destructor)) static void last(void)
{
    if (speaks())
        cs_sign_last(&cs_host);
}

static int say_last(void *unused)
{
    (void)unused;
    cs_sign_last(&cs_host);
    return 0;
}

CS_EXPORT _Noreturn void end_at_once(int status) __asm__("_exit");
CS_EXPORT _Noreturn void end_at_once_c99(int status) __asm__("_Exit");

/* May be called in a signal's handler: nothing here takes memory. */
_Noreturn void end_at_once(int status)
{
    void (*real)(int) = (void (*)(int))cs_find_dlsym_behind("_exit");
    cs_renewal_exit();
    if (cs_locks_held == 0 && speaks())
        (void)cs_stack_run_last(say_last, NULL);
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

_Noreturn void end_at_once_c99(int status)
{
    end_at_once(status);
}

/* True if the signal is about to end this process. */
static bool ends_by(pid_t to, int number)
{
    struct sigaction action;
    sigset_t blocked;
    return (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) &&
           to == getpid() && pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 &&
           !sigismember(&blocked, number) && sigaction(number, NULL, &action) == 0 &&
           !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

CS_EXPORT int kill(pid_t to, int number)
{
    int (*real)(pid_t, int) = (int (*)(pid_t, int))cs_find_dlsym_behind("kill");
    int error = errno;
    if (cs_renewal_due() && ends_by(to, number))
        cs_renewal_killed();
    errno = error;
    return real ? real(to, number) : (int)syscall(SYS_kill, to, number);
}
