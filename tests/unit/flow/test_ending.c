/* Messages of a process at its start and at each kind of end, the summary of a process that may be
 * killed. Each case is a child. */
#include "flow/ending.h"

#include "account/session_files.h"
#include "account_fixture.h"
#include "child_fixture.h"
#include "config/session.h"
#include "flow/request.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t later; /* seconds that the coarse clock is ahead */

/* In libc's place. */
int clock_gettime(clockid_t clock, struct timespec *to)
{
    int status = (int)syscall(SYS_clock_gettime, clock, to);
    if (clock == CLOCK_MONOTONIC_COARSE) {
        to->tv_sec = 1000 + later;
        to->tv_nsec = 0;
    }
    return status;
}

static void be_the_run(void)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)getpid());
    setenv("CONVSHIM_RUN", text, 1);
}

static void count(struct cs *cs, int passed, int tiled)
{
    struct cs_problem problem = problem_of(2, 4, 4, 8, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 10, 2);
    run(&cs->account, &facts, tiled);
    for (int i = 0; i < passed; i++)
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
}

/* The instance of a child with these options, after some calls that were not tiled. */
static struct cs *start(const char *options, int calls)
{
    unlink("summary.json");
    setenv("CONVSHIM_CONFIG", options, 1);
    struct cs *cs = cs_instance(&host);
    if (!cs)
        _exit(251);
    count(cs, calls, 0);
    return cs;
}

/* --- the last line of a run --- */

static struct {
    const char *options; /* of an instance; NULL: none is made */
    int passed, tiled;
    bool noted;
} end_case;

static int end_of_run(void)
{
    be_the_run();
    if (end_case.options)
        count(start(end_case.options, end_case.passed), 0, end_case.tiled);
    if (end_case.noted) {
        char place[CS_SESSION_PATH];
        cs_session_folder(place);
        cs_session_note(place, getpid());
    }
    RETURN_IF(!cs_ending_line_due());
    cs_ending_line(&host);
    RETURN_IF(cs_ending_line_due());
    cs_ending_line(&host); /* once */
    return GOOD;
}

#define FIFTY "/folders/with/names/that/take/fifty/bytes/each/one"
#define LONG_NAME FIFTY FIFTY FIFTY FIFTY FIFTY "/libcudnn.so.9"

static void a_run_ends_with_a_line(void)
{
    static const struct {
        const char *options, *file, *bypass, *preload, *line;
        int passed, tiled;
        bool noted;
    } rows[] = {
        {NULL, "", "", "/lib/libconvshim.so",
         "no convolution: this process loaded no cuDNN, and no child process ran one with "
         "convshim. To find out why: convshim doctor -- COMMAND\n",
         0, 0, false},
        {NULL, "", "libtorch.so", "",
         "no convolution: this process loaded no cuDNN, and it changed LD_PRELOAD, so its child "
         "processes ran without convshim. Keep its old value: LD_PRELOAD=other.so:$LD_PRELOAD\n",
         0, 0, false},
        {NULL, "libcudnn.so.9", "", "",
         "no convolution was run: libcudnn.so.9 is loaded, but no call reached convshim. To find "
         "out why: convshim doctor -- COMMAND\n",
         0, 0, false},
        {"summary=off", "libcudnn.so.9", "", "",
         "no convolution was run: libcudnn.so.9 is loaded, but the program ran none\n", 0, 0,
         false},
        {NULL, LONG_NAME, "", "",
         "no convolution was run: " LONG_NAME
         " is loaded, but no call reached convshim. To find out why: convshim doctor -- COMMAND\n",
         0, 0, false},
        {"summary=off", "libcudnn.so.9", "libtorch.so", "",
         "no convolution was seen: libtorch.so bypasses convshim. Details: convshim doctor -- "
         "COMMAND\n",
         0, 0, false},
        {NULL, "libcudnn.so.9", "libtorch.so", "",
         "no convolution in this process: see the summaries of its child processes\n", 0, 0, true},
        {"summary=off", "libcudnn.so.9", "", "", "3 convolutions, 2 of them tiled\n", 1, 2, false},
        {"summary=off", "libcudnn.so.9", "", "", "1 convolutions, 0 of them tiled\n", 1, 0, false},
        {"summary=text", "libcudnn.so.9", "", "", "", 1, 0, false},
        {"summary=text", "libcudnn.so.9", "", "",
         "no convolution was run: libcudnn.so.9 is loaded, but the program ran none\n", 0, 0,
         false},
        {"summary=off;log=off", "libcudnn.so.9", "", "", "", 1, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        end_case.options = rows[i].options;
        end_case.passed = rows[i].passed;
        end_case.tiled = rows[i].tiled;
        end_case.noted = rows[i].noted;
        file_now = rows[i].file;
        bypass_now = rows[i].bypass;
        setenv("LD_PRELOAD", rows[i].preload, 1);
        check_child(end_of_run);
        CHECK_STR(output, rows[i].line);
    }
    unsetenv("LD_PRELOAD");
    file_now = bypass_now = "";
}

static int end_that_says_nothing(void)
{
    RETURN_IF(cs_ending_line_due());
    setenv("CONVSHIM_RUN", "1", 1); /* of another process */
    RETURN_IF(cs_ending_line_due());
    cs_ending_line(&host);
    be_the_run();
    RETURN_IF(!cs_ending_line_due());
    setenv("CONVSHIM", "0", 1);
    RETURN_IF(cs_ending_line_due());
    cs_ending_line(&host);
    unsetenv("CONVSHIM");
    setenv("CONVSHIM_CONFIG", "log=off", 1);
    cs_ending_line(&host);
    return GOOD;
}

static void process_outside_convshim_run_prints_no_line(void)
{
    check_child(end_that_says_nothing);
    CHECK_STR(output, "");
}

/* --- while it runs --- */

/* The number behind a name in this process's summary for `convshim status`. -1: no file. */
static int64_t sign_number(const char *name)
{
    static char text[1 << 16];
    char place[CS_SESSION_PATH], path[PATH_MAX], pattern[64];
    cs_session_folder(place);
    FILE *file = cs_session_summary_path(place, getpid(), path) ? fopen(path, "r") : NULL;
    if (!file)
        return -1;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    snprintf(pattern, sizeof pattern, "\"%s\":", name);
    const char *at = strstr(text, pattern);
    return at ? strtoll(at + strlen(pattern), NULL, 10) : -2;
}

static int pass(void)
{
    char place[CS_SESSION_PATH];
    setenv("CONVSHIM_RUN", "77", 1);
    struct cs *cs = start("summary=off;workspace=3MiB", 0);
    cs_session_folder(place);
    cs_ending_pass(cs);
    RETURN_IF(sign_number("pid") >= 0); /* nothing came yet */
    count(cs, 2, 1);
    errno = 9;
    cs_ending_pass(cs);
    RETURN_IF(errno != 9);
    RETURN_IF(sign_number("calls") != 3 || sign_number("tiled") != 1);
    RETURN_IF(sign_number("pid") != getpid() || sign_number("start_ms") != cs->start_ms);
    RETURN_IF(!cs_session_noted(place, 77)); /* for the parent process */
    count(cs, 1, 0);
    cs_ending_pass(cs);
    RETURN_IF(sign_number("calls") != 3); /* not ten seconds later */
    later = 10;
    cs_ending_pass(cs);
    RETURN_IF(sign_number("calls") != 4);
    RETURN_IF(cs_session_noted(place, 77));
    cs_ending_write(cs, CS_MOMENT_EXIT);
    RETURN_IF(sign_number("pid") >= 0);
    return GOOD;
}

static int pass_as_the_run(void)
{
    char place[CS_SESSION_PATH];
    be_the_run();
    struct cs *cs = start("summary=off", 1);
    cs_ending_pass(cs);
    cs_session_folder(place);
    RETURN_IF(cs_session_noted(place, getpid()));
    cs_ending_write(cs, CS_MOMENT_EXIT);
    return GOOD;
}

static void running_process_can_be_observed(void)
{
    check_child(pass);
    check_child(pass_as_the_run);
}

/* --- summaries of processes that may be killed --- */

static int64_t summary_bytes(void)
{
    struct stat about;
    return stat("summary.json", &about) == 0 ? about.st_size : -1;
}

/* A forked child counts from its first call. */
static int renew(void)
{
    static const struct {
        int64_t at; /* seconds */
        bool forked, written;
    } steps[] = {{5, false, true},  {14, false, false}, {15, false, true},  {24, false, false},
                 {25, false, true}, {30, true, true},   {39, false, false}, {40, false, true}};
    struct cs *cs = start("summary=json:summary.json", 1);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        later = steps[i].at;
        if (steps[i].forked)
            cs_ending_fork(cs);
        unlink("summary.json");
        errno = 5;
        cs_ending_pass(cs);
        RETURN_IF(errno != 5 || (summary_bytes() > 0) != steps[i].written);
    }
    return GOOD;
}

static int renew_no_text(void)
{
    struct cs *cs = start("summary=text", 1);
    later = 100;
    cs_ending_pass(cs);
    cs_ending_write(cs, CS_MOMENT_RUNNING);
    return GOOD;
}

static void a_summary_is_renewed_every_ten_seconds(void)
{
    check_child(renew);
    CHECK_STR(output, "");
    check_child(renew_no_text);
    CHECK_STR(output, "");
}

static void own_handler(int signal)
{
    (void)signal;
}

static void own_action(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
}

static struct {
    const char *options;
    bool run, caught;
    int own; /* 0: the default, 1: ignored, 2: a handler, 3: one with more arguments */
} catch_case;

static int catches(void)
{
    struct sigaction action = {.sa_handler = catch_case.own == 1   ? SIG_IGN
                                             : catch_case.own == 2 ? own_handler
                                                                   : SIG_DFL};
    struct sigaction after;
    if (catch_case.own == 3)
        action = (struct sigaction){.sa_sigaction = own_action, .sa_flags = SA_SIGINFO};
    sigaction(SIGTERM, &action, NULL);
    if (catch_case.run)
        setenv("CONVSHIM_RUN", "1", 1);
    start(catch_case.options, 0);
    sigaction(SIGTERM, NULL, &after);
    bool same = after.sa_handler == action.sa_handler;
    RETURN_IF(same == catch_case.caught);
    RETURN_IF(!same && (after.sa_flags & (SA_RESTART | SA_ONSTACK)) != (SA_RESTART | SA_ONSTACK));
    return GOOD;
}

static void signal_is_caught_if_a_summary_is_requested(void)
{
    static const struct {
        const char *options;
        bool run, caught;
        int own;
    } rows[] = {{"summary=json:summary.json", false, true, 0},
                {"summary=json:summary.json", true, true, 0},
                {"summary=text", false, false, 0},
                {"summary=text", true, true, 0},
                {"summary=off", true, false, 0},
                {"summary=json:summary.json", false, false, 1},
                {"summary=json:summary.json", false, false, 2},
                {"summary=json:summary.json", false, false, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        catch_case.options = rows[i].options;
        catch_case.run = rows[i].run;
        catch_case.caught = rows[i].caught;
        catch_case.own = rows[i].own;
        check_child(catches);
    }
}

static int terminate(void)
{
    start("summary=json:summary.json", 1);
    raise(SIGTERM);
    return 99;
}

static void (*earlier)(int);

static void chained(int signal)
{
    earlier(signal);
}

static int terminate_chained(void)
{
    struct sigaction action;
    struct cs *cs = start("summary=json:summary.json", 1);
    sigaction(SIGTERM, NULL, &action);
    earlier = action.sa_handler;
    action.sa_handler = chained;
    sigaction(SIGTERM, &action, NULL);
    errno = 7;
    raise(SIGTERM); /* goes on: the program decides */
    RETURN_IF(errno != 7);
    RETURN_IF(summary_bytes() <= 0);
    RETURN_IF(cs->reported != 0); /* there will be a last one */
    return GOOD;
}

static void terminated_process_leaves_its_summary(void)
{
    int status = status_of(terminate);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(summary_bytes() > 0);
    CHECK(strncmp(output, "summary written. ", strlen("summary written. ")) == 0);
    check_child(terminate_chained);
    CHECK_STR(output, "");
}

static int end_without_exit(void)
{
    int status = -1;
    cs_ending_left(); /* there is nothing yet */
    cs_ending_killed(SIGINT, false);
    struct cs *cs = start("summary=json:summary.json", 1);
    cs_ending_pass(cs);
    unlink("summary.json");
    pid_t child =
        (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* the library's handlers do not run */
    if (child == 0) {
        cs_ending_left();
        cs_ending_killed(SIGINT, false);
        syscall(SYS_exit_group, 0);
    }
    RETURN_IF(waitpid(child, &status, 0) != child || status != 0);
    RETURN_IF(summary_bytes() >= 0);
    cs_locks_held = 1; /* in the middle of something */
    cs_ending_left();
    cs_locks_held = 0;
    RETURN_IF(summary_bytes() >= 0);
    errno = 9;
    cs_ending_left();
    RETURN_IF(errno != 9 || summary_bytes() <= 0);
    RETURN_IF(sign_number("pid") < 0); /* it stays */
    unlink("summary.json");
    cs_ending_left(); /* nothing has come since */
    RETURN_IF(summary_bytes() >= 0);
    count(cs, 1, 0);
    cs_ending_killed(SIGINT, false);
    RETURN_IF(summary_bytes() <= 0 || sign_number("pid") >= 0);
    return GOOD;
}

static void end_without_exit_leaves_its_summary(void)
{
    check_child(end_without_exit);
}

/* The signal is blocked here, and ends the process in a thread that does not block it. */
static int end_by_another_thread(void)
{
    sigset_t number;
    start("summary=text,json:summary.json", 1);
    sigemptyset(&number);
    sigaddset(&number, SIGHUP);
    sigprocmask(SIG_BLOCK, &number, NULL);
    cs_ending_killed(SIGHUP, true);
    RETURN_IF(summary_bytes() >= 0); /* it may still be ignored, or taken by sigwait */
    kill(getpid(), SIGHUP);
    sigprocmask(SIG_UNBLOCK, &number, NULL); /* for the process, as good as another thread */
    return 99;
}

static int end_of_own_action(void)
{
    start("summary=json:summary.json", 1);
    signal(SIGHUP, SIG_IGN);
    cs_ending_killed(SIGHUP, false);
    cs_ending_killed(SIGHUP, true);
    RETURN_IF(summary_bytes() >= 0 || signal(SIGHUP, SIG_DFL) != SIG_IGN);
    return GOOD;
}

static void blocked_signal_that_ends_the_process_leaves_its_summary(void)
{
    int status = status_of(end_by_another_thread);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    CHECK(summary_bytes() > 0);
    CHECK(strstr(output, " call tiled") != NULL);
    unlink("summary.json");
    check_child(end_of_own_action);
}

static struct {
    const char *segments, *setting, *file, *options;
    int status;
} failed_case;

static int fail_run(void)
{
    be_the_run();
    setenv("CONVSHIM_SEGMENTS", failed_case.segments, 1);
    setenv("PYTORCH_CUDA_ALLOC_CONF", failed_case.setting, 1);
    setenv("CONVSHIM_CONFIG", failed_case.options, 1);
    file_now = failed_case.file;
    cs_ending_failed(&host, failed_case.status);
    return GOOD;
}

static void failed_program_with_segments_of_convshim_run_is_told_of_them(void)
{
    static const char yes[] = "expandable_segments:True";
    static const struct {
        const char *segments, *setting, *file, *options;
        int status;
        bool told;
    } rows[] = {{"1", yes, "libcudnn.so.9", "", 1, true},
                {"1", "a:1,expandable_segments:True", "libcudnn.so.9", "", 137, true},
                {"1", yes, "libcudnn.so.9", "", 0, false},
                {"1", yes, "", "", 1, false}, /* the program uses no GPU */
                {"", yes, "libcudnn.so.9", "", 1, false},
                {"1", "expandable_segments:False", "libcudnn.so.9", "", 1, false},
                {"1", yes, "libcudnn.so.9", "log=off", 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(&failed_case, &rows[i], sizeof failed_case);
        check_child(fail_run);
        CHECK_INT(strstr(output, "convshim run --no-expandable-segments") != NULL, rows[i].told);
        CHECK(rows[i].told || !*output);
    }
}

/* --- reports --- */

static bool write_rules(void)
{
    FILE *file = fopen("rules.ini", "w");
    bool good = file && fputs("[rule first]\nkernel = 3x3\nworkspace = 1MiB\n"
                              "[rule second]\nkernel = 5x5\nworkspace = 2MiB\n",
                              file) >= 0;
    return file && fclose(file) == 0 && good;
}

/* True if the file has this summary, except for its time. */
static bool file_has(const char *whole)
{
    static char text[OUTPUT];
    static const char time[] = "\"end_ms\":";
    FILE *file = fopen("summary.json", "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    const char *a = strstr(text, time), *b = strstr(whole, time);
    if (!a || !b || a - text != b - whole || memcmp(text, whole, (size_t)(a - text)) != 0)
        return false;
    return strcmp(strchr(a, ','), strchr(b, ',')) == 0;
}

static int report(void)
{
    static char whole[OUTPUT], part[OUTPUT];
    RETURN_IF(!write_rules());
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    struct cs *cs = start("summary=text,json:summary.json;log=warn", 0);
    cs_ending_write(cs, CS_MOMENT_EXIT); /* nothing came */
    cs_ending_write(cs, CS_MOMENT_KILLED);
    cs_ending_write(cs, CS_MOMENT_RUNNING);
    RETURN_IF(summary_bytes() >= 0);
    count(cs, 1, 0);
    bypass_now = "libtorch.so";
    (void)cs_ending_text(cs, whole, sizeof whole);
    bypass_now = "";
    RETURN_IF(!strstr(whole, "libtorch.so"));
    size_t length = cs_ending_text(cs, whole, sizeof whole);
    RETURN_IF(length != strlen(whole) || length < 500 || whole[length - 1] != '\n');
    RETURN_IF(!strstr(whole, "\"calls\":") || !strstr(whole, "cuDNN 9.1.0"));
    RETURN_IF(!strstr(whole, "\"first\"") || !strstr(whole, "\"second\""));
    for (size_t size = 0; size < 40; size++) {
        memset(part, '#', sizeof part);
        size_t told = cs_ending_text(cs, part + 1, size);
        RETURN_IF(told < length - 20 || told > length + 20); /* times may have other digits */
        RETURN_IF(part[0] != '#' || part[1 + size] != '#');
        RETURN_IF(size > 0 && strlen(part + 1) != size - 1);
        RETURN_IF(size > 0 && memcmp(part + 1, whole, size - 1) != 0);
    }
    part[1 + length] = '#'; /* no room for the last NUL */
    RETURN_IF(cs_ending_text(cs, part + 1, length) == length && part[1 + length] != '#');
    cs_ending_write(cs, CS_MOMENT_RUNNING);
    RETURN_IF(!file_has(whole) || cs->reported != 0);
    unlink("summary.json");
    cs_ending_write(cs, CS_MOMENT_KILLED);
    RETURN_IF(!file_has(whole) || cs->reported != 1);
    unlink("summary.json");
    cs_ending_write(cs, CS_MOMENT_EXIT); /* nothing since */
    cs_ending_write(cs, CS_MOMENT_KILLED);
    RETURN_IF(summary_bytes() >= 0);
    count(cs, 1, 0);
    (void)cs_ending_text(cs, whole, sizeof whole);
    cs_ending_write(cs, CS_MOMENT_EXIT);
    RETURN_IF(!file_has(whole) || cs->reported != 2);
    unlink("summary.json");
    count(cs, 1, 0);
    cs->config.summary.form = CS_SUMMARY_OFF;
    cs_ending_write(cs, CS_MOMENT_EXIT);
    RETURN_IF(summary_bytes() >= 0);
    return GOOD;
}

static int times(const char *text, const char *part)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    return found;
}

static void reports_are_written_if_a_call_came(void)
{
    check_child(report);
    /* Twice with text; early ones are not named. */
    CHECK_INT(times(output, "summary written. To view it: convshim report /"), 2);
    CHECK_INT(times(output, "cuDNN"), 2);
}

static const char *options_now;

static int write_at_exit(void)
{
    cs_ending_write(start(options_now, 1), CS_MOMENT_EXIT);
    return GOOD;
}

static void path_of_the_summary_is_logged(void)
{
    static const struct {
        const char *options, *contains; /* NULL: nothing is logged */
    } rows[] = {{"summary=json:summary.json;log=off", NULL},
                {"summary=json:/dev/null", NULL},
                {"summary=json:summary.json", "summary written. "},
                {"summary=json:no/such/folder/x.json", "cannot write the summary: "},
                {"summary=json:no/such/folder/x.json", "no/such/folder/x.json"},
                {"summary=text", "0 of 1 call tiled"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options_now = rows[i].options;
        check_child(write_at_exit);
        CHECK(rows[i].contains ? strstr(output, rows[i].contains) != NULL : !*output);
        CHECK_INT(strstr(output, "summary written. ") != NULL, i == 2);
        CHECK_INT(summary_bytes() > 0, i == 0 || i == 2);
    }
}

int main(void)
{
    if (!enter_folder())
        return 1;
    TEST(a_run_ends_with_a_line);
    TEST(process_outside_convshim_run_prints_no_line);
    TEST(running_process_can_be_observed);
    TEST(a_summary_is_renewed_every_ten_seconds);
    TEST(signal_is_caught_if_a_summary_is_requested);
    TEST(terminated_process_leaves_its_summary);
    TEST(end_without_exit_leaves_its_summary);
    TEST(blocked_signal_that_ends_the_process_leaves_its_summary);
    TEST(failed_program_with_segments_of_convshim_run_is_told_of_them);
    TEST(reports_are_written_if_a_call_came);
    TEST(path_of_the_summary_is_logged);
    return REPORT() || !leave_folder();
}
