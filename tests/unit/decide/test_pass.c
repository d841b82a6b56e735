/* What is held around the calls of a pass, by address ranges alone. */
#include "check.h"
#include "decide/pass.h"
#include "fake_vendor.h"

enum {
    MOST = 16,
    SEED = 20417,
    ROUNDS = 2000
};

static struct cs_pass_work work;
static struct cs_pass_call call[CS_PASS_CALLS];
static int64_t room[CS_PASS_CALLS];
static int calls;

/* Adds a call that reads `bytes` at x and writes as much at y, of a memory of letters: each name is
 * a place of 100 bytes. */
static void add(char x, char y, int64_t bytes, int64_t workspace)
{
    const uint64_t from = (uint64_t)(x - 'a' + 1) * 100, to = (uint64_t)(y - 'a' + 1) * 100;
    call[calls++] = (struct cs_pass_call){
        .spans = 2,
        .span = {{from, from + (uint64_t)bytes, false}, {to, to + (uint64_t)bytes, true}},
        .workspace = workspace};
}

/* Behind what is counted lies what nobody looks at: spans of these bytes, and one more call. */
static int64_t estimate_beside(struct cs_pass_span other)
{
    call[calls].spans = 0;
    call[calls].workspace = INT64_MAX;
    for (int i = 0; i <= calls; i++)
        for (int s = call[i].spans; s < CS_PASS_SPANS; s++)
            call[i].span[s] = other;
    call[calls].spans = CS_PASS_SPANS;
    room[calls] = -4711;
    int64_t level = cs_pass_estimate(call, calls, &work, room);
    CHECK_INT(room[calls], -4711);
    return level;
}

/* Spans over everything, and such as the last call reads. */
static int64_t estimate(void)
{
    int64_t level = estimate_beside((struct cs_pass_span){0, UINT64_MAX, true});
    CHECK_INT(estimate_beside(call[calls - 1].span[0]), level);
    return level;
}

/* One call: its operands and its workspace are the level. There is no room beside a residual. */
static void one_call(void)
{
    calls = 0;
    add('a', 'b', 100, 70);
    CHECK_INT(estimate(), 270);
    CHECK_INT(room[0], 0);
}

/* A chain through two places: the large calls make the level, small ones have room below it. */
static void a_chain(void)
{
    calls = 0;
    add('a', 'b', 10, 5);
    add('b', 'a', 10, 5);
    add('c', 'd', 100, 20);
    add('c', 'e', 10, 5);
    CHECK_INT(estimate(), 220);
    CHECK_INT(room[0], 220 - 20 - 10);
    CHECK_INT(room[1], 220 - 20 - 10);
    CHECK_INT(room[2], 0);
    /* a, b and d may still be held; what lay at c was freed for a smaller tensor. */
    CHECK_INT(room[3], 220 - (20 + 100 + 20) - 10);
}

/* What one call writes and a later one reads is held at every call between: it counts to the
 * level. */
static void a_skip_connection(void)
{
    calls = 0;
    add('a', 'b', 50, 0);
    add('c', 'd', 50, 30);
    add('b', 'd', 50, 0); /* reads b again */
    CHECK_INT(estimate(), 50 + 100 + 30);
    CHECK_INT(room[1], 0);
}

/* What is written again before it is read was not held in between. Nor is what lies in other
 * pieces. */
static void what_was_overwritten(void)
{
    calls = 0;
    add('a', 'b', 50, 0);
    add('c', 'd', 50, 30);
    add('c', 'b', 50, 0);
    CHECK_INT(estimate(), 130);
    calls = 0;
    add('a', 'b', 50, 0);
    add('c', 'd', 50, 30);
    add('b', 'e', 40, 0); /* not the 50 bytes that were there */
    CHECK_INT(estimate(), 130);
}

/* A training step: the inputs of forward calls are read again by gradients, the last one first. */
static void a_training_step(void)
{
    calls = 0;
    add('a', 'b', 100, 0);
    add('c', 'd', 100, 0);
    add('e', 'f', 100, 10);
    add('e', 'g', 100, 60);
    add('c', 'h', 100, 10);
    add('a', 'i', 100, 10);
    CHECK_INT(estimate(), 100 + 100 + 200 + 60); /* a, c, e and g at the fourth call */
    CHECK_INT(room[0], 460 - 200 - 100);
    CHECK_INT(room[1], 0); /* a to d: there may be a fifth */
}

static void sizes_that_wrap(void)
{
    calls = 0;
    add('a', 'b', 10, 5);
    call[calls++] = (struct cs_pass_call){
        .spans = 2, .span = {{0, UINT64_MAX, false}, {1, 2, true}}, .workspace = INT64_MAX};
    CHECK_INT(estimate(), INT64_MAX);
    CHECK_INT(room[0], INT64_MAX - 30);
    CHECK_INT(room[1], 0);
}

/* --- against a program whose tensors are known -------------------------------------------------
 */

struct tensor {
    uint64_t begin, end;
    int made, last; /* calls: made by the first, read by the last */
};

static struct tensor tensor[MOST + 1];
static int64_t held[MOST]; /* at each call, its own operands included */

static uint64_t first_fit(int count, uint64_t bytes)
{
    uint64_t at = 1000;
    for (int i = 0; i < count; i++) {
        if (tensor[i].last < count - 1 || at >= tensor[i].end || tensor[i].begin >= at + bytes)
            continue;
        at = tensor[i].end;
        i = -1; /* it may lie in one that was passed over */
    }
    return at;
}

/* A chain in which call i reads tensor i and makes the next; some tensors are read once more. */
static void make_tensors(struct rng *rng, int count)
{
    for (int i = 0; i <= count; i++) {
        bool again = i > 0 && i < count && rng_between(rng, 0, 3) == 0;
        uint64_t bytes = (uint64_t)rng_between(rng, 1, 100), at = first_fit(i, bytes);
        tensor[i] = (struct tensor){.begin = at,
                                    .end = at + bytes,
                                    .made = i - 1,
                                    .last = again ? (int)rng_between(rng, i, count - 1) : i};
    }
}

/* False if a call has more operands than are looked at. */
static bool make_call(struct rng *rng, int index)
{
    struct cs_pass_call *made = &call[index];
    *made = (struct cs_pass_call){.workspace = rng_between(rng, 0, 50)};
    held[index] = 0;
    for (int i = 0; i <= index + 1; i++) {
        if (tensor[i].last < index || tensor[i].made > index)
            continue;
        held[index] += (int64_t)(tensor[i].end - tensor[i].begin);
        if (i < index && tensor[i].last != index)
            continue;
        if (made->spans == CS_PASS_SPANS)
            return false;
        made->span[made->spans++] =
            (struct cs_pass_span){tensor[i].begin, tensor[i].end, i == index + 1};
    }
    return true;
}

/* Random chains with skip connections: the level is the peak, and whatever lies around in free
 * memory may only take room away. */
static void never_beyond_what_is_held(void)
{
    struct rng rng = {SEED};
    int roomy = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t peak = 0;
        bool whole = true;
        calls = (int)rng_between(&rng, 2, MOST);
        make_tensors(&rng, calls);
        for (int i = 0; i < calls; i++) {
            whole = make_call(&rng, i) && whole;
            peak = held[i] + call[i].workspace > peak ? held[i] + call[i].workspace : peak;
        }
        if (!whole)
            continue;
        CHECK_INT(estimate(), peak);
        for (int i = 0; i < calls; i++) {
            CHECK(room[i] >= 0 && (room[i] == 0 || held[i] + room[i] < peak));
            roomy += room[i] > 0;
        }
    }
    CHECK(roomy > ROUNDS);
}

/* --- spans ------------------------------------------------------------------------------------ */

static void spans_of_problems(void)
{
    const struct cs_problem forward = same(1, 8, 1, 16, 16, 8);
    const struct cs_problem wgrad = towards(CS_BACKWARD_FILTER, 1, 8, 1, 16, 16, 8);
    struct cs_addresses at = {.tensor = {(void *)0x10000, (void *)0x20000, (void *)0x30000}};
    struct cs_pass_call made;
    int64_t bytes;
    CHECK_INT(cs_problem_tensor_span(&forward.tensor[CS_X], &bytes), CS_OK);
    cs_pass_spans(&forward, &at, &made);
    CHECK_INT(made.spans, 2); /* the filter is held anyway */
    CHECK(made.span[0].begin == 0x10000 && made.span[0].end == 0x10000 + (uint64_t)bytes);
    CHECK(!made.span[0].written && made.span[1].begin == 0x30000 && made.span[1].written);
    cs_pass_spans(&wgrad, &at, &made);
    CHECK_INT(made.spans, 3);
    CHECK(!made.span[0].written && made.span[1].written && !made.span[2].written);
    at.tensor[CS_Y] = (void *)0x10000; /* in place */
    cs_pass_spans(&forward, &at, &made);
    CHECK_INT(made.spans, 1);
    CHECK(made.span[0].written);
    at.tensor[CS_X] = NULL;
    cs_pass_spans(&forward, &at, &made);
    CHECK_INT(made.spans, 1);
    at.tensor[CS_Y] = (void *)(UINTPTR_MAX - 1); /* it would wrap */
    cs_pass_spans(&forward, &at, &made);
    CHECK_INT(made.spans, 0);
}

int main(void)
{
    TEST(one_call);
    TEST(a_chain);
    TEST(a_skip_connection);
    TEST(what_was_overwritten);
    TEST(a_training_step);
    TEST(sizes_that_wrap);
    TEST(never_beyond_what_is_held);
    TEST(spans_of_problems);
    return REPORT();
}
