/* Writes a trace of calls and tiles as they are started. It has Chrome's trace event format, for
 * Perfetto and chrome://tracing, in the JSON array form, whose closing bracket may be missing.
 * Times are those of the host. Times on the device are not recorded.
 *
 * A process that ends normally writes the closing bracket.
 *
 * Events are written in chunks: when the buffer is full, or when an event comes more than a second
 * after the last chunk. No line crosses a page of the file, and chunks are appended whole, so that
 * a killed process leaves a readable file. Thread-safe. One load if the trace is off. */
#ifndef CS_ACCOUNT_TRACE_H
#define CS_ACCOUNT_TRACE_H

#include "account/account.h"
#include "base/file.h"
#include "convshim/scratch.h"

enum {
    CS_TRACE_CHUNK = 64 << 10
};

struct cs_trace {
    atomic_bool on;
    const char *program; /* borrowed */
    int64_t limit;       /* most bytes that one process writes */
    struct cs_place place;

    struct cs_lock lock; /* protects the following members */
    char path[PATH_MAX]; /* the file that was written to; "" before the first write */
    int64_t position;    /* bytes that this process has written to the file, without the buffer */
    int64_t written_at;  /* nanoseconds, of the last chunk */
    bool broken;         /* a write failed */
    bool ended;          /* later events are written at once */
    bool shared;         /* a parent or child may write to the file, too */
    bool closed;         /* the file ends with the bracket */
    size_t used;
    char buffer[CS_TRACE_CHUNK];
};

/* The outcome of a call, which the calling thread records for cs_trace_call. */
struct cs_trace_annotate {
    int64_t number; /* number of the call; 0: no record */
    struct cs_site_ref site;
    const char *outcome; /* static: "tiles", "fallback", "failed" or a reason's id */
};

/* Initializes zeroed memory. `path` empty: off. */
void cs_trace_open(struct cs_trace *trace, const char *path, int64_t limit, const char *program);

static inline bool cs_trace_on(const struct cs_trace *trace)
{
    return atomic_load_explicit(&trace->on, memory_order_relaxed);
}

/* The clock of the trace, nanoseconds. */
int64_t cs_trace_now(void);

/* The record of the calling thread. */
struct cs_trace_annotate *cs_trace_annotated(void);

/* Writes the call that the calling thread has recorded, with its site's text, and clears the
 * record. `own`: bytes of scratch that the library holds. Times are those of cs_trace_now. */
void cs_trace_call(struct cs_trace *trace, struct cs_account *account, int64_t begin, int64_t end,
                   int64_t own);

/* Writes the launch of a tile. */
void cs_trace_tile(struct cs_trace *trace, int lane, int64_t tile, int64_t begin, int64_t end);

/* Writes an event of the library's own scratch. */
void cs_trace_scratch(struct cs_trace *trace, const struct cs_scratch_event *event);

/* True if the file exists and is complete so far. */
static inline bool cs_trace_written(const struct cs_trace *trace)
{
    return trace->position > 0 && !trace->broken;
}

/* Writes the buffered events and the closing bracket, after which the file is valid JSON. Later
 * events are inserted before the bracket. A file that several processes share, or a device or pipe,
 * gets no bracket, because no process can detect that it is the last one. */
void cs_trace_close(struct cs_trace *trace);

/* Locks the trace before a fork, and unlocks it after it. A child begins its own file or, if the
 * path has no %p, appends to its parent's. */
void cs_trace_fork(struct cs_trace *trace, bool before, bool child);

#endif
