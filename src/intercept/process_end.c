/* Writes the summary at the end of the process, also in a process that never called cuDNN. No other
 * part of the library runs there. Unless `convshim run` started the process, or it ran
 * convolutions, the end only reads one variable.
 *
 * libc's exit calls registered functions, but some programs end in another way. dash, os._exit and
 * the children of Python's multiprocessing call _exit. Python ends a program that Ctrl-C has
 * interrupted by kill(getpid(), SIGINT), so that its parent sees the signal. uvicorn ends a stopped
 * server by raise(SIGTERM). This file exports these functions of libc. They write the summary if it
 * is due, and call the real function with the same arguments. They check in memory whether it is
 * due, without a system call, because a sandbox may end a process for one. */
#include "base/stack.h"
#include "cudnn/bind/find_dlsym.h"
#include "flow/ending.h"
#include "intercept/entry/entry.h"
#include "intercept/intercept.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* True if this copy of the library writes the process's last line. Of several copies the first one
 * does. */
static bool writes_last(void)
{
    return cs_ending_line_due() && cs_host_first_copy();
}

static void after_exit(int status, void *unused)
{
    (void)unused;
    cs_ending_failed(&cs_host, status);
}

__attribute__((destructor)) static void last(void)
{
    if (!writes_last())
        return;
    (void)on_exit(after_exit, NULL); /* libc calls it next */
    cs_ending_line(&cs_host);
}

static int write_last(void *status)
{
    cs_ending_line(&cs_host);
    cs_ending_failed(&cs_host, *(int *)status);
    return 0;
}

CS_EXPORT _Noreturn void end_at_once(int status) __asm__("_exit");
CS_EXPORT _Noreturn void end_at_once_c99(int status) __asm__("_Exit");

/* Writes the summary if it is due, and ends the process. May be called in a signal handler.
 * Allocates no memory. */
_Noreturn void end_at_once(int status)
{
    void (*real)(int) = (void (*)(int))cs_find_dlsym_behind("_exit");
    cs_ending_left();
    if (cs_locks_held == 0 && writes_last())
        (void)cs_stack_run_last(write_last, &status);
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

_Noreturn void end_at_once_c99(int status)
{
    end_at_once(status);
}

/* Writes the summary if the signal would end the process. A signal that this thread blocks may end
 * it in another thread, or later. */
static void before_signal(int number)
{
    int error = errno;
    sigset_t blocked;
    if ((number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) &&
        pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0)
        cs_ending_killed(number, sigismember(&blocked, number) == 1);
    errno = error;
}

CS_EXPORT int kill(pid_t to, int number)
{
    int (*real)(pid_t, int) = (int (*)(pid_t, int))cs_find_dlsym_behind("kill");
    if (cs_ending_due() && to == getpid())
        before_signal(number);
    return real ? real(to, number) : (int)syscall(SYS_kill, to, number);
}

CS_EXPORT int raise(int number)
{
    int (*real)(int) = (int (*)(int))cs_find_dlsym_behind("raise");
    if (cs_ending_due())
        before_signal(number);
    return real ? real(number) : (int)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}
