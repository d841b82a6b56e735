/* TAP for unit tests: CHECK counts, TEST names, REPORT ends. A failing check prints its place and
 * continues. A crash prints the test's name and the stack. ONLY=NAME runs this test alone. */
#ifndef CHECK_H
#define CHECK_H

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((unused)) static int check_tests, check_failed_tests, check_failures;
__attribute__((unused)) static char check_case[512]; /* of many: the one that is checked now */
static const char *check_test;
int cs_invariant_faults(void) __attribute__((weak)); /* base/invariant.h, if the test links it */
__attribute__((unused)) static int check_broken;     /* invariants that tests broke on purpose */
static pid_t check_process;
static int check_line;

/* Counts a failure. True if it is to be printed: at most 20 in a test, each line with one case. */
__attribute__((unused)) static bool check_fails(int line)
{
    check_failures++;
    if (check_failures > 20 || (*check_case && line == check_line))
        return false;
    if (*check_case)
        printf("# case: %s\n", check_case);
    check_line = line;
    return true;
}

/* Names the case that the next checks are about, like printf. */
#define CASE(...) ((void)snprintf(check_case, sizeof check_case, __VA_ARGS__))

/* Adds to the name of the case, which starts at CASE. */
#define CASE_DETAIL(...)                                                                           \
    ((void)snprintf(check_case + strcspn(check_case, ";"),                                         \
                    sizeof check_case - strcspn(check_case, ";"), "; " __VA_ARGS__))

#define CHECK(condition)                                                                           \
    ((condition)             ? (void)0                                                             \
     : check_fails(__LINE__) ? (void)printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition)       \
                             : (void)0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_ && check_fails(__LINE__))                                                \
            printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);      \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (strcmp(got_, want_) != 0 && check_fails(__LINE__))                                     \
            printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got, got_, want_);  \
    } while (0)

/* NOLINTBEGIN(bugprone-signal-handler): the process ends here in any case */
__attribute__((unused)) static void check_crashed(int number)
{
    void *frame[32];
    char line[256];
    signal(number, SIG_DFL);
    if (getpid() == check_process) { /* children may be meant to crash */
        int length = snprintf(line, sizeof line, "# crashed in %s\nnot ok %d - %s\n", check_test,
                              check_tests + 1, check_test);
        (void)!write(STDOUT_FILENO, line, (size_t)length);
        backtrace_symbols_fd(frame, backtrace(frame, 32), STDERR_FILENO);
    }
    raise(number);
}
/* NOLINTEND(bugprone-signal-handler) */

/* Sanitizers print better reports of crashes. */
__attribute__((unused)) static bool check_begins(const char *test)
{
    const char *only = getenv("ONLY");
    if (only && strcmp(only, test) != 0)
        return false;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], check_crashed);
#endif
    check_process = getpid();
    check_test = test;
    check_failures = check_line = 0;
    *check_case = '\0';
    return true;
}

/* Fails the test if the library's state was broken. A test that breaks it on purpose adds the
 * number to check_broken. */
__attribute__((unused)) static void check_invariants(void)
{
    int faults = cs_invariant_faults ? cs_invariant_faults() : 0;
    if (faults != check_broken)
        CHECK_INT(faults, check_broken);
    check_broken = faults;
}

/* Runs a test function and prints its line. */
#define TEST(function)                                                                             \
    do {                                                                                           \
        if (!check_begins(#function))                                                              \
            break;                                                                                 \
        function();                                                                                \
        check_tests++;                                                                             \
        check_invariants();                                                                        \
        if (check_failures)                                                                        \
            check_failed_tests++;                                                                  \
        printf("%s %d - %s\n", check_failures ? "not ok" : "ok", check_tests, #function);          \
        fflush(stdout);                                                                            \
    } while (0)

#define REPORT() (printf("1..%d\n", check_tests), check_failed_tests != 0 || check_tests == 0)

/* A function that the linker puts before another one of the same name (--wrap in unit.mk), which is
 * __real_NAME then. */
#define WRAPPED(type, name, ...)                                                                   \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

#endif
