/* src/base/log.h: lines, levels, caps, files, and that logging never harms the program. */
#include "base/file.h"
#include "base/log.h"

#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROOM = 1 << 20
};

static char folder[256];
static char got[ROOM];

/* The standard error of this program, put aside while a test has its own. */
static int saved_stderr = -1;

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *read_file(const char *path)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return "(no such file)";
    for (ssize_t n; (n = read(fd, got + used, ROOM - 1 - used)) > 0;)
        used += (size_t)n;
    close(fd);
    got[used] = '\0';
    return got;
}

static void catch_stderr(void)
{
    saved_stderr = dup(STDERR_FILENO);
    int fd = open(path_of("stderr"), O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    close(fd);
}

static const char *caught_stderr(void)
{
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    return read_file(path_of("stderr"));
}

/* `body` with the prefix of this process. */
static const char *prefixed(const char *body)
{
    static char line[8192];
    snprintf(line, sizeof line, "convshim[%d]: %s\n", (int)getpid(), body);
    return line;
}

static void a_line_has_prefix_and_end(void)
{
    catch_stderr();
    cs_log_open(CS_LOG_INFO, NULL);
    cs_log(CS_LOG_INFO, "%s takes %d of %lld", "x", 3, 1LL << 40);
    CHECK_STR(caught_stderr(), prefixed("x takes 3 of 1099511627776"));
}

static void levels_hold_back(void)
{
    for (int limit = CS_LOG_OFF; limit < CS_LEVELS; limit++) {
        for (int level = CS_LOG_OFF; level < CS_LEVELS; level++) {
            catch_stderr();
            cs_log_open((enum cs_level)limit, "");
            cs_log((enum cs_level)level, "here");
            bool written = *caught_stderr() != '\0';
            CHECK(written == (level > CS_LOG_OFF && level <= limit));
        }
    }
}

static void level_names(void)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    for (int level = 0; level < CS_LEVELS; level++)
        CHECK_INT(cs_log_level(names[level]), level);
    CHECK_INT(cs_log_level(""), -1);
    CHECK_INT(cs_log_level("Warn"), -1);
    CHECK_INT(cs_log_level("warning"), -1);
}

static void long_lines_are_cut(void)
{
    char body[1002], want[1001];
    for (int length = 999; length <= 1001; length++) {
        memset(body, 'a', (size_t)length);
        body[length] = '\0';
        memcpy(want, body, 1000);
        want[length < 1000 ? length : 1000] = '\0';
        if (length > 1000)
            memcpy(want + 997, "...", 3);
        catch_stderr();
        cs_log_open(CS_LOG_WARN, NULL);
        cs_log(CS_LOG_WARN, "%s", body);
        CHECK_STR(caught_stderr(), prefixed(want));
    }
}

static void control_characters_do_no_harm(void)
{
    catch_stderr();
    cs_log_open(CS_LOG_WARN, NULL);
    cs_log(CS_LOG_WARN, "a\nb\x1b[31m\x7f\xc3\xa4");
    CHECK_STR(caught_stderr(), prefixed("a?b?[31m?\xc3\xa4"));
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void capped_lines_end(void)
{
    struct cs_log_cap cap = {0};
    catch_stderr();
    cs_log_open(CS_LOG_WARN, NULL);
    for (int i = 0; i < 100; i++) {
        cs_log_capped(&cap, CS_LOG_INFO, "below the level: not counted");
        cs_log_capped(&cap, CS_LOG_WARN, "again %d", i);
    }
    const char *text = caught_stderr();
    CHECK_INT(lines_of(text), 8);
    CHECK_INT(cap.lines, 8); /* counted no further, or it would wrap some day */
    CHECK(strstr(text, "again 6\n") != NULL);
    CHECK(strstr(text, "again 7 (further messages of this kind are not shown)\n") != NULL);
    CHECK(strstr(text, "not counted") == NULL);

    char body[1200];
    memset(body, 'b', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    catch_stderr();
    cap.lines = 7;
    cs_log_capped(&cap, CS_LOG_WARN, "%s", body);
    text = caught_stderr();
    CHECK(strstr(text, "bbb... (further messages of this kind are not shown)\n") != NULL);
    CHECK_INT(strlen(text), strlen(prefixed("")) + 1000);
}

static void text_has_a_prefix_on_each_line(void)
{
    catch_stderr();
    cs_log_open(CS_LOG_OFF, NULL);
    cs_log_text("one\n\ntwo\n");
    cs_log_text("three");
    char want[256] = "";
    strcat(want, prefixed("one"));
    strcat(want, prefixed(""));
    strcat(want, prefixed("two"));
    strcat(want, prefixed("three"));
    CHECK_STR(caught_stderr(), want);
}

static void the_file_is_appended_to_and_named_after_the_process(void)
{
    char path[512], want[512];
    snprintf(path, sizeof path, "%s/log.%d", folder, (int)getpid());
    cs_log_open(CS_LOG_WARN, path_of("log.%p"));
    cs_log(CS_LOG_WARN, "one");
    cs_log_open(CS_LOG_WARN, path_of("log.%p"));
    cs_log(CS_LOG_WARN, "two");
    snprintf(want, sizeof want, "%s", prefixed("one"));
    strcat(want, prefixed("two"));
    CHECK_STR(read_file(path), want);

    pid_t child = fork();
    if (child == 0) {
        cs_log(CS_LOG_WARN, "child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    CHECK_STR(read_file(path), want);
    snprintf(path, sizeof path, "%s/log.%d", folder, (int)child);
    snprintf(want, sizeof want, "convshim[%d]: child\n", (int)child);
    CHECK_STR(read_file(path), want);
}

static void file_is_created_with_the_first_line(void)
{
    cs_log_open(CS_LOG_WARN, path_of("late"));
    CHECK(access(path_of("late"), F_OK) != 0);
    cs_log(CS_LOG_INFO, "below the level");
    CHECK(access(path_of("late"), F_OK) != 0);
    cs_log(CS_LOG_WARN, "now");
    CHECK(access(path_of("late"), F_OK) == 0);
}

static void relative_path_keeps_its_folder(void)
{
    char before[PATH_MAX];
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK(chdir(folder) == 0);
    cs_log_open(CS_LOG_WARN, "relative");
    CHECK(chdir("/") == 0);
    cs_log(CS_LOG_WARN, "here");
    CHECK(chdir(before) == 0);
    CHECK_STR(read_file(path_of("relative")), prefixed("here"));
}

static void unopenable_file_is_reported_once(void)
{
    catch_stderr();
    cs_log_open(CS_LOG_WARN, path_of("missing/log"));
    cs_log(CS_LOG_WARN, "one");
    cs_log(CS_LOG_WARN, "two");
    const char *text = caught_stderr();
    CHECK_INT(lines_of(text), 3);
    CHECK(strstr(text, "cannot open the log file") != NULL);
    CHECK(strstr(text, path_of("missing/log")) != NULL);
    CHECK(strstr(text, ": one\n") != NULL && strstr(text, ": two\n") != NULL);

    char path[2 * PATH_MAX];
    memset(path, '/', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    catch_stderr();
    cs_log_open(CS_LOG_WARN, path);
    cs_log(CS_LOG_WARN, "one");
    CHECK_INT(lines_of(caught_stderr()), 2);
}

static void a_line_that_the_file_cannot_take_goes_to_standard_error(void)
{
    catch_stderr();
    cs_log_open(CS_LOG_WARN, "/dev/full");
    cs_log(CS_LOG_WARN, "one");
    cs_log_text("two\n");
    const char *text = caught_stderr();
    CHECK_INT(lines_of(text), 3);
    CHECK(strstr(text, "cannot write to the log file, so messages go to standard error: ") != NULL);
    CHECK(strstr(text, ": /dev/full\n") != NULL);
    CHECK(strstr(text, ": one\n") != NULL && strstr(text, ": two\n") != NULL);
}

static void errno_is_kept(void)
{
    catch_stderr();
    errno = ENOTTY;
    cs_log_open(CS_LOG_WARN, path_of("missing/log"));
    CHECK_INT(errno, ENOTTY);
    cs_log(CS_LOG_WARN, "line");
    CHECK_INT(errno, ENOTTY);
    cs_log_text("line\n");
    CHECK_INT(errno, ENOTTY);
    CHECK(*caught_stderr());
}

/* The status of a child that logs with `prepare` done before: 7, unless a signal ends it. */
static int status_of_child(void (*prepare)(void))
{
    pid_t child = fork();
    if (child == 0) {
        prepare();
        cs_log(CS_LOG_WARN, "a line");
        cs_log_text("a line\n");
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

static void break_pipe(void)
{
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    if (pipe(ends) != 0)
        _exit(1);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    cs_log_open(CS_LOG_WARN, NULL);
}

static void forbid_growth(void)
{
    const struct rlimit none = {0, 0};
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &none);
    cs_log_open(CS_LOG_WARN, path_of("limited"));
}

static void close_stderr(void)
{
    close(STDERR_FILENO);
    cs_log_open(CS_LOG_WARN, NULL);
}

static void a_pipe_without_reader(void)
{
    if (mkfifo(path_of("fifo"), 0600) != 0)
        _exit(1);
    close(STDERR_FILENO);
    cs_log_open(CS_LOG_WARN, path_of("fifo"));
    alarm(10);
}

static void no_target_harms_the_program(void)
{
    void (*const prepare[])(void) = {break_pipe, forbid_growth, close_stderr,
                                     a_pipe_without_reader};
    for (size_t i = 0; i < sizeof prepare / sizeof prepare[0]; i++) {
        int status = status_of_child(prepare[i]);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 7);
    }
}

static void signals_of_the_program_are_unchanged(void)
{
    sigset_t mask, pending;
    catch_stderr();
    cs_log_open(CS_LOG_WARN, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    raise(SIGPIPE);
    cs_log(CS_LOG_WARN, "line");
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGPIPE) == 1);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    cs_log(CS_LOG_WARN, "line");
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CHECK(sigismember(&mask, SIGPIPE) == 0);
    CHECK_INT(lines_of(caught_stderr()), 2);
}

enum {
    THREADS = 8,
    THREAD_LINES = 400
};

static void *log_lines(void *argument)
{
    int thread = *(int *)argument;
    char body[200];
    memset(body, 'a' + thread, sizeof body - 1);
    body[sizeof body - 1] = '\0';
    for (int i = 0; i < THREAD_LINES; i++)
        cs_log(CS_LOG_WARN, "%s", body + i % 100);
    return NULL;
}

/* One letter to the end of the line, after the prefix. */
static bool is_whole(const char *line, size_t length)
{
    const char *prefix = prefixed("");
    size_t start = strlen(prefix) - 1;
    if (length <= start || memcmp(line, prefix, start) != 0)
        return false;
    for (size_t i = start; i < length; i++) {
        if (line[i] != line[start])
            return false;
    }
    return true;
}

static void lines_of_threads_are_whole(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS], lines = 0, whole = 0;
    catch_stderr();
    cs_log_open(CS_LOG_WARN, NULL);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, log_lines, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    const char *text = caught_stderr();
    for (; *text; text += strcspn(text, "\n") + 1, lines++)
        whole += is_whole(text, strcspn(text, "\n"));
    CHECK_INT(lines, THREADS * THREAD_LINES);
    CHECK_INT(whole, THREADS * THREAD_LINES);
}

static void *log_capped(void *argument)
{
    for (int i = 0; i < THREAD_LINES; i++)
        cs_log_capped(argument, CS_LOG_WARN, "again");
    return NULL;
}

static void a_cap_holds_for_all_threads(void)
{
    pthread_t threads[THREADS];
    struct cs_log_cap cap = {0};
    catch_stderr();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, log_capped, &cap);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(lines_of(caught_stderr()), 8);
}

static void sizes_are_in_mib_up_to_10_gib(void)
{
    static const struct {
        long long bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1 KiB"},
        {1075, "1 KiB"},   /* 1.0498 */
        {1076, "1.1 KiB"}, /* 1.0508 */
        {1536, "1.5 KiB"},
        {(1LL << 20) - 52, "1023.9 KiB"},
        {(1LL << 20) - 1, "1 MiB"},
        {64LL << 20, "64 MiB"},
        {541589504, "516.5 MiB"},
        {1360108023, "1297.1 MiB"},
        {9LL << 30, "9216 MiB"},
        {(10LL << 30) - (1LL << 16), "10239.9 MiB"},
        {(10LL << 30) - 1, "10 GiB"},
        {10748192358, "10.01 GiB"},
        {13636521165, "12.70 GiB"},
        {3LL << 40, "3072 GiB"},
        {INT64_MAX, "8589934592 GiB"},
        {-1, "-1 B"},
        {-(3LL << 30), "-3072 MiB"},
        {INT64_MIN, "-8589934592 GiB"},
    };
    char text[CS_SIZE_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_STR(cs_log_size_text(text, rows[i].bytes), rows[i].text);
    }
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/convshim-test-XXXXXX", base ? base : P_tmpdir);
    if (!mkdtemp(folder))
        return 1;
    TEST(a_line_has_prefix_and_end);
    TEST(levels_hold_back);
    TEST(level_names);
    TEST(long_lines_are_cut);
    TEST(control_characters_do_no_harm);
    TEST(capped_lines_end);
    TEST(text_has_a_prefix_on_each_line);
    TEST(the_file_is_appended_to_and_named_after_the_process);
    TEST(file_is_created_with_the_first_line);
    TEST(relative_path_keeps_its_folder);
    TEST(unopenable_file_is_reported_once);
    TEST(a_line_that_the_file_cannot_take_goes_to_standard_error);
    TEST(errno_is_kept);
    TEST(no_target_harms_the_program);
    TEST(signals_of_the_program_are_unchanged);
    TEST(lines_of_threads_are_whole);
    TEST(a_cap_holds_for_all_threads);
    TEST(sizes_are_in_mib_up_to_10_gib);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || REPORT();
}
