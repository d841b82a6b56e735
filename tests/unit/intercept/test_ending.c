/* What ends a process without libc's exit writes first what there is to write, and then does what
 * the program asked for. The functions in whose place ours stand are the test's, or the kernel's.
 */
#include "base/lock.h"
#include "check.h"
#include "cudnn/bind/find_dlsym.h"
#include "flow/renewal.h"
#include "flow/sign_of_life.h"
#include "intercept/cudnn_host.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const struct cs_host cs_host;

/* In memory that a child shares. */
static struct {
    bool due, real; /* real: there is a function behind ours */
    int written, killed, said, sent, number, error;
    pid_t to;
} * now;

void cs_renewal_exit(void)
{
    now->written++;
}

void cs_renewal_killed(void)
{
    now->killed++;
    errno = 1;
}

bool cs_sign_due(void)
{
    return now->due;
}

void cs_sign_last(const struct cs_host *host)
{
    CHECK(host == &cs_host);
    now->said += now->due;
}

static int send_nothing(pid_t to, int number)
{
    now->sent++;
    now->to = to;
    now->number = number;
    now->error = errno;
    return 7;
}

static void leave(int status)
{
    syscall(SYS_exit_group, status + 1);
}

void *cs_find_dlsym_behind(const char *name)
{
    if (!now->real)
        return NULL;
    return strcmp(name, "kill") == 0    ? (void *)send_nothing
           : strcmp(name, "_exit") == 0 ? (void *)leave
                                        : NULL;
}

static void start(void)
{
    bool real = now->real;
    memset(now, 0, sizeof *now);
    now->real = real;
}

/* How many times a summary is written before a process is sent a signal. */
static int killed_by(pid_t to, int number)
{
    start();
    now->real = true;
    errno = 77;
    CHECK_INT(kill(to, number), 7);
    CHECK_INT(now->sent, 1);
    CHECK_INT(now->to, to);
    CHECK_INT(now->number, number);
    CHECK_INT(now->error, 77);
    return now->killed;
}

static void only_what_ends_this_process_is_its_end(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static const int others[] = {0, SIGUSR1, SIGCHLD, SIGKILL, SIGSEGV, SIGABRT, 99};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        CHECK_INT(killed_by(getpid(), ending[i]), 1);
        CHECK_INT(killed_by(getppid(), ending[i]), 0);
        CHECK_INT(killed_by(0, ending[i]), 0);
        CHECK_INT(killed_by(-getpid(), ending[i]), 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_INT(killed_by(getpid(), others[i]), 0);
}

static void handle(int number)
{
    (void)number;
}

static void inform(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
}

static void what_is_handled_or_blocked_ends_nothing(void)
{
    struct sigaction usual, actions[3] = {{.sa_handler = SIG_IGN},
                                          {.sa_handler = handle},
                                          {.sa_sigaction = inform, .sa_flags = SA_SIGINFO}};
    sigset_t blocked, before;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(sigaction(SIGTERM, &actions[i], &usual), 0);
        CHECK_INT(killed_by(getpid(), SIGTERM), 0);
        CHECK_INT(killed_by(getpid(), SIGINT), 1);
        CHECK_INT(sigaction(SIGTERM, &usual, NULL), 0);
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
    CHECK_INT(killed_by(getpid(), SIGTERM), 0);
    CHECK_INT(killed_by(getpid(), SIGINT), 1);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    CHECK_INT(killed_by(getpid(), SIGTERM), 1);
}

static void without_another_kill_the_kernel_is_asked(void)
{
    start();
    now->real = false;
    CHECK_INT(kill(getpid(), 0), 0);
    CHECK_INT(now->sent, 0);
    errno = 0;
    CHECK(kill(getpid(), 12345) == -1 && errno == EINVAL);
}

/* --- _exit --- */

static struct ending {
    bool due, locked, real, c99;
    int status; /* of the child, whose own is 5 */
    int said;
} ending;

static void end(void)
{
    now->due = ending.due;
    now->real = ending.real;
    cs_locks_held = ending.locked;
    if (ending.c99)
        _Exit(5);
    _exit(5);
}

static void a_summary_is_written_and_something_said(void)
{
    static const struct ending rows[] = {
        {.status = 5},
        {.due = true, .status = 5, .said = 1},
        {.due = true, .c99 = true, .status = 5, .said = 1},
        {.due = true, .real = true, .status = 6, .said = 1},
        {.due = true, .locked = true, .status = 5}, /* in a handler, in the middle of something */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ending = rows[i];
        start();
        now->real = false;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            end();
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), rows[i].status);
        CHECK_INT(now->written, 1);
        CHECK_INT(now->said, rows[i].said);
    }
    start();
}

/* What this process was started with is not the test's: in the background of a script some signals
 * are ignored. */
static void take_signals_as_usual(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t none;
    sigemptyset(&none);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CHECK(signal(numbers[i], SIG_DFL) != SIG_ERR);
}

int main(void)
{
    take_signals_as_usual();
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now == MAP_FAILED)
        return 1;
    TEST(only_what_ends_this_process_is_its_end);
    TEST(what_is_handled_or_blocked_ends_nothing);
    TEST(without_another_kill_the_kernel_is_asked);
    TEST(a_summary_is_written_and_something_said);
    return REPORT();
}
