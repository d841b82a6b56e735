/* Draws from the address ranges of a pass's operands what is held at each of its calls. */
#include "decide/pass.h"

#include "base/checked.h"

/* Sums of sizes that wrap mean: more than there is. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return cs_add(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t size_of(const struct cs_pass_span *span)
{
    uint64_t bytes = span->end - span->begin;
    return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static bool overlap(const struct cs_pass_span *a, const struct cs_pass_span *b)
{
    return a->begin < b->end && b->begin < a->end;
}

static bool is_same(const struct cs_pass_span *a, const struct cs_pass_span *b)
{
    return a->begin == b->begin && a->end == b->end;
}

static void add_span(struct cs_pass_call *call, const struct cs_pass_span *span)
{
    for (int i = 0; i < call->spans; i++) {
        if (overlap(&call->span[i], span)) {
            call->span[i].written |= span->written;
            return;
        }
    }
    if (call->spans < CS_PASS_SPANS)
        call->span[call->spans++] = *span;
}

void cs_pass_spans(const struct cs_problem *problem, const struct cs_addresses *addresses,
                   struct cs_pass_call *call)
{
    call->spans = 0;
    for (int i = 0; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        const uint64_t begin = (uint64_t)(uintptr_t)addresses->tensor[i];
        int64_t bytes;
        bool kept = i == CS_FILTER && problem->direction != CS_BACKWARD_FILTER;
        if (kept || tensor->is_virtual || tensor->by_value || begin == 0 ||
            cs_problem_tensor_span(tensor, &bytes) != CS_OK || bytes < 1 ||
            begin > UINT64_MAX - (uint64_t)bytes)
            continue;
        bool written = i == (int)cs_result(problem->direction) || tensor->written;
        add_span(call, &(struct cs_pass_span){begin, begin + (uint64_t)bytes, written});
    }
}

static int64_t own_of(const struct cs_pass_call *call)
{
    int64_t sum = 0;
    for (int i = 0; i < call->spans; i++)
        sum = plus(sum, size_of(&call->span[i]));
    return sum;
}

/* The next call that touches a span's memory; *read_p: it reads just that span. `calls`: none
 * does. */
static int next_use(const struct cs_pass_call *call, int calls, int from,
                    const struct cs_pass_span *span, bool *read_p)
{
    *read_p = false;
    for (int i = from; i < calls; i++) {
        for (int s = 0; s < call[i].spans; s++) {
            const struct cs_pass_span *other = &call[i].span[s];
            if (!overlap(other, span))
                continue;
            *read_p = is_same(other, span) && !other->written;
            return i;
        }
    }
    return calls;
}

/* What is certainly held at each call. What lies untouched between a use and the call that reads it
 * is added to the first call between and taken off at the reader; then all is summed up. */
static void find_certain(const struct cs_pass_call *call, int calls, int64_t certain[])
{
    for (int i = 0; i <= calls; i++)
        certain[i] = 0;
    for (int i = 0; i < calls; i++) {
        for (int s = 0; s < call[i].spans; s++) {
            bool read;
            const struct cs_pass_span *span = &call[i].span[s];
            int next = next_use(call, calls, i + 1, span, &read);
            int64_t bytes = size_of(span);
            if (!read || bytes > INT64_MAX / 2 / calls / CS_PASS_SPANS)
                continue;
            certain[i + 1] += bytes;
            certain[next] -= bytes;
        }
    }
    int64_t held = 0;
    for (int i = 0; i < calls; i++) {
        held += certain[i];
        certain[i] = plus(held, own_of(&call[i]));
    }
}

/* Takes the place of whatever it overlaps among the known; returns how many are known then. */
static int put_over(struct cs_pass_span known[], int count, const struct cs_pass_span *span)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!overlap(&known[i], span))
            known[kept++] = known[i];
    known[kept++] = *span;
    return kept;
}

/* What may be held at a call, those before it being known. */
static int64_t possible(const struct cs_pass_call *call, struct cs_pass_span known[], int *count)
{
    int64_t sum = 0, largest = 0;
    for (int s = 0; s < call->spans; s++) {
        int64_t bytes = size_of(&call->span[s]);
        largest = bytes > largest ? bytes : largest;
        *count = put_over(known, *count, &call->span[s]);
    }
    for (int i = 0; i < *count; i++)
        sum = plus(sum, size_of(&known[i]));
    return plus(sum, largest);
}

int64_t cs_pass_estimate(const struct cs_pass_call *call, int calls, struct cs_pass_work *work,
                         int64_t room[])
{
    int64_t level = 0;
    int count = 0;
    find_certain(call, calls, work->certain);
    for (int i = 0; i < calls; i++) {
        int64_t used = plus(work->certain[i], call[i].workspace);
        level = used > level ? used : level;
    }
    for (int i = 0; i < calls; i++) {
        int64_t held = possible(&call[i], work->known, &count);
        room[i] = held < level ? level - held : 0;
    }
    return level;
}
