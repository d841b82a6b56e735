/* Names of the ranges that a thread has open: the innermost one counts, its own thread's alone. */
#include "base/range.h"

#include "check.h"
#include <pthread.h>

static void the_innermost_names(void)
{
    CHECK_STR(cs_range_name(), "");
    CHECK_INT(cs_range_pop(), -1);
    CHECK_INT(cs_range_push("encoder"), 0);
    CHECK_STR(cs_range_name(), "encoder");
    CHECK_INT(cs_range_push(NULL), 1);
    CHECK_STR(cs_range_name(), "");
    CHECK_INT(cs_range_pop(), 1);
    CHECK_STR(cs_range_name(), "encoder");
    CHECK_INT(cs_range_pop(), 0);
    CHECK_STR(cs_range_name(), "");
    CHECK_INT(cs_range_pop(), -1);
}

/* Names are copied, a long one's beginning. */
static void a_name_is_copied(void)
{
    char name[2 * CS_RANGE_NAME];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK_INT(cs_range_push(name), 0);
    name[0] = 'y';
    CHECK_INT(strlen(cs_range_name()), CS_RANGE_NAME - 1);
    CHECK_INT(cs_range_name()[0], 'x');
    CHECK_INT(cs_range_pop(), 0);
    CHECK_INT(cs_range_push("z"), 0);
    CHECK_STR(cs_range_name(), "z");
    CHECK_INT(cs_range_pop(), 0);
}

static void deeper_ranges_have_the_name_of_the_last_that_fits(void)
{
    char name[8];
    for (int i = 0; i < 2 * CS_RANGES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK_INT(cs_range_push(name), i);
        snprintf(name, sizeof name, "%d", i < CS_RANGES ? i : CS_RANGES - 1);
        CHECK_STR(cs_range_name(), name);
    }
    for (int i = 2 * CS_RANGES - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "%d", i < CS_RANGES ? i : CS_RANGES - 1);
        CHECK_STR(cs_range_name(), name);
        CHECK_INT(cs_range_pop(), i);
    }
    CHECK_STR(cs_range_name(), "");
}

static void *other(void *unused)
{
    (void)unused;
    CHECK_STR(cs_range_name(), "");
    CHECK_INT(cs_range_push("other"), 0);
    return NULL;
}

static void each_thread_has_its_own(void)
{
    pthread_t thread;
    CHECK_INT(cs_range_push("main"), 0);
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK_STR(cs_range_name(), "main");
    CHECK_INT(cs_range_pop(), 0);
}

int main(void)
{
    TEST(the_innermost_names);
    TEST(a_name_is_copied);
    TEST(deeper_ranges_have_the_name_of_the_last_that_fits);
    TEST(each_thread_has_its_own);
    return REPORT();
}
