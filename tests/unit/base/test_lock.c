/* The order of locks, and that none is held where foreign code begins. */
#include "base/lock.h"
#include "check.h"
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* These tests make lock mistakes on purpose, so ThreadSanitizer must not look for deadlocks. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "detect_deadlocks=0";
}
#endif

static struct cs_lock memo = CS_LOCK_INITIALIZER(MEMO), arena, other;

static void begin(void)
{
    cs_lock_init(&arena, CS_RANK_ARENA);
    cs_lock_init(&other, CS_RANK_ARENA);
}

static void the_order_of_the_list(void)
{
    int before = cs_lock_faults();
    cs_lock(&memo);
    cs_lock(&arena);
    cs_unlock(&memo);
    cs_unlock(&arena);
    CHECK_INT(cs_lock_faults(), before);
    cs_lock(&arena);
    cs_lock(&memo);
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&memo);
    cs_unlock(&arena);
    CHECK_INT((int)cs_locks_held, 0);
}

static void two_locks_of_one_rank_are_a_fault(void)
{
    int before = cs_lock_faults();
    cs_lock_next(&arena);
    cs_lock_next(&other);
    CHECK_INT(cs_lock_faults(), before);
    cs_unlock(&other);
    cs_unlock(&arena);
    cs_lock(&arena);
    cs_lock(&other);
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&other);
    cs_unlock(&arena);
}

static void foreign_code(void)
{
    int before = cs_lock_faults();
    cs_lock_expect_none("a call");
    CHECK_INT(cs_lock_faults(), before);
    cs_lock(&memo);
    cs_lock_expect_none("a call");
    CHECK_INT(cs_lock_faults(), before + 1);
    cs_unlock(&memo);
    cs_lock_expect_none("a call");
    CHECK_INT(cs_lock_faults(), before + 1);
}

static struct cs_condition reported;

static void *wait_for_it(void *result)
{
    struct timespec now;
    cs_lock(&arena);
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(bool *)result =
        cs_lock_condition_wait(&reported, &arena, now.tv_sec * 1000000000LL + now.tv_nsec);
    cs_unlock(&arena);
    return NULL;
}

/* Without a signal the timeout ends the wait; a cancellation does not. */
static void waiting_is_not_cancelled(void)
{
    pthread_t thread;
    bool result = true;
    cs_lock_condition_init(&reported);
    cs_lock(&arena);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_it, &result), 0);
    pthread_cancel(thread);
    cs_unlock(&arena);
    pthread_join(thread, NULL);
    CHECK(!result);
    CHECK_INT(pthread_mutex_trylock(&arena.mutex), 0);
    pthread_mutex_unlock(&arena.mutex);
}

#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer delivers no signal inside its own functions */
enum {
    PATIENCE = 10 /* seconds */
};

static void lock_unless_held(int signal)
{
    (void)signal;
    if (cs_locks_held == 0) {
        cs_lock(&memo);
        cs_lock(&arena);
        cs_unlock(&arena);
        cs_unlock(&memo);
    }
    raise(SIGSTOP);
}

__attribute__((noreturn)) static void operate(void)
{
    const struct sigaction action = {.sa_handler = lock_unless_held, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    alarm(PATIENCE);
    raise(SIGSTOP);
    cs_lock(&memo);
    cs_lock_next(&arena);
    (void)cs_lock_condition_wait(&reported, &arena, 0);
    cs_unlock(&arena);
    cs_unlock(&memo);
    _exit(0);
}

/* The signal that a traced child stops by; 0: it has ended. */
static int stopped_by(pid_t child)
{
    int status = 0;
    bool there = waitpid(child, &status, 0) == child && WIFSTOPPED(status);
    return there ? WSTOPSIG(status) : status;
}

static int go_on(pid_t child, enum __ptrace_request how, int signal)
{
    ptrace(how, child, NULL, (void *)(intptr_t)signal);
    return stopped_by(child);
}

/* Runs the handler at the child's current instruction. The registers are restored here, because the
 * kernel's own return path cannot be distinguished from the child's instructions. */
static int interrupt(pid_t child)
{
    static const int sets[] = {NT_PRSTATUS, NT_PRFPREG};
    char bytes[2][2048] = {{0}};
    struct iovec registers[2];
    for (int i = 0; i < 2; i++) {
        registers[i] = (struct iovec){bytes[i], sizeof bytes[i]};
        ptrace(PTRACE_GETREGSET, child, (void *)(intptr_t)sets[i], &registers[i]);
    }
    int stop = go_on(child, PTRACE_CONT, SIGUSR1);
    for (int i = 0; i < 2; i++)
        ptrace(PTRACE_SETREGSET, child, (void *)(intptr_t)sets[i], &registers[i]);
    return stop;
}

static void interrupted_anywhere_by_a_handler_that_locks(void)
{
    cs_lock_condition_init(&reported);
    pid_t child = fork();
    if (child == 0)
        operate();
    int stop = stopped_by(child), instructions = 0;
    while (stop == SIGSTOP && (stop = go_on(child, PTRACE_SINGLESTEP, 0)) == SIGTRAP) {
        stop = interrupt(child);
        instructions++;
    }
    CHECK_INT(stop, 0); /* SIGALRM: it waits for a lock that it has */
    CHECK(instructions > 100);
    printf("# interrupted at %d instructions\n", instructions);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
#endif

int main(void)
{
    begin();
    TEST(the_order_of_the_list);
    TEST(two_locks_of_one_rank_are_a_fault);
    TEST(foreign_code);
    TEST(waiting_is_not_cancelled);
#ifndef __SANITIZE_THREAD__
    TEST(interrupted_anywhere_by_a_handler_that_locks);
#endif
    return REPORT();
}
