/* Writes trace events in whole pages that are appended, so that a trace is readable at any time and
 * after a crash. */
#include "account/trace.h"

#include "base/signals.h"

#include "account/outcome.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE = 4096, /* a signal does not cut a write within one page */
    LINE = 2048, /* most that an event takes */
    LAST = 256,  /* bytes reserved for the event that reports the end */
    NAME = 1024,
    ARGUMENTS = 256,
    PLACE_BITS = 40 /* bits of a block's place in its slab */
};

/* The nanoseconds whose events a crash may lose if calls keep coming. */
static const int64_t MOST_LOST = CS_SECOND;

static const char closing[] = "\n]\n";

static const char last_event[] =
    "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"trace_limit reached: later events are missing\"";

/* The TLS model is explained in base/nest.h. */
static __thread struct cs_trace_annotate noted __attribute__((tls_model("initial-exec")));

struct cs_trace_annotate *cs_trace_annotated(void)
{
    return &noted;
}

int64_t cs_trace_now(void)
{
    return cs_clock(CLOCK_MONOTONIC);
}

void cs_trace_open(struct cs_trace *trace, const char *path, int64_t limit, const char *program)
{
    cs_lock_init(&trace->lock, CS_RANK_TRACE);
    cs_file_place_set(&trace->place, path);
    trace->limit = limit;
    trace->program = program;
    atomic_store(&trace->on, path[0] != '\0');
}

/* Removes the closing bracket, if it is still the end of the file. */
static void reopen_file(int fd)
{
    char end[sizeof closing] = "";
    off_t size = lseek(fd, 0, SEEK_END), at = size - (off_t)strlen(closing);
    if (at >= 0 && pread(fd, end, strlen(closing), at) == (ssize_t)strlen(closing) &&
        strcmp(end, closing) == 0 && ftruncate(fd, at) != 0)
        errno = 0; /* without ftruncate the bracket stays, and readers ignore later events */
}

/* Appends the buffer to the file, and the closing bracket if the trace is closed. False if writing
 * fails. */
static bool write_chunk(const struct cs_trace *trace)
{
    struct cs_signals guard;
    /* Older contents are not part of this run. */
    bool anew = trace->position == 0 && cs_file_path_replaceable(trace->path);
    int fd = cs_file_open_append(trace->path,
                                 (trace->closed ? O_RDWR : O_WRONLY) | (anew ? O_TRUNC : 0));
    if (fd < 0)
        return false;
    cs_signals_hold(&guard);
    if (trace->closed)
        reopen_file(fd);
    bool whole = cs_file_write_all(fd, trace->buffer, trace->used) &&
                 (!trace->closed || cs_file_write_all(fd, closing, strlen(closing)));
    int error = errno;
    cs_signals_release(&guard);
    close(fd);
    errno = error;
    return whole;
}

/* Writes the buffer to the file. Called with the lock held, like all functions put_*. */
static void flush_buffer(struct cs_trace *trace)
{
    char text[128];
    int error = errno;
    if (trace->used > 0 && !write_chunk(trace)) {
        atomic_store(&trace->on, false);
        trace->broken = true;
        cs_log(CS_LOG_WARN, "cannot write the trace, which ends here: %s: %s",
               strerror_r(errno, text, sizeof text), trace->path);
    }
    trace->position += (int64_t)trace->used;
    trace->used = 0;
    trace->written_at = cs_trace_now();
    errno = error;
}

static void put_bytes(struct cs_trace *trace, const char *bytes, size_t size)
{
    if (trace->used + size > sizeof trace->buffer)
        flush_buffer(trace);
    memcpy(trace->buffer + trace->used, bytes, size);
    trace->used += size;
}

/* Writes an event as a line. If the page has no room for it, blanks fill the page. */
static void put_line(struct cs_trace *trace, const char *line)
{
    static const char blanks[] = "                                                                ";
    size_t length = strlen(line);
    size_t at = (size_t)(trace->position % PAGE + (int64_t)trace->used) % PAGE;
    for (size_t rest = at + length > PAGE ? PAGE - at : 0; rest > 0;) {
        size_t some = rest < sizeof blanks - 1 ? rest : sizeof blanks - 1;
        put_bytes(trace, blanks, some);
        rest -= some;
    }
    put_bytes(trace, line, length);
}

static void put_name(struct cs_trace *trace, const char *what, int64_t thread, const char *name)
{
    char line[LINE], quoted[NAME];
    cs_json_quote(quoted, sizeof quoted, name);
    snprintf(line, sizeof line,
             ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%lld,\"tid\":%lld,\"args\":{\"name\":%s}}",
             what, (long long)getpid(), (long long)thread, quoted);
    put_line(trace, line);
}

/* Writes the start of a file. */
static void put_head(struct cs_trace *trace)
{
    char line[LINE];
    if (!cs_file_place_path(&trace->place, trace->path)) {
        atomic_store(&trace->on, false);
        cs_log(CS_LOG_WARN, "cannot write the trace: the path in option trace is too long");
        return;
    }
    snprintf(
        line, sizeof line,
        "[\n{\"ph\":\"M\",\"name\":\"convshim\",\"pid\":%lld,\"tid\":0,\"args\":{\"version\":1,"
        "\"clock\":\"host, monotonic, no times of the device\"}}",
        (long long)getpid());
    put_line(trace, line);
    put_name(trace, "process_name", 0, trace->program);
}

/* Writes the event that reports the end, and switches the trace off. */
static void put_last(struct cs_trace *trace)
{
    char line[LAST];
    long long now = cs_trace_now();
    snprintf(line, sizeof line, ",\n%s,\"pid\":%lld,\"tid\":%lld,\"ts\":%lld.%03lld}", last_event,
             (long long)getpid(), (long long)gettid(), now / 1000, now % 1000);
    put_line(trace, line);
    atomic_store(&trace->on, false);
    flush_buffer(trace);
}

/* Takes the lock, which end_events releases, and begins the file if necessary. True if the trace is
 * on. */
static bool begin_events(struct cs_trace *trace)
{
    cs_lock(&trace->lock);
    if (cs_trace_on(trace) && !trace->path[0])
        put_head(trace);
    return cs_trace_on(trace);
}

/* Writes the buffer if it is due, and releases the lock. */
static void end_events(struct cs_trace *trace)
{
    if (cs_trace_on(trace) && (trace->ended || cs_trace_now() - trace->written_at > MOST_LOST))
        flush_buffer(trace);
    cs_unlock(&trace->lock);
}

static void put_event(struct cs_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_event(struct cs_trace *trace, const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (!cs_trace_on(trace) || length < 0 || length >= (int)sizeof line)
        return;
    /* The rest of a page may be filled twice: before this line and before the last one. */
    if (trace->position + (int64_t)trace->used + length + LAST + 2 * LINE > trace->limit)
        put_last(trace);
    else
        put_line(trace, line);
}

/* Returns the track of a lane of the calling thread. Its name is written at its first use. */
static int64_t track_of(struct cs_trace *trace, int lane)
{
    static __thread struct {
        pid_t pid; /* a forked child has to name its own tracks */
        unsigned lanes;
    } named __attribute__((tls_model("initial-exec")));
    char name[64];
    int64_t thread = gettid(), track = (INT64_C(1) << 30) + thread * CS_MAX_LANES + lane;
    if (named.pid != getpid())
        named.lanes = 0;
    named.pid = getpid();
    if (named.lanes >> lane & 1)
        return track;
    named.lanes |= 1U << lane;
    snprintf(name, sizeof name, "tiles of thread %lld, lane %d", (long long)thread, lane);
    put_name(trace, "thread_name", track, name);
    return track;
}

void cs_trace_tile(struct cs_trace *trace, int lane, int64_t tile, int64_t from, int64_t to)
{
    if (begin_events(trace)) {
        int64_t track = track_of(trace, lane);
        put_event(trace,
                  ",\n{\"ph\":\"X\",\"cat\":\"tile\",\"name\":\"tile %lld\",\"pid\":%lld,"
                  "\"tid\":%lld,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld}",
                  (long long)tile, (long long)getpid(), (long long)track, (long long)from / 1000,
                  (long long)from % 1000, (long long)(to - from) / 1000,
                  (long long)(to - from) % 1000);
    }
    end_events(trace);
}

static void put_scratch(struct cs_trace *trace, int64_t at, int64_t required, int64_t reported,
                        int64_t own)
{
    put_event(trace,
              ",\n{\"ph\":\"C\",\"name\":\"scratch\",\"pid\":%lld,\"ts\":%lld.%03lld,"
              "\"args\":{\"required\":%lld,\"reported\":%lld,\"own\":%lld}}",
              (long long)getpid(), (long long)at / 1000, (long long)at % 1000, (long long)required,
              (long long)reported, (long long)own);
}

/* Writes the site's quoted text and its id. Returns its reported workspace. */
static int64_t describe_site(struct cs_account *account, const struct cs_site_ref *site,
                             char name[NAME], char id[CS_SITE_ID])
{
    struct cs_site_facts facts;
    char text[CS_PROBLEM_TEXT] = "convolution";
    int64_t reported = site->possible;
    id[0] = '\0';
    if (cs_account_facts(account, site, &facts)) {
        cs_site_problem_text(&facts.problem, text, sizeof text);
        cs_account_problem_id(&facts.problem, id);
        reported = cs_site_reported(&facts);
    }
    cs_json_quote(name, NAME, text);
    return reported;
}

void cs_trace_call(struct cs_trace *trace, struct cs_account *account, int64_t from, int64_t to,
                   int64_t own)
{
    struct cs_trace_annotate call = noted;
    char name[NAME], id[CS_SITE_ID];
    noted.number = 0;
    if (call.number == 0)
        return;
    /* Before begin_events, which takes the trace's lock, because the account's lock comes first in
     * the order. */
    const int64_t reported = describe_site(account, &call.site, name, id);
    if (begin_events(trace)) {
        put_scratch(trace, from, call.site.required, reported, own);
        put_event(trace,
                  ",\n{\"ph\":\"X\",\"cat\":\"call\",\"name\":%s,\"pid\":%lld,\"tid\":%lld,"
                  "\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,\"args\":{\"call\":%lld,\"site\":\"%s\","
                  "\"outcome\":\"%s\",\"required\":%lld,\"reported\":%lld}}",
                  name, (long long)getpid(), (long long)gettid(), (long long)from / 1000,
                  (long long)from % 1000, (long long)(to - from) / 1000,
                  (long long)(to - from) % 1000, (long long)call.number, id, call.outcome,
                  (long long)call.site.required, (long long)reported);
        put_scratch(trace, to, 0, 0, own);
    }
    end_events(trace);
}

/* Begins or ends a span on the track of a slab, of a place in it, or of a graph. Tracks are
 * identified by names, and by a number of the process. */
static void put_span(struct cs_trace *trace, bool begins, const char *name, uint64_t id, int64_t at,
                     const char *arguments)
{
    put_event(trace,
              ",\n{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\",\"id2\":{\"local\":\"0x%llx\"},"
              "\"pid\":%lld,\"tid\":%lld,\"ts\":%lld.%03lld,\"args\":{%s}}",
              begins ? 'b' : 'e', name, name, (unsigned long long)id, (long long)getpid(),
              (long long)gettid(), (long long)at / 1000, (long long)at % 1000, arguments);
}

static void put_slab(struct cs_trace *trace, const struct cs_scratch_event *event, int64_t at)
{
    char arguments[ARGUMENTS];
    snprintf(arguments, sizeof arguments, "\"slab\":%lld,\"bytes\":%lld", (long long)event->slab,
             (long long)event->bytes);
    put_span(trace, event->what == CS_SCRATCH_ALLOCATED, "slab", (uint64_t)event->slab, at,
             arguments);
}

/* Begins or ends the span of a block. */
static void put_block(struct cs_trace *trace, const struct cs_scratch_event *event, int64_t at)
{
    char arguments[ARGUMENTS];
    bool begins = event->what == CS_SCRATCH_TAKEN;
    uint64_t place =
        (uint64_t)event->slab << PLACE_BITS | (uint64_t)(event->offset / CS_SCRATCH_ALIGNMENT);
    int length = snprintf(arguments, sizeof arguments,
                          "\"slab\":%lld,\"offset\":%lld,\"bytes\":%lld,\"graph\":%llu,",
                          (long long)event->slab, (long long)event->offset, (long long)event->bytes,
                          (unsigned long long)event->capture);
    if (begins)
        snprintf(arguments + length, sizeof arguments - (size_t)length,
                 "\"stream\":%llu,\"waits\":%lld", (unsigned long long)event->stream,
                 (long long)event->waits);
    else
        snprintf(arguments + length, sizeof arguments - (size_t)length, "\"lost\":%s",
                 event->what == CS_SCRATCH_LOST ? "true" : "false");
    put_span(trace, begins, "block", place, at, arguments);
}

static void put_graph(struct cs_trace *trace, const struct cs_scratch_event *event, int64_t at)
{
    char arguments[ARGUMENTS];
    bool begins = event->what == CS_SCRATCH_KEPT;
    snprintf(arguments, sizeof arguments,
             begins ? "\"graph\":%llu" : "\"graph\":%llu,\"bytes\":%lld",
             (unsigned long long)event->capture, (long long)event->bytes);
    put_span(trace, begins, "graph", event->capture, at, arguments);
}

static void put_held(struct cs_trace *trace, const struct cs_scratch_event *event, int64_t at)
{
    put_event(trace,
              ",\n{\"ph\":\"C\",\"name\":\"arena\",\"pid\":%lld,\"ts\":%lld.%03lld,"
              "\"args\":{\"held\":%lld,\"used\":%lld}}",
              (long long)getpid(), (long long)at / 1000, (long long)at % 1000,
              (long long)event->held, (long long)event->used);
}

void cs_trace_scratch(struct cs_trace *trace, const struct cs_scratch_event *event)
{
    int64_t at = cs_trace_now();
    if (begin_events(trace)) {
        switch (event->what) {
        case CS_SCRATCH_ALLOCATED:
        case CS_SCRATCH_FREED:
            put_slab(trace, event, at);
            break;
        case CS_SCRATCH_TAKEN:
        case CS_SCRATCH_GIVEN:
        case CS_SCRATCH_LOST:
            put_block(trace, event, at);
            break;
        case CS_SCRATCH_KEPT:
        case CS_SCRATCH_RELEASED:
            put_graph(trace, event, at);
            break;
        }
        put_held(trace, event, at);
    }
    end_events(trace);
}

void cs_trace_close(struct cs_trace *trace)
{
    int error = errno;
    cs_lock(&trace->lock);
    if (cs_trace_on(trace))
        flush_buffer(trace);
    trace->ended = true;
    /* A trace that is off and was written to has reached its limit. */
    trace->closed =
        cs_trace_written(trace) && !trace->shared && cs_file_path_replaceable(trace->path);
    if (trace->closed)
        (void)write_chunk(trace);
    cs_unlock(&trace->lock);
    errno = error;
}

/* Begins a child's trace with an empty buffer. The parent writes the events that were in it. */
static void begin_child(struct cs_trace *trace)
{
    char path[PATH_MAX];
    trace->used = 0;
    if (!trace->path[0] || !cs_file_place_path(&trace->place, path))
        return;
    if (strcmp(path, trace->path) != 0) {
        trace->path[0] = '\0';
        trace->position = 0;
        trace->closed = false;
    }
}

static bool is_shared(const struct cs_trace *trace)
{
    return !strstr(trace->place.path + trace->place.folder, "%p");
}

/* Writes the start of a file that both processes will write to, so that the child only appends. */
static void begin_for_both(struct cs_trace *trace)
{
    if (cs_trace_on(trace) && !trace->path[0])
        put_head(trace);
    if (cs_trace_on(trace) && trace->position == 0)
        flush_buffer(trace);
}

void cs_trace_fork(struct cs_trace *trace, bool before, bool child)
{
    if (before) {
        cs_lock(&trace->lock);
        if (is_shared(trace))
            begin_for_both(trace);
        return;
    }
    trace->shared = trace->shared || is_shared(trace);
    if (child)
        begin_child(trace);
    cs_unlock(&trace->lock);
}
