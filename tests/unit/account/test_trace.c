/* src/account/trace.c: every event arrives, once, in a file that can be read at any moment. */
#include "account/trace.h"

#include "account_fixture.h"
#include "base/log.h"
#include "check.h"
#include "descriptors.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    THREADS = 8,
    CALLS = 1000
};

static char folder[] = "/tmp/test_trace.XXXXXX";
static char path[64];
static char text[8 << 20];
static struct cs_trace *trace;
static struct cs_account *account;
static struct cs_site_ref site;

static const char *file_of(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    return path;
}

static void begin(const char *to, int64_t limit, const char *program)
{
    struct cs_problem problem = problem_of(2, 512, 512, 64, CS_F16);
    struct cs_site_facts facts = facts_of(&problem, 100, 50, 2);
    account = new_account();
    site = cs_account_site(account, &facts, "");
    trace = calloc(1, sizeof *trace);
    if (!trace)
        exit(1);
    cs_trace_open(trace, to, limit, program);
}

static void end(void)
{
    free(trace);
    free(account);
}

static size_t read_text(const char *from)
{
    FILE *file = fopen(from, "r");
    size_t length = file ? fread(text, 1, sizeof text - 2, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return length;
}

/* The events of a file with its bracket closed; NULL, and a failed check, if that is no JSON. */
static cJSON *events_of(const char *from)
{
    size_t length = read_text(from);
    if (length < 3 || strcmp(text + length - 3, "\n]\n") != 0) {
        text[length] = ']';
        text[length + 1] = '\0';
    }
    cJSON *events = cJSON_Parse(text);
    CHECK(cJSON_IsArray(events));
    return events;
}

static int count(const cJSON *events, const char *key, const char *value)
{
    int found = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
        found += cJSON_IsString(item) && strcmp(item->valuestring, value) == 0;
    }
    return found;
}

static void call(int64_t number, int tiles)
{
    int64_t now = cs_trace_now();
    for (int i = 0; i < tiles; i++)
        cs_trace_tile(trace, i % 2, i, now + i, now + i + 1);
    *cs_trace_annotated() =
        (struct cs_trace_annotate){.number = number, .site = site, .outcome = "tiles"};
    cs_trace_call(trace, account, now, now + 1234567, 7);
}

static int64_t monotonic(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The clock that other traces of the machine have. */
static void clock_is_monotonic(void)
{
    for (int i = 0; i < 100; i++) {
        int64_t before = monotonic(), now = cs_trace_now(), after = monotonic();
        CHECK(before <= now && now <= after);
    }
}

static void scratch(enum cs_scratch_happening what, int64_t offset, int64_t bytes, uint64_t graph)
{
    const struct cs_scratch_event event = {.what = what,
                                           .slab = 3,
                                           .offset = offset,
                                           .bytes = bytes,
                                           .stream = 5,
                                           .capture = graph,
                                           .waits = 2,
                                           .held = 4096,
                                           .used = bytes};
    cs_trace_scratch(trace, &event);
}

/* Replaces the numbers that differ between runs (the process, its threads and their lanes, the
 * current time) by known ones. */
static void put_known(char *known, size_t size, const char *line, int64_t begun)
{
    size_t used = 0;
    const int64_t tracks = (INT64_C(1) << 30) + gettid() * (int64_t)CS_MAX_LANES;
    while (*line && used + 32 < size) {
        char *end;
        if (line[strspn(line, " ")] == ',')
            line += strspn(line, " "); /* the rest of a page */
        const char *number = strncmp(line, "\"pid\":", 6) == 0 || strncmp(line, "\"tid\":", 6) == 0
                                 ? line + 6
                             : strncmp(line, "\"ts\":", 5) == 0     ? line + 5
                             : strncmp(line, "of thread ", 10) == 0 ? line + 10
                                                                    : NULL;
        long long value = number ? strtoll(number, &end, 10) : 0;
        if (!number || value == 0) {
            known[used++] = *line++;
            continue;
        }
        bool time = line[2] == 's', now = time && value >= begun / 1000;
        const char *what = now                                   ? "now"
                           : time                                ? NULL
                           : line[1] == 'p' && value == getpid() ? "process"
                           : value == gettid()                   ? "thread"
                           : value == tracks                     ? "lane 0"
                           : value == tracks + CS_MAX_LANES - 1  ? "last lane"
                                                                 : NULL;
        if (now)
            CHECK(value <= cs_trace_now() / 1000 && *end == '.' &&
                  strspn(end + 1, "0123456789") == 3);
        used += (size_t)snprintf(known + used, size - used, "%.*s%s", (int)(number - line), line,
                                 what ? what : "");
        line = !what ? number : now ? end + 4 : end;
        if (!what)
            known[used++] = *line++;
    }
    known[used] = '\0';
}

static const char *const every_event[] = {
    "[",
    "{\"ph\":\"M\",\"name\":\"convshim\",\"pid\":process,\"tid\":0,\"args\":{\"version\":1,"
    "\"clock\":\"host, monotonic, no times of the device\"}},",
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":process,\"tid\":0,\"args\":{\"name\":"
    "\"a \\\"program\\\"\\u000a\"}},",
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":process,\"tid\":lane "
    "0,\"args\":{\"name\":\"tiles of thread thread, lane 0\"}},",
    "{\"ph\":\"X\",\"cat\":\"tile\",\"name\":\"tile 12\",\"pid\":process,\"tid\":lane "
    "0,\"ts\":1234.567,\"dur\":1000.432},",
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":process,\"tid\":last "
    "lane,\"args\":{\"name\":\"tiles of thread thread, lane 7\"}},",
    "{\"ph\":\"X\",\"cat\":\"tile\",\"name\":\"tile 13\",\"pid\":process,\"tid\":last "
    "lane,\"ts\":5.006,\"dur\":0.001},",
    "{\"ph\":\"C\",\"name\":\"scratch\",\"pid\":process,\"ts\":3001.002,\"args\":{\"required\":100,"
    "\"reported\":50,\"own\":77}},",
    "{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"1x512x64x64 -> 512 k3x3 s1 p1 f16 "
    "nchw\",\"pid\":process,\"tid\":thread,\"ts\":3001.002,\"dur\":1002.003,\"args\":{\"call\":41,"
    "\"site\":\"ec5e69d2d598f1cc\",\"outcome\":\"tiles\",\"required\":100,\"reported\":50}},",
    "{\"ph\":\"C\",\"name\":\"scratch\",\"pid\":process,\"ts\":4003.005,\"args\":{\"required\":0,"
    "\"reported\":0,\"own\":77}},",
    "{\"ph\":\"C\",\"name\":\"scratch\",\"pid\":process,\"ts\":3001.002,\"args\":{\"required\":0,"
    "\"reported\":0,\"own\":77}},",
    "{\"ph\":\"X\",\"cat\":\"call\",\"name\":\"convolution\",\"pid\":process,\"tid\":thread,\"ts\":"
    "3001.002,\"dur\":1002.003,\"args\":{\"call\":43,\"site\":\"\",\"outcome\":\"tiles\","
    "\"required\":0,\"reported\":0}},",
    "{\"ph\":\"C\",\"name\":\"scratch\",\"pid\":process,\"ts\":4003.005,\"args\":{\"required\":0,"
    "\"reported\":0,\"own\":77}},",
    "{\"ph\":\"b\",\"cat\":\"slab\",\"name\":\"slab\",\"id2\":{\"local\":\"0x3\"},\"pid\":process,"
    "\"tid\":thread,\"ts\":now,\"args\":{\"slab\":3,\"bytes\":1024}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"e\",\"cat\":\"slab\",\"name\":\"slab\",\"id2\":{\"local\":\"0x3\"},\"pid\":process,"
    "\"tid\":thread,\"ts\":now,\"args\":{\"slab\":3,\"bytes\":1024}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"b\",\"cat\":\"block\",\"name\":\"block\",\"id2\":{\"local\":\"0x30000000002\"},"
    "\"pid\":process,\"tid\":thread,\"ts\":now,\"args\":{\"slab\":3,\"offset\":512,\"bytes\":1024,"
    "\"graph\":9,\"stream\":5,\"waits\":2}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"e\",\"cat\":\"block\",\"name\":\"block\",\"id2\":{\"local\":\"0x30000000002\"},"
    "\"pid\":process,\"tid\":thread,\"ts\":now,\"args\":{\"slab\":3,\"offset\":512,\"bytes\":1024,"
    "\"graph\":9,\"lost\":false}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"e\",\"cat\":\"block\",\"name\":\"block\",\"id2\":{\"local\":\"0x30000000002\"},"
    "\"pid\":process,\"tid\":thread,\"ts\":now,\"args\":{\"slab\":3,\"offset\":512,\"bytes\":1024,"
    "\"graph\":9,\"lost\":true}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"b\",\"cat\":\"graph\",\"name\":\"graph\",\"id2\":{\"local\":\"0x9\"},\"pid\":"
    "process,\"tid\":thread,\"ts\":now,\"args\":{\"graph\":9}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}},",
    "{\"ph\":\"e\",\"cat\":\"graph\",\"name\":\"graph\",\"id2\":{\"local\":\"0x9\"},\"pid\":"
    "process,\"tid\":thread,\"ts\":now,\"args\":{\"graph\":9,\"bytes\":1024}},",
    "{\"ph\":\"C\",\"name\":\"arena\",\"pid\":process,\"ts\":now,\"args\":{\"held\":4096,\"used\":"
    "1024}}",
    "]",
    "",
};

/* Every kind of event as written in the file, from a thread whose number is not the process's. */
static void *put_every_event(void *unused)
{
    static const enum cs_scratch_happening happening[] = {
        CS_SCRATCH_ALLOCATED, CS_SCRATCH_FREED, CS_SCRATCH_TAKEN,   CS_SCRATCH_GIVEN,
        CS_SCRATCH_LOST,      CS_SCRATCH_KEPT,  CS_SCRATCH_RELEASED};
    static const struct cs_site_ref none;
    int64_t begun = cs_trace_now();
    (void)unused;
    cs_trace_tile(trace, 0, 12, 1234567, 2234999);
    cs_trace_tile(trace, CS_MAX_LANES - 1, 13, 5006, 5007);
    for (int i = 0; i < 3; i++) {
        *cs_trace_annotated() = (struct cs_trace_annotate){
            .number = i == 1 ? 0 : i + 41, .site = i == 0 ? site : none, .outcome = "tiles"};
        cs_trace_call(trace, account, 3001002, 4003005, 77);
        CHECK_INT(cs_trace_annotated()->number, 0);
    }
    for (size_t i = 0; i < sizeof happening / sizeof *happening; i++)
        scratch(happening[i], 512, 1024, 9);
    cs_trace_close(trace);
    read_text(path);
    size_t lines = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL; lines++) {
        char known[1024];
        put_known(known, sizeof known, line, begun);
        CHECK_STR(known,
                  lines < sizeof every_event / sizeof *every_event ? every_event[lines] : "");
    }
    CHECK_INT((int64_t)lines, (int64_t)(sizeof every_event / sizeof *every_event));
    return NULL;
}

static void every_event_as_it_is_written(void)
{
    pthread_t thread;
    begin(file_of("every"), 1 << 20, "a \"program\"\n");
    CHECK_INT(pthread_create(&thread, NULL, put_every_event, NULL), 0);
    pthread_join(thread, NULL);
    end();
}

static void without_a_path_no_trace_is_written(void)
{
    begin("", 1 << 20, "program");
    CHECK(!cs_trace_on(trace));
    cs_trace_tile(trace, 0, 0, 0, 1);
    cs_trace_close(trace);
    CHECK_INT(trace->used, 0);
    end();
}

/* A write that is cut by a signal ends at a page. */
static void every_page_ends_with_a_whole_line(void)
{
    begin(file_of("pages"), INT64_C(1) << 30, "program");
    for (int i = 1; i <= CALLS; i++)
        call(i, i % 5);
    cs_trace_close(trace);
    size_t length = read_text(path);
    CHECK(length > 2 * CS_TRACE_CHUNK);
    for (size_t cut = PAGE; cut < length; cut += PAGE) {
        char kept[2];
        memcpy(kept, text + cut, 2);
        memcpy(text + cut, "]", 2);
        cJSON *events = cJSON_Parse(text);
        CHECK(events != NULL);
        cJSON_Delete(events);
        memcpy(text + cut, kept, 2);
        if (cut > 40 * PAGE)
            cut += 16 * PAGE;
    }
    end();
}

static void *call_in_thread(void *argument)
{
    const int64_t *first = argument;
    for (int64_t i = 0; i < CALLS; i++)
        call(*first + i, 1);
    return NULL;
}

static void no_event_of_a_thread_is_lost(void)
{
    pthread_t threads[THREADS];
    int64_t first[THREADS];
    begin(file_of("threads"), INT64_C(1) << 30, "program");
    for (int i = 0; i < THREADS; i++) {
        first[i] = 1 + (int64_t)i * CALLS;
        pthread_create(&threads[i], NULL, call_in_thread, &first[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cs_trace_close(trace);
    cJSON *events = events_of(path);
    CHECK_INT(count(events, "cat", "call"), THREADS * CALLS);
    CHECK_INT(count(events, "cat", "tile"), THREADS * CALLS);
    cJSON_Delete(events);
    end();
}

static void it_ends_at_its_limit(void)
{
    static const int64_t limits[] = {64 << 10, 100000, 300000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct stat file;
        begin(file_of("limit"), limits[i], "program");
        for (int j = 1; j <= CALLS; j++)
            call(j, 3);
        CHECK(!cs_trace_on(trace));
        CHECK(stat(path, &file) == 0 && file.st_size <= limits[i] &&
              file.st_size > limits[i] - 3 * PAGE);
        cJSON *events = events_of(path);
        const cJSON *last = cJSON_GetArrayItem(events, cJSON_GetArraySize(events) - 1);
        CHECK_STR(cJSON_GetObjectItem(last, "name")->valuestring,
                  "trace_limit reached: later events are missing");
        cJSON_Delete(events);
        end();
    }
}

/* Writes the same event each time, independent of the clock. Returns the bytes written for it or
 * instead of it. */
static int64_t put_tile(void)
{
    int64_t before = trace->position + (int64_t)trace->used;
    cs_trace_tile(trace, 1, 7, 1000000, 2000000);
    return trace->position + (int64_t)trace->used - before;
}

/* An event is written as long as the final event still fits after it. The distance is twice the
 * largest event, since the rest of the page may be filled. */
static void the_last_byte_of_the_limit(void)
{
    enum {
        BEHIND = 256 + 2 * 2048
    };
    begin(file_of("exact"), 1 << 30, "program");
    (void)put_tile(); /* with the name of the track */
    const int64_t length = put_tile();
    CHECK(length > 40 && length < 400);
    for (int less = 0; less < 2; less++) {
        trace->limit = trace->position + (int64_t)trace->used + length + BEHIND - less;
        CHECK_INT(put_tile() == length, !less);
        CHECK_INT(cs_trace_on(trace), !less);
    }
    CHECK(trace->position <= trace->limit);
    end();
}

static void earlier_file_is_overwritten(void)
{
    for (int run = 0; run < 2; run++) {
        begin(run == 0 ? file_of("anew") : path, 1 << 20, "program");
        call(1, 0);
        cs_trace_close(trace);
        end();
    }
    cJSON *events = events_of(path);
    CHECK_INT(count(events, "cat", "call"), 1);
    cJSON_Delete(events);
}

static void child_of(int64_t number)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        cs_trace_fork(trace, false, true);
        call(number, 1);
        cs_trace_close(trace);
        exit(0); /* in order: a build that counts lines counts the child's */
    }
    cs_trace_fork(trace, false, false);
    waitpid(child, NULL, 0);
}

/* A name that is too long with the process id in it is found so when the first event is written. */
static void a_path_that_is_too_long_ends_the_trace(void)
{
    static char name[PATH_MAX];
    char log[64];
    snprintf(log, sizeof log, "%s/log", folder);
    memset(name, 'n', sizeof name);
    name[0] = '/';
    memcpy(name + sizeof name - 3, "%p", 3);
    cs_log_open(CS_LOG_WARN, log);
    begin(name, 1 << 20, "program");
    call(0, 1);
    cs_trace_close(trace);
    CHECK(!cs_trace_on(trace) && !cs_trace_written(trace));
    read_text(log);
    CHECK(strstr(text, "cannot write the trace: the path in option trace is too long") != NULL);
    cs_log_open(CS_LOG_WARN, NULL);
    end();
}

/* A file with a size limit of this many bytes: written events are whole, one line reports that the
 * trace ends, and no event follows. */
static void a_file_that_grows_no_further_ends_the_trace(void)
{
    static const rlim_t limits[] = {0, 1, 4095, 4096, 10000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char log[96];
        struct stat file;
        struct rlimit usual, limit;
        begin(file_of("full"), 1 << 20, "program");
        snprintf(log, sizeof log, "%s.log", path);
        unlink(path);
        unlink(log);
        int kept = dup(STDERR_FILENO), told = open(log, O_RDWR | O_CREAT | O_APPEND, 0600);
        int ends[2] = {-1, -1};
        CHECK(kept >= 0 && told >= 0 && pipe(ends) == 0);
        dup2(ends[1], STDERR_FILENO); /* a pipe grows */
        cs_log_open(CS_LOG_WARN, NULL);
        getrlimit(RLIMIT_FSIZE, &usual);
        limit = (struct rlimit){limits[i], usual.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        errno = 77;
        for (int j = 1; j <= 200; j++)
            call(j, 3);
        cs_trace_close(trace);
        CHECK_INT(errno, 77);
        CHECK(!cs_trace_on(trace));
        for (int j = 1; j <= 200; j++)
            call(j, 3);
        cs_trace_close(trace);
        setrlimit(RLIMIT_FSIZE, &usual);
        dup2(kept, STDERR_FILENO);
        close(kept);
        close(told);
        close(ends[1]);
        ssize_t length = read(ends[0], text, sizeof text - 1);
        close(ends[0]);
        text[length > 0 ? length : 0] = '\0';
        CHECK(strstr(text, "cannot write the trace, which ends here: File too large: "));
        CHECK(strchr(text, '\n') && !strchr(text, '\n')[1]);
        CHECK(stat(path, &file) != 0 || file.st_size <= (off_t)limits[i]);
        cs_log_open(CS_LOG_WARN, NULL);
        end();
    }
}

static void child_appends_or_starts_its_own_file(void)
{
    begin(file_of("family"), 1 << 20, "program");
    call(1, 1);
    cs_trace_fork(trace, true, false);
    child_of(2);
    call(3, 1);
    cs_trace_close(trace);
    cJSON *events = events_of(path);
    CHECK_INT(count(events, "cat", "call"), 3);
    /* The parent has named its lanes in a file before. */
    CHECK_INT(count(events, "name", "thread_name"), 1);
    cJSON_Delete(events);
    end();

    begin(file_of("family"), 1 << 20, "program"); /* as it was left, and before the first event */
    cs_trace_fork(trace, true, false);
    child_of(2);
    call(3, 1);
    cs_trace_close(trace);
    events = events_of(path);
    CHECK_INT(count(events, "cat", "call"), 2);
    cJSON_Delete(events);
    end();

    begin(file_of("own.%p"), 1 << 20, "program");
    call(1, 0);
    cs_trace_fork(trace, true, false);
    child_of(2);
    cs_trace_close(trace);
    events = events_of(trace->path);
    CHECK_INT(count(events, "cat", "call"), 1);
    cJSON_Delete(events);
    end();
}

/* Errors at the end of a trace stay invisible to the program. */
static void an_end_that_cannot_be_written_is_not_seen(void)
{
    char place[96];
    snprintf(place, sizeof place, "%s/gone", folder);
    CHECK_INT(mkdir(place, 0700), 0);
    begin(file_of("gone/trace"), 1 << 20, "program");
    call(1, 0);
    CHECK(unlink(path) == 0 && rmdir(place) == 0);
    errno = 77;
    cs_trace_close(trace);
    CHECK_INT(errno, 77);
    end();
}

/* A child starts its own file. An earlier file with this name and the length of its parent's file
 * do not matter. */
static void child_starts_its_own_file(void)
{
    for (int closed = 0; closed < 2; closed++) {
        char own[PATH_MAX];
        begin(file_of("anew.%p"), 1 << 20, "program");
        call(1, 0);
        if (closed)
            cs_trace_close(trace);
        fflush(stdout);
        cs_trace_fork(trace, true, false);
        pid_t child = fork();
        snprintf(own, sizeof own, "%s/anew.%lld", folder,
                 (long long)(child == 0 ? getpid() : child));
        if (child == 0) {
            FILE *stale = fopen(own, "w");
            bool written = stale && fputs("no event\n", stale) >= 0 && fclose(stale) == 0;
            cs_trace_fork(trace, false, true);
            trace->written_at = 0; /* the last chunk is old, so the event is written at once */
            call(2, 0);
            exit(!written);
        }
        cs_trace_fork(trace, false, false);
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        cJSON *events = events_of(own);
        CHECK_INT(count(events, "cat", "call"), 1);
        CHECK(strstr(text, "no event") == NULL);
        CHECK(strstr(text, "\n]\n") == NULL); /* it has not ended in order */
        cJSON_Delete(events);
        end();
    }
}

static void check_json(int events)
{
    read_text(path);
    cJSON *list = cJSON_ParseWithOpts(text, NULL, true);
    CHECK_INT(cJSON_GetArraySize(list), events);
    cJSON_Delete(list);
}

/* A normal end closes the bracket. Later events still come before it. */
static void normal_end_completes_the_json(void)
{
    begin(file_of("whole"), 1 << 20, "program");
    cs_trace_close(trace);
    CHECK_INT(read_text(path), 0); /* nothing happened: no file */
    cs_trace_tile(trace, 0, 1, 1, 2);
    cs_trace_close(trace);
    check_json(3);
    cs_trace_tile(trace, 0, 2, 3, 4);
    cs_trace_tile(trace, 0, 3, 3, 4);
    check_json(5);
    cs_trace_close(trace);
    check_json(5);
    end();
    begin(file_of("full"), PAGE, "program");
    for (int i = 0; i < CALLS; i++)
        cs_trace_tile(trace, 0, i, 1, 2);
    CHECK(!cs_trace_on(trace));
    cs_trace_close(trace);
    read_text(path);
    CHECK(strstr(text, "trace_limit reached") && strcmp(text + strlen(text) - 3, "\n]\n") == 0);
    end();
    /* If processes share a file, no process can detect that it is the last. */
    begin(file_of("shared"), 1 << 20, "program");
    cs_trace_tile(trace, 0, 1, 1, 2);
    cs_trace_fork(trace, true, false);
    cs_trace_fork(trace, false, false);
    cs_trace_close(trace);
    read_text(path);
    CHECK(strchr(text, ']') == NULL && strstr(text, "tile 1") != NULL);
    end();
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    descriptors_begin();
    TEST(clock_is_monotonic);
    TEST(every_event_as_it_is_written);
    TEST(without_a_path_no_trace_is_written);
    TEST(every_page_ends_with_a_whole_line);
    TEST(no_event_of_a_thread_is_lost);
    TEST(it_ends_at_its_limit);
    TEST(the_last_byte_of_the_limit);
    TEST(earlier_file_is_overwritten);
    TEST(normal_end_completes_the_json);
    TEST(a_path_that_is_too_long_ends_the_trace);
    TEST(a_file_that_grows_no_further_ends_the_trace);
    TEST(child_appends_or_starts_its_own_file);
    TEST(child_starts_its_own_file);
    TEST(an_end_that_cannot_be_written_is_not_seen);
    TEST(no_descriptor_is_left_open);
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || REPORT();
}
