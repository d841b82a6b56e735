/* The parts of the trace, each alone: blanks before a line that a page has no room for, when what
 * is written goes to the file, the last event before the limit. The clock is the test's. */
#include "base/clock.h"
#include <sys/stat.h>

static int64_t clock_now;
#define cs_clock(clock) ((void)(clock), clock_now)
#define cs_trace_annotated trace_annotated
#define cs_trace_now trace_now
#define cs_trace_open trace_open
#define cs_trace_call trace_call
#define cs_trace_tile trace_tile
#define cs_trace_scratch trace_scratch
#define cs_trace_flush trace_flush
#define cs_trace_close trace_close
#define cs_trace_fork trace_fork
#include "account/trace.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_clock
#include "check.h"

static char path[] = "/tmp/convshim-trace-XXXXXX";
static struct cs_trace trace;

static void open_trace(int64_t limit)
{
    memset(&trace, 0, sizeof trace);
    CHECK(truncate(path, 0) == 0);
    trace_open(&trace, path, limit, "program");
    CHECK_INT(trace.lock.rank, CS_RANK_TRACE);
}

static long size_of_file(void)
{
    struct stat info = {.st_size = -1};
    CHECK(stat(path, &info) == 0);
    return (long)info.st_size;
}

static char *line_of(size_t length)
{
    static char line[2 * PAGE];
    memset(line, 'x', length);
    line[length] = '\0';
    return line;
}

/* Whether the buffer has so many blanks and then the line, and nothing else. */
static bool holds(size_t blanks, size_t length)
{
    bool good = trace.used == blanks + length;
    for (size_t i = 0; i < trace.used; i++)
        good = good && trace.buffer[i] == (i < blanks ? ' ' : 'x');
    return good;
}

static void blanks_fill_a_page(void)
{
    for (size_t rest = 1; rest <= 300; rest++) {
        open_trace(1 << 30);
        trace.position = 3 * PAGE - (int64_t)rest;
        put_line(&trace, line_of(rest));
        CHECK(holds(0, rest));
        trace.used = 0;
        put_line(&trace, line_of(rest + 1));
        CHECK(holds(rest, rest + 1));
    }
    open_trace(1 << 30);
    put_line(&trace, line_of(PAGE));
    CHECK(holds(0, PAGE));
    put_line(&trace, line_of(10)); /* what is in the buffer counts */
    put_line(&trace, line_of(PAGE - 9));
    CHECK_INT(trace.used, PAGE + PAGE + PAGE - 9);
    CHECK(trace.buffer[PAGE + 10] == ' ' && trace.buffer[2 * PAGE - 1] == ' ');
    CHECK(trace.buffer[PAGE + 9] == 'x' && trace.buffer[2 * PAGE] == 'x');
}

/* A buffer that is full is written when more comes, not before. */
static void a_full_buffer_is_written(void)
{
    open_trace(1 << 30);
    strcpy(trace.path, path);
    trace.used = sizeof trace.buffer - 10;
    memset(trace.buffer, 'y', sizeof trace.buffer);
    put(&trace, line_of(10), 10);
    CHECK(trace.used == sizeof trace.buffer && size_of_file() == 0 && trace.position == 0);
    clock_now = 77;
    put(&trace, line_of(1), 1);
    CHECK_INT(size_of_file(), sizeof trace.buffer);
    CHECK(trace.used == 1 && trace.position == (int64_t)sizeof trace.buffer);
    CHECK(trace.buffer[0] == 'x' && trace.written_at == 77);
}

static void after_a_second_or_at_the_end(void)
{
    for (int64_t later = MOST_LOST - 1; later <= MOST_LOST + 1; later++) {
        open_trace(1 << 30);
        clock_now = 5;
        CHECK(begin(&trace) && trace.used > 0);
        trace.written_at = 5;
        clock_now = 5 + later;
        end(&trace);
        CHECK_INT(size_of_file() > 0, later > MOST_LOST);
    }
    open_trace(1 << 30);
    clock_now = 5;
    trace_tile(&trace, 0, 1, 10, 20); /* the clock began at nothing */
    CHECK_INT(size_of_file(), 0);
    trace_flush(&trace);
    long before = size_of_file();
    CHECK(before > 0 && trace.used == 0);
    clock_now = MOST_LOST + 5;
    trace_tile(&trace, 0, 1, 10, 20);
    CHECK(size_of_file() > before);
    before = size_of_file();
    trace_tile(&trace, 0, 1, 10, 20);
    CHECK_INT(size_of_file(), before);
    trace.ended = true;
    trace_tile(&trace, 0, 1, 10, 20);
    CHECK(size_of_file() > before && trace.used == 0);
}

/* What would leave no room for the last event is not written, nor is anything after it. */
static void the_limit(void)
{
    for (int more = -1; more <= 1; more++) {
        open_trace(PAGE * 4);
        strcpy(trace.path, path);
        trace.position = PAGE * 4 - LAST - 2 * LINE - 100 - 20 + more;
        trace.used = 20;
        memset(trace.buffer, 'y', 20);
        put_event(&trace, "%s", line_of(100));
        bool last = more > 0;
        CHECK_INT(cs_trace_on(&trace), !last);
        CHECK_INT(trace.used, last ? 0 : 120);
        CHECK_INT(size_of_file() > 0, last);
        put_event(&trace, "%s", line_of(1));
        CHECK_INT(trace.used, last ? 0 : more == 0 ? 0 : 121);
    }
}

/* Microseconds with three decimals, as all events have them. */
static void the_last_event_has_its_time(void)
{
    char text[4 * LAST] = "", time[64];
    open_trace(PAGE * 4);
    strcpy(trace.path, path);
    trace.position = PAGE * 4;
    clock_now = 1234567;
    put_event(&trace, "%s", line_of(1));
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && pread(fd, text, sizeof text - 1, 0) > 0);
    snprintf(time, sizeof time, "\"pid\":%lld,\"tid\":%lld,\"ts\":1234.567}", (long long)getpid(),
             (long long)gettid());
    CHECK(strstr(text, time) != NULL);
    close(fd);
}

static void lines_that_are_too_long_are_left_out(void)
{
    open_trace(1 << 30);
    strcpy(trace.path, path);
    put_event(&trace, "%s", line_of(LINE));
    CHECK_INT(trace.used, 0);
    put_event(&trace, "%s", line_of(LINE - 1));
    CHECK(holds(0, LINE - 1));
}

/* Each lane of a thread once, and again in a forked child. */
static void lanes_are_named_once(void)
{
    open_trace(1 << 30);
    strcpy(trace.path, path);
    for (int lane = 0; lane < CS_MAX_LANES; lane++) {
        char name[64];
        size_t before = trace.used;
        int64_t track = track_of(&trace, lane);
        CHECK_INT(track, (INT64_C(1) << 30) + (int64_t)gettid() * CS_MAX_LANES + lane);
        snprintf(name, sizeof name, "tiles of thread %lld, lane %d", (long long)gettid(), lane);
        CHECK(trace.used > before && trace.used < sizeof trace.buffer);
        trace.buffer[trace.used] = '\0';
        CHECK(strstr(trace.buffer + before, name) != NULL);
        before = trace.used;
        CHECK_INT(track_of(&trace, lane), track);
        CHECK_INT(trace.used, before);
    }
    CHECK_INT(track_of(&trace, 0) + 1, track_of(&trace, 1));
}

/* The bracket that ends a file is taken off, and nothing else is. */
static void a_bracket_is_taken_off(void)
{
    static const char *const texts[][2] = {{"", ""},
                                           {"x", "x"},
                                           {"\n]\n", ""},
                                           {"abc\n]\n", "abc"},
                                           {"abc\n] ", "abc\n] "},
                                           {"]\n", "]\n"},
                                           {"abc]\n\n", "abc]\n\n"},
                                           {"\n]\n\n]\n", "\n]\n"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[16] = "";
        int fd = open(path, O_RDWR | O_TRUNC);
        CHECK(fd >= 0 && cs_file_write_all(fd, texts[i][0], strlen(texts[i][0])));
        reopen(fd);
        CHECK(pread(fd, text, sizeof text - 1, 0) >= 0);
        CHECK_STR(text, texts[i][1]);
        close(fd);
    }
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0)
        return 1;
    TEST(lanes_are_named_once); /* before any other event of this thread */
    TEST(blanks_fill_a_page);
    TEST(a_full_buffer_is_written);
    TEST(after_a_second_or_at_the_end);
    TEST(the_limit);
    TEST(the_last_event_has_its_time);
    TEST(lines_that_are_too_long_are_left_out);
    TEST(a_bracket_is_taken_off);
    return unlink(path) != 0 || REPORT();
}
