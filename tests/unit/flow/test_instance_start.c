/* How the one instance is made, when threads and children come meanwhile, and how it is carried
 * over fork, with what it asks of the machine replaced. Each case is a child. */
#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stack.h"
#include "config/limits.h"
#include "config/session.h"
#include "flow/exit_report.h"
#include "flow/renewal.h"
#include "flow/sign_of_life.h"
#include "flow/traced_gpu.h"
#include "heap.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *script_now = "";
static uint64_t number_now;
static bool narrow; /* the stack */
static int on_other_stack, registrations, slept;
static void (*meanwhile)(void); /* while the instance is being made */

static char *script_seen(char script[CS_PROGRAM_SCRIPT])
{
    snprintf(script, CS_PROGRAM_SCRIPT, "%s", script_now);
    return script;
}

static uint64_t number_seen(void)
{
    return number_now;
}

static int atfork_seen(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    registrations++;
    return pthread_atfork(before, parent, child);
}

static bool ample_seen(void)
{
    return !narrow;
}

static int run_seen(int (*function)(void *arg), void *arg)
{
    on_other_stack++;
    return function(arg);
}

static atomic_bool waited; /* a thread has waited for another, or did not have to */
static bool is_child;

/* A child that waits for what its parent does would wait forever. */
static int sleep_seen(const struct timespec *moment, struct timespec *rest)
{
    (void)moment, (void)rest;
    waited = true;
    if (is_child && ++slept > 10)
        _exit(3);
    sched_yield();
    return 0;
}

static void trace_open_seen(struct cs_trace *trace, const char *path, int64_t limit,
                            const char *program)
{
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now)
        now();
    cs_trace_open(trace, path, limit, program);
}

static int64_t wall; /* seconds and milliseconds of the coarse clock; 0: it goes on by itself */

/* In libc's place. */
int clock_gettime(clockid_t clock, struct timespec *to)
{
    int status = (int)syscall(SYS_clock_gettime, clock, to);
    if (clock == CLOCK_REALTIME_COARSE && wall > 0)
        *to = (struct timespec){.tv_sec = wall / 1000, .tv_nsec = wall % 1000 * CS_MILLISECOND};
    return status;
}

/* What each part that is carried over a fork was told: b, before it; p, in the parent; c, in the
 * child. */
static char forks[32];

static void note_fork(bool before, bool child)
{
    size_t length = strlen(forks);
    if (length < sizeof forks - 1)
        forks[length] = before && child ? '?' : before ? 'b' : child ? 'c' : 'p';
}

static void trace_fork_seen(struct cs_trace *trace, bool before, bool child)
{
    note_fork(before, child);
    cs_trace_fork(trace, before, child);
}

static void gate_fork_seen(struct cs_gate *gate, bool before, bool child)
{
    note_fork(before, child);
    cs_gate_fork(gate, before, child);
}

static void exec_fork_seen(struct cs_exec *exec, bool before, bool child)
{
    note_fork(before, child);
    cs_exec_process_fork(exec, before, child);
}

static void peak_fork_seen(struct cs_peak *peak, bool before, bool child)
{
    note_fork(before, child);
    cs_peak_fork(peak, before, child);
}

#define cs_trace_fork trace_fork_seen
#define cs_gate_fork gate_fork_seen
#define cs_exec_process_fork exec_fork_seen
#define cs_peak_fork peak_fork_seen
#define cs_program_script script_seen
#define cs_program_number number_seen
#define pthread_atfork atfork_seen
#define cs_stack_ample ample_seen
#define cs_stack_run run_seen
#define nanosleep sleep_seen
#define cs_trace_open trace_open_seen
#define note note_line
#include "flow/instance.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_trace_fork
#undef cs_gate_fork
#undef cs_exec_process_fork
#undef cs_peak_fork
#undef cs_program_script
#undef cs_program_number
#undef pthread_atfork
#undef cs_stack_ample
#undef cs_stack_run
#undef nanosleep
#undef cs_trace_open
#undef note

#include "child_fixture.h"

/* --- what it takes from the program and its options --- */

static int64_t total_of(int64_t total, int64_t workspace)
{
    static struct cs_config config;
    config = (struct cs_config){.budget_total = total, .workspace = workspace};
    return budget_total(&config);
}

static void a_total_is_eight_workspaces(void)
{
    CHECK_INT(total_of(77, 5 << 20), 77);
    CHECK_INT(total_of(0, 5 << 20), 0);
    CHECK_INT(total_of(CS_CONFIG_AUTO, 5 << 20), 40 << 20);
    CHECK_INT(total_of(CS_CONFIG_AUTO, INT64_MAX / 8), INT64_MAX / 8 * 8);
    CHECK_INT(total_of(CS_CONFIG_AUTO, INT64_MAX / 8 + 1), INT64_MAX);
}

static void another_program_is_another_number(void)
{
    static struct cs cs;
    number_now = 1;
    const uint64_t one = options_number(&cs);
    number_now = 2;
    CHECK(options_number(&cs) != one);
    number_now = 1;
    CHECK(options_number(&cs) == one);
}

static const char *rules_now;
static bool watched_now;

static bool write_rules(void)
{
    FILE *file_p = fopen("rules.ini", "w");
    bool good = file_p && fputs(rules_now, file_p) >= 0;
    return file_p && fclose(file_p) == 0 && good;
}

static int begin_with_rules(void)
{
    script_now = "train.py";
    setenv("CONVSHIM_CONFIGFILE", "rules.ini", 1);
    setenv("CONVSHIM_CONFIG", "summary=off", 1);
    RETURN_IF(!write_rules());
    char place[CS_STORE_PATH];
    cs_config_store_place(place);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || strcmp(cs->script, "train.py") != 0);
    RETURN_IF(!place[0] || strcmp(cs->store.path, place) != 0);
    RETURN_IF(cs->peak.on != watched_now);
    return GOOD;
}

/* Only a rule that is in force, and only by its policy. */
static void memory_is_watched_where_a_policy_wants_it(void)
{
    static const struct {
        const char *rules;
        bool watched;
    } rows[] = {{"", false},
                {"policy = peak\n", true},
                {"policy = peak\n[rule a]\nkernel = 3x3\npolicy = fit\n", true},
                {"[rule a]\nkernel = 3x3\npolicy = peak\n", true},
                {"[rule a]\nkernel = 3x3\npolicy = fit\n", false},
                {"[rule a]\nkernel = 3x3\nworkspace = 1MiB\n", false},
                {"[rule a]\nkernel = 3x3\npolicy = fit\n[rule b]\npolicy = peak\n", true},
                {"[rule a]\npolicy = peak\n[rule b]\nkernel = 3x3\npolicy = fit\n", true},
                {"[rule a]\nscript = train.py\npolicy = peak\n", true},
                {"[rule a]\nscript = other.py\npolicy = peak\n", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rules_now = rows[i].rules;
        watched_now = rows[i].watched;
        check_child(begin_with_rules);
        CHECK_STR(output, "");
    }
}

/* What lies behind the rules in force is none. */
static void rules_are_as_many_as_are_counted(void)
{
    static struct cs cs;
    cs.policy = cs_policy_find("fit");
    for (int i = 0; i < 3; i++)
        cs.rules.rule[i] = (struct cs_rule){.given = 1 << CS_RULE_policy, .policy = {"fit"}};
    snprintf(cs.rules.rule[2].policy.text, sizeof cs.rules.rule[2].policy.text, "peak");
    cs.rules.count = 2;
    CHECK(!is_watched(&cs));
    cs.rules.count = 3;
    CHECK(is_watched(&cs));
    cs.rules.count = 0;
    CHECK(!is_watched(&cs));
}

/* --- what is not supported, and memory --- */

static bool unsupported(void)
{
    return false;
}

static const struct cs_host older = {&device, version, file, unsupported, fork_host, bypassed};
static const struct cs_host *host_now;
static const char *options_now;
static int64_t blocks_now; /* of memory that are still taken when it is made or not */

static int begin_and_count(void)
{
    setenv("CONVSHIM_CONFIG", options_now, 1);
    const int64_t taken = heap_taken;
    struct cs *cs = cs_instance(host_now);
    RETURN_IF((cs != NULL) != (host_now == &host) || cs_instance_off() != !cs);
    RETURN_IF(cs_instance_made() != cs || cs_instance(&host) != cs);
    RETURN_IF(heap_taken - taken != blocks_now);
    return GOOD;
}

/* But the instance itself, whatever was to be said. */
static void all_memory_is_given_back(void)
{
    static const struct {
        const struct cs_host *host;
        const char *options;
        int64_t blocks;
    } rows[] = {{&host, "summary=off;log=off", 1},
                {&host, "summary=off;log=off;lanes=pear;tiles=0;min_saving=plum", 1},
                {&older, "summary=off;log=off", 0},
                {&older, "summary=off;log=off;lanes=pear", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        host_now = rows[i].host;
        options_now = rows[i].options;
        blocks_now = rows[i].blocks;
        check_child(begin_and_count);
        CHECK_STR(output, "");
    }
}

/* Of any length, in any order. */
static void notes_have_room(void)
{
    static char line[300];
    struct candidate mine = {.cs = NULL};
    size_t sum = 0;
    for (size_t i = 0; i < 100; i++) {
        const size_t length = i * 37 % 101 + (i == 50 ? 150 : 0);
        memset(line, 'x', length);
        line[length] = '\0';
        note_line(&mine, line);
        sum += length + 1;
        CHECK(mine.used == sum && mine.used <= mine.room);
        CHECK(mine.notes && strcmp(mine.notes + sum - length - 1, line) == 0);
    }
    discard(&mine);
}

static int begin_unsupported(void)
{
    setenv("CONVSHIM_CONFIG", options_now, 1);
    return cs_instance(&older) ? 1 : GOOD;
}

/* Once, beside what is wrong with the options, and where the options say. */
static void what_is_not_supported_is_said(void)
{
    options_now = "summary=off";
    check_child(begin_unsupported);
    CHECK_STR(output, "cuDNN 9.1.0 is not supported: every call passes through\n");
    options_now = "summary=off;log=error";
    check_child(begin_unsupported);
    CHECK_STR(output, "");
    options_now = "summary=off;log_file=older.log";
    check_child(begin_unsupported);
    CHECK_STR(output, "");
    CHECK(access("older.log", R_OK) == 0);
    vendor_now = "8";
    options_now = "summary=off";
    check_child(begin_unsupported);
    CHECK_STR(output, "8 is not supported: every call passes through\n");
    vendor_now = "cuDNN 9.1.0";
}

#ifdef HEAP_REFUSES
static int refused_now;

static int begin_without_memory(void)
{
    setenv("CONVSHIM_CONFIG", "summary=off;lanes=pear;tiles=0", 1);
    heap_left = refused_now;
    struct cs *cs = cs_instance(&host);
    const bool all = heap_left >= 0;
    heap_left = -1;
    RETURN_IF(!cs && all);
    RETURN_IF(cs && (cs_instance_made() != cs || cs->limits.tiles != 4));
    return all ? GOOD : 77;
}

/* Whichever request is refused: there is an instance or none, and it is as usual. */
static void without_memory(void)
{
    int status = 0;
    for (refused_now = 0; refused_now < 1000; refused_now++) {
        status = status_of(begin_without_memory);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 77)
            break;
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == GOOD);
    CHECK(refused_now > 1);
    CHECK(strstr(output, "pear") && strstr(output, "tiles"));
}
#endif

/* --- who comes while it is made --- */

static pthread_t second;
static struct cs *second_got;
static int cancelling, cancelled_state;

static void *come_second(void *unused)
{
    (void)unused;
    second_got = cs_instance(&host);
    waited = true;
    return NULL;
}

static void let_another_come(void)
{
    waited = false;
    if (pthread_create(&second, NULL, come_second, NULL) != 0)
        _exit(2);
    while (!waited)
        sched_yield();
}

static void *do_nothing(void *unused)
{
    return unused;
}

static int begin_with_two(void)
{
    /* What the thread library keeps for the next thread. */
    RETURN_IF(pthread_create(&second, NULL, do_nothing, NULL) != 0);
    RETURN_IF(pthread_join(second, NULL) != 0);
    setenv("CONVSHIM_CONFIG", "summary=off;log=off;lanes=pear", 1);
    const int64_t taken = heap_taken;
    meanwhile = let_another_come;
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || pthread_join(second, NULL) != 0);
    RETURN_IF(second_got != cs || registrations != 1);
    RETURN_IF(heap_taken - taken != 1);
    return GOOD;
}

static int forked_status = -1;

static int begin_in_child(void)
{
    is_child = true;
    struct cs *cs = cs_instance(&host);
    return cs && cs_instance_made() == cs && registrations == 1 ? GOOD : 1;
}

static void fork_meanwhile(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(begin_in_child());
    if (child < 0 || waitpid(child, &forked_status, 0) != child)
        forked_status = -1;
}

static int begin_and_fork(void)
{
    setenv("CONVSHIM_CONFIG", "summary=off", 1);
    meanwhile = fork_meanwhile;
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs || cs_instance_made() != cs);
    RETURN_IF(!WIFEXITED(forked_status) || WEXITSTATUS(forked_status) != GOOD);
    return GOOD;
}

static void look_at_cancelling(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled_state);
}

static int begin_cancelled(void)
{
    int after;
    setenv("CONVSHIM_CONFIG", "summary=off", 1);
    meanwhile = look_at_cancelling;
    pthread_setcancelstate(cancelling, NULL);
    RETURN_IF(!cs_instance(&host));
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
    RETURN_IF(cancelled_state != PTHREAD_CANCEL_DISABLE || after != cancelling);
    RETURN_IF(waited); /* there was nobody to wait for */
    return GOOD;
}

static void one_thread_makes_it(void)
{
    check_child(begin_with_two);
    check_child(begin_and_fork);
    cancelling = PTHREAD_CANCEL_ENABLE;
    check_child(begin_cancelled);
    cancelling = PTHREAD_CANCEL_DISABLE;
    check_child(begin_cancelled);
}

/* --- a child of the process --- */

static int look_in_child(const struct cs *cs, const char *place)
{
    struct cs_live_page page;
    RETURN_IF(cs->reported != 0 || cs->start_ms < 1000 || strcmp(forks, "bbbbcccc") != 0);
    RETURN_IF(!cs_live_missing(&cs->live) || cs_live_read(place, getpid(), &page));
    cs_account_passed(&instance->account, NULL, CS_REASON_SMALL);
    cs_sign_pass(instance);
    RETURN_IF(!cs_live_read(place, getpid(), &page) || page.calls != 1);
    RETURN_IF(!cs_live_read(place, getppid(), &page) || page.calls != 2);
    cs_sign_end(instance);
    RETURN_IF(access("forked.json", F_OK) == 0);
    cs_renewal_exit(); /* as by a child's _exit */
    RETURN_IF(access("forked.json", F_OK) != 0);
    return GOOD;
}

static int begin_again(void)
{
    char place[CS_SESSION_PATH];
    int status = -1;
    struct cs_live_page page;
    setenv("CONVSHIM_CONFIG", "summary=json:forked.json;log=off", 1);
    cs_session_folder(place);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs);
    for (int i = 0; i < 2; i++)
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
    cs_sign_pass(cs);
    cs->reported = 2;
    cs->start_ms = 5;
    pid_t child = fork();
    if (child == 0)
        _exit(look_in_child(cs, place));
    RETURN_IF(waitpid(child, &status, 0) != child || !WIFEXITED(status));
    RETURN_IF(WEXITSTATUS(status) != GOOD);
    RETURN_IF(cs->reported != 2 || cs->start_ms != 5 || cs->account.calls != 2);
    RETURN_IF(strcmp(forks, "bbbbpppp") != 0);
    RETURN_IF(!cs_live_read(place, getpid(), &page));
    cs_sign_end(cs);
    return GOOD;
}

static void a_child_begins_anew(void)
{
    check_child(begin_again);
}

/* --- while it runs --- */

static int tell_scratch_often(void)
{
    static const struct {
        int64_t wall, peak, told;
    } rows[] = {{1000000, 100, 100}, {1000099, 200, 100}, {1000100, 300, 300}, {1000150, 400, 300},
                {1000200, 500, 500}, {1000210, 600, 500}, {1009999, 700, 700}};
    char place[CS_SESSION_PATH];
    struct cs_live_page page;
    setenv("CONVSHIM_CONFIG", "summary=off", 1);
    cs_session_folder(place);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wall = rows[i].wall;
        cs->exec.arena.facts.peak = rows[i].peak;
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
        cs_sign_pass(cs);
        cs_sign_pass(cs); /* nothing was counted since */
        RETURN_IF(!cs_live_read(place, getpid(), &page) || page.calls != (int64_t)i + 1);
        RETURN_IF(page.own_peak != rows[i].told);
    }
    cs_sign_end(cs);
    return GOOD;
}

static void scratch_is_told_ten_times_a_second(void)
{
    check_child(tell_scratch_often);
}

/* --- at exit --- */

static int end_by_exit(void)
{
    char place[CS_SESSION_PATH];
    struct cs_live_page page;
    setenv("CONVSHIM_CONFIG", options_now, 1);
    struct cs *cs = cs_instance(&host);
    RETURN_IF(!cs);
    cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
    cs_trace_tile(&cs->trace, 0, 1, 1000, 2000);
    cs_sign_pass(cs);
    cs_session_folder(place);
    RETURN_IF(!cs_live_read(place, getpid(), &page));
    on_other_stack = 0;
    summary_at_exit();
    RETURN_IF(cs_live_read(place, getpid(), &page) || !cs->trace.closed);
    RETURN_IF(on_other_stack != narrow || cs->reported != 1);
    summary_at_exit(); /* nothing since */
    RETURN_IF(cs->reported != 1);
    return GOOD;
}

static void the_last_summary_has_the_stack_it_needs(void)
{
    options_now = "summary=json:at_exit.json;trace=at_exit.trace";
    for (int i = 0; i < 2; i++) {
        narrow = i == 1;
        unlink("at_exit.json");
        check_child(end_by_exit);
        CHECK(access("at_exit.json", R_OK) == 0);
        CHECK(strncmp(output, "summary in ", strlen("summary in ")) == 0);
        CHECK(strstr(output, "\ntrace in ") != NULL);
    }
    narrow = false;
}

int main(void)
{
    heap_watch();
    if (!enter_folder())
        return 1;
    TEST(a_total_is_eight_workspaces);
    TEST(another_program_is_another_number);
    TEST(memory_is_watched_where_a_policy_wants_it);
    TEST(rules_are_as_many_as_are_counted);
    TEST(all_memory_is_given_back);
    TEST(notes_have_room);
    TEST(what_is_not_supported_is_said);
#ifdef HEAP_REFUSES
    TEST(without_memory);
#endif
    TEST(one_thread_makes_it);
    TEST(a_child_begins_anew);
    TEST(scratch_is_told_ten_times_a_second);
    TEST(the_last_summary_has_the_stack_it_needs);
    return REPORT() || !leave_folder();
}
