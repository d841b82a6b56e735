/* A trace of calls and tiles as they are started, in Chrome's trace event format (the JSON array
 * form, whose closing bracket may be missing), for Perfetto and chrome://tracing. Times are the
 * host's: of the device nothing is known.
 *
 * A process that ends normally closes the bracket.
 *
 * Events are written in chunks, at the latest a second after the next one comes. No line crosses a
 * page of the file and chunks are appended whole, so that a process that is killed leaves a file
 * that can be read. Thread-safe. Off, it costs one load. */
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
    int64_t limit;       /* bytes that one process writes */
    struct cs_place place;

    struct cs_lock lock; /* of what follows */
    char path[PATH_MAX]; /* that was written to; "" before */
    int64_t position;    /* in that file, of what this process writes; the buffer left out */
    int64_t written_at;  /* when the last chunk was, nanoseconds */
    bool broken;         /* what was written is not all */
    bool ended;          /* what still comes is written at once */
    bool shared;         /* by this process and another */
    bool closed;         /* the file ends with the bracket */
    size_t used;
    char buffer[CS_TRACE_CHUNK];
};

/* What became of a call, as the calling thread notes it for cs_trace_call. */
struct cs_trace_annotate {
    int64_t number; /* of the call; 0: none */
    struct cs_site_ref site;
    const char *outcome; /* static: "tiles", "fallback plan", "failed" or a reason's id */
};

/* In place, on zeroed memory. `path` empty: off. */
void cs_trace_open(struct cs_trace *trace, const char *path, int64_t limit, const char *program);

static inline bool cs_trace_on(const struct cs_trace *trace)
{
    return atomic_load_explicit(&trace->on, memory_order_relaxed);
}

/* The clock of the trace, nanoseconds. */
int64_t cs_trace_now(void);

/* The note of the calling thread. */
struct cs_trace_annotate *cs_trace_annotated(void);

/* The call that the calling thread has noted, with its site's text; then the note is empty. `own`:
 * bytes of scratch that the library holds. */
void cs_trace_call(struct cs_trace *trace, struct cs_account *account, int64_t begin, int64_t end,
                   int64_t own);

/* The launch of a tile. */
void cs_trace_tile(struct cs_trace *trace, int lane, int64_t tile, int64_t begin, int64_t end);

/* What happened to scratch of the library's own. */
void cs_trace_scratch(struct cs_trace *trace, const struct cs_scratch_event *event);

/* Writes what is left. */
void cs_trace_flush(struct cs_trace *trace);

/* True if there is a file, and as much in it as there should be. */
static inline bool cs_trace_written(const struct cs_trace *trace)
{
    return trace->position > 0 && !trace->broken;
}

/* Writes what is left, and the closing bracket: the file is JSON then. What still comes goes before
 * it. A file that processes share, or that is none, stays open: nobody can say who is the last. */
void cs_trace_close(struct cs_trace *trace);

/* Holds (before) or frees (after) the lock across a fork. A child begins a file of its own or,
 * where the path has no %p, adds to its parent's. */
void cs_trace_fork(struct cs_trace *trace, bool before, bool child);

#endif
