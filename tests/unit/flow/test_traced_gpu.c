/* Launches that are traced: each goes on as it came, with the same answer, and the trace has the
 * lane and the number of every tile. */
#include "flow/traced_gpu.h"

#include "check.h"

enum {
    FAILED = 3001
};

/* What the trace was told: "lane:tile " of each launch. */
static char tiles[256];
static size_t told_bytes;
static int64_t launched_at;
static int scratch_events;

static void tile_seen(struct cs_trace *to, int lane, int64_t tile, int64_t begin, int64_t end)
{
    CHECK(to != NULL && begin <= launched_at && launched_at <= end);
    told_bytes += (size_t)snprintf(tiles + told_bytes, sizeof tiles - told_bytes, "%d:%lld ", lane,
                                   (long long)tile);
}

static void scratch_seen(struct cs_trace *to, const struct cs_scratch_event *event)
{
    CHECK(to != NULL);
    CHECK_INT(event->bytes, 4711);
    scratch_events++;
}

#define cs_trace_tile tile_seen
#define cs_trace_scratch scratch_seen
#include "flow/traced_gpu.c" /* NOLINT(bugprone-suspicious-include) */
#undef cs_trace_tile
#undef cs_trace_scratch

/* What came last, and what is answered. */
static struct {
    const void *ctx, *at[3];
    const char *called;
    int shape, answer;
    bool in;
} seen;

static int bind_seen(void *ctx, int shape, const struct cs_addresses *addresses, void **launch_p)
{
    seen.ctx = ctx;
    seen.called = "bind";
    seen.shape = shape;
    seen.at[0] = addresses;
    seen.at[1] = launch_p;
    return seen.answer;
}

static int launch_seen(void *ctx, int shape, void *bound)
{
    seen.ctx = ctx;
    seen.called = "launch";
    seen.shape = shape;
    seen.at[0] = bound;
    launched_at = cs_trace_now();
    return seen.answer;
}

static void release_seen(void *ctx, void *bound)
{
    seen.ctx = ctx;
    seen.called = "release";
    seen.at[0] = bound;
}

static int fallback_seen(void *ctx)
{
    seen.ctx = ctx;
    seen.called = "fallback";
    return seen.answer;
}

static int choose_seen(void *ctx, void *stream)
{
    seen.ctx = ctx;
    seen.called = "choose";
    seen.at[0] = stream;
    return seen.answer;
}

static int copy_seen(void *ctx, const struct cs_copy *boxes, void *view, void *packed, bool in)
{
    seen.ctx = ctx;
    seen.called = "copy";
    seen.at[0] = boxes;
    seen.at[1] = view;
    seen.at[2] = packed;
    seen.in = in;
    return seen.answer;
}

static int context, streams[CS_MAX_LANES + 2];
static const struct cs_gpu inner = {.ctx = &context,
                                    .bind = bind_seen,
                                    .launch = launch_seen,
                                    .release = release_seen,
                                    .fallback = fallback_seen,
                                    .choose = choose_seen,
                                    .copy = copy_seen};
static struct cs_trace trace;
static struct cs_traced one;

static void all_goes_on_as_it_came(void)
{
    int shape = 7;
    void *bound = &streams[1], *view = &streams[2], *packed = &streams[3];
    const struct cs_addresses addresses = {.workspace = NULL};
    const struct cs_copy *boxes = (const struct cs_copy *)&streams[4];
    const struct cs_gpu *gpu = cs_traced_gpu(&one, &trace, &inner, NULL);
    for (int answer = 0; answer <= FAILED; answer += FAILED) {
        memset(&seen, 0, sizeof seen);
        seen.answer = answer;
        CHECK_INT(gpu->bind(gpu->ctx, shape, &addresses, &bound), answer);
        CHECK_STR(seen.called, "bind");
        CHECK(seen.ctx == &context && seen.shape == 7 && seen.at[0] == &addresses);
        CHECK(seen.at[1] == &bound);
        CHECK_INT(gpu->launch(gpu->ctx, 5, bound), answer);
        CHECK_STR(seen.called, "launch");
        CHECK(seen.ctx == &context && seen.shape == 5 && seen.at[0] == bound);
        gpu->release(gpu->ctx, view);
        CHECK_STR(seen.called, "release");
        CHECK(seen.ctx == &context && seen.at[0] == view);
        CHECK_INT(gpu->fallback(gpu->ctx), answer);
        CHECK_STR(seen.called, "fallback");
        CHECK_INT(gpu->choose(gpu->ctx, packed), answer);
        CHECK_STR(seen.called, "choose");
        CHECK(seen.ctx == &context && seen.at[0] == packed);
        for (int in = 0; in < 2; in++) {
            CHECK_INT(gpu->copy(gpu->ctx, boxes, view, packed, in), answer);
            CHECK_STR(seen.called, "copy");
            CHECK(seen.at[0] == boxes && seen.at[1] == view && seen.at[2] == packed);
            CHECK_INT(seen.in, in);
        }
    }
}

/* What a device cannot do it cannot do when it is traced. */
static void what_is_missing_stays_missing(void)
{
    for (int i = 0; i < 8; i++) {
        struct cs_gpu other = inner;
        other.choose = i & 1 ? choose_seen : NULL;
        other.copy = i & 2 ? copy_seen : NULL;
        other.only_records = i & 4;
        const struct cs_gpu *gpu = cs_traced_gpu(&one, &trace, &other, NULL);
        CHECK_INT(gpu->choose != NULL, i & 1);
        CHECK_INT(gpu->copy != NULL, (i & 2) / 2);
        CHECK_INT(gpu->only_records, (i & 4) / 4);
    }
}

/* Launches as many tiles on each stream that is named by a digit, in their order; what was told. */
static const char *run(const struct cs_call *call, const char *order)
{
    const struct cs_gpu *gpu = cs_traced_gpu(&one, &trace, &inner, call);
    tiles[0] = '\0';
    told_bytes = 0;
    for (; *order; order++) {
        if (*order != '.' && gpu->choose)
            (void)gpu->choose(gpu->ctx, &streams[*order - '0']);
        (void)gpu->launch(gpu->ctx, 0, NULL);
    }
    return tiles;
}

/* The application's stream is the first lane, also where it is not chosen first. Streams beyond the
 * most that a plan has count as its. */
static void lanes_are_numbered_as_they_are_chosen(void)
{
    const struct cs_call call = {.stream = &streams[0]};
    CHECK_STR(run(&call, "..."), "0:0 0:1 0:2 ");
    CHECK_STR(run(&call, "0.0"), "0:0 0:1 0:2 ");
    CHECK_STR(run(&call, "01.012"), "0:0 1:1 1:2 0:3 1:4 2:5 ");
    CHECK_STR(run(&call, "210"), "1:0 2:1 0:2 ");
    CHECK_STR(run(&call, "12345678991"), "1:0 2:1 3:2 4:3 5:4 6:5 7:6 0:7 0:8 0:9 1:10 ");
    CHECK_STR(run(NULL, "01"), "1:0 2:1 ");
    CHECK(run(NULL, "0") && one.stream[0] == NULL);
}

static void scratch_is_traced_while_the_trace_is_on(void)
{
    const struct cs_scratch_event event = {.bytes = 4711};
    cs_traced_scratch(&trace, &event);
    CHECK_INT(scratch_events, 0);
    atomic_store(&trace.on, true);
    cs_traced_scratch(&trace, &event);
    CHECK_INT(scratch_events, 1);
    atomic_store(&trace.on, false);
}

int main(void)
{
    TEST(all_goes_on_as_it_came);
    TEST(what_is_missing_stays_missing);
    TEST(lanes_are_numbered_as_they_are_chosen);
    TEST(scratch_is_traced_while_the_trace_is_on);
    return REPORT();
}
