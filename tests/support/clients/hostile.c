/* Loads libwork.so in ways that programs load cuDNN, and ends in ways that programs end. Links no
 * CUDA library. */
#include "work.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 8,
    ROUNDS = 5,
    GRACEFUL = 7,      /* a status that no other end has */
    WORK_PAUSE = 50000 /* microseconds */
};

struct library {
    const char *path;
    void *object;
    work_open_fn *open;
    work_run_fn *run;
    work_close_fn *close;
    work_touch_fn *touch;
};

static struct library library;

static bool load_library(struct library *l, int flags)
{
    void *object = dlopen(l->path, RTLD_LAZY | flags);
    if (object == NULL) {
        fprintf(stderr, "hostile: %s\n", dlerror());
        return false;
    }
    l->object = object;
    l->open = (work_open_fn *)dlsym(object, "work_open");
    l->run = (work_run_fn *)dlsym(object, "work_run");
    l->close = (work_close_fn *)dlsym(object, "work_close");
    l->touch = (work_touch_fn *)dlsym(object, "work_touch");
    return l->open != NULL && l->run != NULL && l->close != NULL && l->touch != NULL;
}

static bool load(int flags)
{
    return load_library(&library, flags);
}

static bool good(enum work_result result)
{
    static const char *const words[] = {"right", "wrong", "refused", "failed"};
    if (result != WORK_RIGHT)
        fprintf(stderr, "hostile: the convolution was %s\n", words[result]);
    return result == WORK_RIGHT;
}

static bool work_with(const struct library *l, int legacy)
{
    struct work *work = NULL;
    if (!good(l->open(legacy, &work)))
        return false;
    bool right = good(l->run(work));
    l->close(work);
    return right;
}

static bool work_of(int legacy)
{
    return work_with(&library, legacy);
}

static bool run_local(void)
{
    return load(RTLD_LOCAL) && work_of(0);
}

static bool run_legacy(void)
{
    return load(RTLD_LOCAL) && work_of(1);
}

static bool run_both(void)
{
    return load(RTLD_LOCAL) && work_of(0) && work_of(1);
}

static bool run_global(void)
{
    return load(RTLD_GLOBAL) && work_of(0);
}

static bool run_deepbind(void)
{
    return load(RTLD_LOCAL | RTLD_DEEPBIND) && work_of(0);
}

/* The library that HOSTILE_CONVSHIM names, loaded by dlopen after a cuDNN that is in use. */
static bool run_unpreloaded(void)
{
    const char *path = getenv("HOSTILE_CONVSHIM");
    if (!run_local() || path == NULL)
        return false;
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (object == NULL)
        fprintf(stderr, "hostile: %s\n", dlerror());
    return object != NULL && work_of(0) && dlclose(object) == 0 && work_of(0);
}

static void *thread(void *barrier)
{
    pthread_barrier_wait(barrier);
    return good(library.touch()) && work_of(0) ? barrier : NULL;
}

static bool run_threads(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    bool right = load(RTLD_LOCAL) && pthread_barrier_init(&barrier, NULL, THREADS) == 0;
    if (!right)
        return false;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread, &barrier) != 0)
            exit(1); /* the barrier never opens for an incomplete crew */
    for (int i = 0; i < THREADS; i++) {
        void *result;
        right = pthread_join(threads[i], &result) == 0 && result != NULL && right;
    }
    return right;
}

static void *parts_thread(void *part)
{
    for (int i = 0; i < ROUNDS; i++)
        if (!work_with(part, i % 2))
            return NULL;
    return part;
}

/* The library that HOSTILE_PART names works on its own thread, at the same time as the other one.
 */
static bool run_part(void)
{
    struct library part = {.path = getenv("HOSTILE_PART")};
    pthread_t own;
    void *result = NULL;
    if (part.path == NULL || !load(RTLD_LOCAL) || !load_library(&part, RTLD_LOCAL) ||
        pthread_create(&own, NULL, parts_thread, &part) != 0)
        return false;
    bool right = true;
    for (int i = 0; i < ROUNDS; i++)
        right = work_of(i % 2) && right;
    return pthread_join(own, &result) == 0 && result != NULL && right;
}

/* The child's standard error goes to hostile.child, which keeps the two summaries apart. */
static bool child_went_well(bool (*child)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open("hostile.child", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        exit(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0 && child() ? 0 : 1);
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool run_graph(void)
{
    return work_of(0);
}

/* LeakSanitizer reports memory as lost if only a thread refers to it whose stack and thread-local
 * storage it does not find. Then it must not search. In a forked child these threads are the
 * parent's: the simulated device still has one for the parent's stream, which holds memory of
 * dlerror and libgomp. In the parent it searches. Of a main thread that has ended, the memory is
 * glibc's list of destructors, which only threads of pthread_create run. Without /proc it finds no
 * thread at all. */
static bool threads_are_gone;

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return threads_are_gone || access("/proc/self/task", F_OK) != 0;
}

static bool run_nothing(void)
{
    threads_are_gone = true;
    return true;
}

static bool run_fork_before(void)
{
    return load(RTLD_LOCAL) && child_went_well(run_graph) && work_of(0) && work_of(0);
}

static bool run_fork_after(void)
{
    return run_local() && child_went_well(run_nothing) && work_of(0);
}

static struct work *parents_work;

/* CUDA does not work in a forked child. The child makes the call all the same, and any result is
 * its own. */
static bool run_parents(void)
{
    threads_are_gone = true;
    return library.run(parents_work) != WORK_RIGHT;
}

static bool run_fork_inherited(void)
{
    if (!load(RTLD_LOCAL) || !good(library.open(0, &parents_work)))
        return false;
    bool right = true;
    for (int i = 0; i < 3; i++) {
        right = good(library.run(parents_work)) && right;
        if (i == 1)
            right = child_went_well(run_parents) && right;
    }
    library.close(parents_work);
    return right;
}

static bool run_exec(void)
{
    if (!run_local())
        return false;
    execl("/proc/self/exe", "hostile", "local", library.path, (char *)NULL);
    return false;
}

static bool run_close_stderr(void)
{
    return run_local() && close(STDERR_FILENO) == 0;
}

static bool run_underscore_exit(void)
{
    if (run_local())
        _exit(0);
    return false;
}

static bool run_abort(void)
{
    if (run_local())
        abort();
    return false;
}

static void *exit_well(void *unused)
{
    (void)unused;
    exit(0);
}

static bool run_thread_exit(void)
{
    pthread_t other;
    if (!run_local() || pthread_create(&other, NULL, exit_well, NULL) != 0)
        return false;
    for (;;)
        pause();
}

static void *exit_after_work(void *unused)
{
    (void)unused;
    exit(work_of(0) ? 0 : 1);
}

static bool run_main_gone(void)
{
    pthread_t other;
    threads_are_gone = true;
    if (!run_local() || pthread_create(&other, NULL, exit_after_work, NULL) != 0)
        return false;
    pthread_exit(NULL);
}

/* Says by a file that it runs, and goes on until it is killed. */
static bool run_forever(void)
{
    if (!run_local())
        return false;
    int fd = open("hostile.runs", O_WRONLY | O_CREAT, 0600);
    while (fd >= 0 && work_of(0))
        usleep(WORK_PAUSE);
    return false;
}

static struct sigaction inherited;

static void end_gracefully(int signal)
{
    if (inherited.sa_handler != SIG_DFL && inherited.sa_handler != SIG_IGN)
        inherited.sa_handler(signal);
    _exit(GRACEFUL);
}

/* Has its own handler, which calls the previous one. */
static bool run_chained_signal(void)
{
    struct sigaction own = {.sa_handler = end_gracefully};
    if (!run_local() || sigaction(SIGTERM, &own, &inherited) != 0)
        return false;
    raise(SIGTERM);
    return false;
}

static bool run_ignored_signal(void)
{
    return signal(SIGTERM, SIG_IGN) != SIG_ERR && run_local() && raise(SIGTERM) == 0 && work_of(0);
}

/* As Python ends a program that Ctrl-C has stopped. */
static bool run_interrupted(void)
{
    if (!run_local() || signal(SIGINT, SIG_DFL) == SIG_ERR)
        return false;
    kill(getpid(), SIGINT);
    return false;
}

/* kill(2) that does not end the process: the signal is blocked, ignored or sent to another process.
 */
static bool run_not_killed(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    return run_local() && sigprocmask(SIG_BLOCK, &blocked, NULL) == 0 &&
           kill(getpid(), SIGINT) == 0 && signal(SIGTERM, SIG_IGN) != SIG_ERR &&
           kill(getpid(), SIGTERM) == 0 && kill(getpid(), 0) == 0 && kill(getpid(), -1) == -1 &&
           errno == EINVAL && work_of(0);
}

/* A signal's stack as small as the system allows, with nothing below it. */
static bool run_small_signal_stack(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)sysconf(_SC_MINSIGSTKSZ);
    size_t size = (least + 2 * page - 1) / page * page;
    char *memory =
        mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
        sigaltstack(&(stack_t){.ss_sp = memory + page, .ss_size = size}, NULL) != 0)
        return false;
    if (run_local())
        raise(SIGTERM);
    return false;
}

static bool run_vfork_exec(void)
{
    int status = 1;
    if (!run_local())
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): vfork is the tested function */
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", "hostile", "local", library.path, (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && work_of(0);
}

/* The library that uses cuDNN is unloaded and loaded again, and cuDNN with it if no other library
 * uses it. */
static bool run_unload(void)
{
    for (int i = 0; i < ROUNDS; i++)
        if (!load(RTLD_LOCAL) || !work_of(0) || !work_of(1) || dlclose(library.object) != 0)
            return false;
    return true;
}

#define DENY(call)                                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* A sandbox that is closed when everything is set up: no file, no program, no memory. */
static bool close_sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        DENY(openat),
        DENY(unlinkat),
        DENY(mmap),
        DENY(mremap),
        DENY(execve),
        DENY(socket),
        DENY(prlimit64),
        DENY(readlink),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* _exit: the simulated device writes a report at the end. */
static bool run_sandbox(void)
{
    struct work *work;
    bool right = load(RTLD_LOCAL) && good(library.open(0, &work));
    for (int i = 0; i < ROUNDS && right; i++)
        right = good(library.run(work));
    if (!right || !close_sandbox())
        return false;
    for (int i = 0; i < ROUNDS && right; i++)
        right = good(library.run(work));
    _exit(right ? 0 : 1);
}

static const struct {
    const char *name;
    bool (*run)(void);
} modes[] = {
    {"local", run_local},
    {"legacy", run_legacy},
    {"both", run_both},
    {"global", run_global},
    {"deepbind", run_deepbind},
    {"unpreloaded", run_unpreloaded},
    {"threads", run_threads},
    {"part", run_part},
    {"fork_before", run_fork_before},
    {"fork_after", run_fork_after},
    {"fork_inherited", run_fork_inherited},
    {"exec", run_exec},
    {"close_stderr", run_close_stderr},
    {"_exit", run_underscore_exit},
    {"abort", run_abort},
    {"thread_exit", run_thread_exit},
    {"main_gone", run_main_gone},
    {"forever", run_forever},
    {"chained_signal", run_chained_signal},
    {"ignored_signal", run_ignored_signal},
    {"interrupted", run_interrupted},
    {"not_killed", run_not_killed},
    {"small_signal_stack", run_small_signal_stack},
    {"vfork_exec", run_vfork_exec},
    {"unload", run_unload},
    {"sandbox", run_sandbox},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof modes / sizeof *modes; i++) {
        library.path = argv[2];
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run() ? 0 : 1;
    }
    fputs("usage: hostile MODE LIBWORK\nModes:", stderr);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        fprintf(stderr, " %s", modes[i].name);
    fputs("\n", stderr);
    return 2;
}
