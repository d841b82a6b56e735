/* TAP for unit tests: CHECK counts, TEST names, REPORT ends. A failing check prints its place and
 * goes on. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((unused)) static int check_tests, check_failed_tests, check_failures;

#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (check_failures++ < 20 ? (void)printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition)  \
                                  : (void)0))
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_ && check_failures++ < 20)                                                \
            printf("# %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);      \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (strcmp(got_, want_) != 0 && check_failures++ < 20)                                     \
            printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got, got_, want_);  \
    } while (0)

/* Runs a test function and prints its line. */
#define TEST(function)                                                                             \
    do {                                                                                           \
        check_failures = 0;                                                                        \
        function();                                                                                \
        check_tests++;                                                                             \
        if (check_failures)                                                                        \
            check_failed_tests++;                                                                  \
        printf("%s %d - %s\n", check_failures ? "not ok" : "ok", check_tests, #function);          \
        fflush(stdout);                                                                            \
    } while (0)

#define REPORT() (printf("1..%d\n", check_tests), check_failed_tests != 0)

/* A function that the linker puts before another one of the same name (--wrap in unit.mk), which is
 * __real_NAME then. */
#define WRAPPED(type, name, ...)                                                                   \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

#endif
