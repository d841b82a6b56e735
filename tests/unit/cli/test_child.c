/* A program that doctor runs: its whole output and its status, for each behaviour. */
#include "cli/program/child.h"

#include "check.h"
#include "descriptors.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    MOST = 4 << 20
};

static int sh(const char *script, const char *const *set, char **text_p)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    *text_p = NULL;
    return cs_child_output(argv, set, text_p);
}

static void expect(const char *script, const char *const *set, int status, const char *said)
{
    char *text;
    CHECK_INT(sh(script, set, &text), status);
    CHECK_STR(text ? text : "(none)", said);
    free(text);
}

static void output_and_errors_are_read(void)
{
    expect("echo out; echo err >&2; exit 3", NULL, 3, "out\nerr\n");
    expect(":", NULL, 0, "");
}

/* A process that closes its output first is still waited for. */
static void the_status_is_that_of_its_end(void)
{
    expect("echo last; exec >&- 2>&-; sleep 0.3; exit 5", NULL, 5, "last\n");
    expect("kill -9 $$", NULL, 128 + 9, "");
}

static void missing_program_gives_127(void)
{
    static const char *const argv[] = {"no-such-program-of-convshim", NULL};
    char *text = NULL;
    CHECK_INT(cs_child_output(argv, NULL, &text), 127);
    CHECK_STR(text, "");
    free(text);
}

static void environment_has_the_given_changes(void)
{
    static const char *const set[] = {"CONVSHIM_TEST_A=1", "LD_PRELOAD=", "CONVSHIM_TEST_C=3",
                                      NULL};
    setenv("LD_PRELOAD", "", 1);
    setenv("CONVSHIM_TEST_B", "2", 1);
    setenv("CONVSHIM_TEST_C", "0", 1);
    expect("echo ${LD_PRELOAD-none} $CONVSHIM_TEST_A $CONVSHIM_TEST_B $CONVSHIM_TEST_C", NULL, 0,
           "none 2 0\n");
    expect("echo ${LD_PRELOAD-none}$CONVSHIM_TEST_A $CONVSHIM_TEST_B $CONVSHIM_TEST_C", set, 0,
           "1 2 3\n");
    const char *own = getenv("CONVSHIM_TEST_C");
    CHECK_STR(own ? own : "(none)", "0");
}

static void standard_input_is_empty(void)
{
    expect("cat; read -r line || echo none", NULL, 0, "none\n");
}

/* The rest is read and dropped, so that the program comes to its end. */
static void on_alarm(int signal)
{
    (void)signal;
}

/* Signals that are handled come while it writes, and while it only runs. */
static void signals_do_not_end_the_wait(void)
{
    const struct sigaction act = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct sigaction before;
    CHECK_INT(sigaction(SIGALRM, &act, &before), 0);
    CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
    expect("sleep 0.2; echo said; exec >&- 2>&-; sleep 0.3; exit 7", NULL, 7, "said\n");
    CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK_INT(sigaction(SIGALRM, &before, NULL), 0);
}

static void long_output_is_cut_at_its_end(void)
{
    char *text;
    CHECK_INT(sh("yes 0123456 | head -c 6000000; exit 4", NULL, &text), 4);
    CHECK(text && strlen(text) == MOST);
    CHECK(text && memcmp(text + MOST - 16, "0123456\n0123456\n", 16) == 0);
    free(text);
}

static void lines_are_cut_off_one_by_one(void)
{
    char text[] = "one\n\ntwo", *rest = text, *none = NULL;
    CHECK_STR(cs_child_line(&rest), "one");
    CHECK_STR(cs_child_line(&rest), "");
    CHECK_STR(cs_child_line(&rest), "two");
    CHECK(cs_child_line(&rest) == NULL);
    CHECK(cs_child_line(&none) == NULL);
}

int main(void)
{
    descriptors_begin();
    TEST(output_and_errors_are_read);
    TEST(the_status_is_that_of_its_end);
    TEST(missing_program_gives_127);
    TEST(environment_has_the_given_changes);
    TEST(standard_input_is_empty);
    TEST(signals_do_not_end_the_wait);
    TEST(long_output_is_cut_at_its_end);
    TEST(lines_are_cut_off_one_by_one);
    TEST(no_descriptor_is_left_open);
    return REPORT();
}
