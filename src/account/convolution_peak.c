/* Determines the memory that convolutions hold from the address ranges of their calls. */
#include "account/convolution_peak.h"

#include "base/checked.h"
#include "base/hash.h"
#include "base/pages.h"
#include <string.h>

enum {
    LEAST = 1 << 20 /* bytes of the smallest range that counts */
};

/* a + b, or INT64_MAX if the sum leaves 64 bits. */
static int64_t add_bytes(int64_t a, int64_t b)
{
    int64_t sum;
    return cs_add(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t size_of(const struct cs_pass_range *range)
{
    uint64_t bytes = range->end - range->begin;
    return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static bool ranges_overlap(const struct cs_pass_range *a, const struct cs_pass_range *b)
{
    return a->begin < b->end && b->begin < a->end;
}

static void forget_range(struct cs_pass *pass, int at)
{
    pass->range[at] = pass->range[--pass->ranges];
}

static int smallest_range(const struct cs_pass *pass)
{
    int least = 0;
    for (int i = 1; i < pass->ranges; i++)
        if (size_of(&pass->range[i]) < size_of(&pass->range[least]))
            least = i;
    return least;
}

/* Adds bytes that are held during call `at`. */
static void add_tensors(struct cs_pass *pass, int at, int64_t bytes)
{
    struct cs_pass_call *call = &pass->call[at];
    call->tensors = add_bytes(call->tensors, bytes);
    cs_raise(&pass->highest.without, add_bytes(call->tensors, call->scratch.without));
    cs_raise(&pass->highest.with, add_bytes(call->tensors, call->scratch.with));
}

/* Notes that the next call uses a range, and forgets the known ranges that overlap it. A range
 * that is read again without having been written was held during all calls since its last use. */
static void note_range(struct cs_pass *pass, const struct cs_pass_range *range, bool written)
{
    for (int i = pass->ranges - 1; i >= 0; i--) {
        const struct cs_pass_range *known = &pass->range[i];
        if (!ranges_overlap(known, range))
            continue;
        bool same = known->begin == range->begin && known->end == range->end;
        bool of_this_pass = known->call >= 0;
        if (same && of_this_pass && !written)
            for (int call = known->call + 1; call < pass->calls; call++)
                add_tensors(pass, call, size_of(range));
        forget_range(pass, i);
    }
    if (pass->ranges == CS_PASS_RANGES)
        forget_range(pass, smallest_range(pass));
    pass->range[pass->ranges++] = *range;
}

static void begin_pass(struct cs_pass *pass)
{
    pass->calls = 0;
    for (int i = 0; i < pass->ranges; i++)
        pass->range[i].call = -1;
}

static bool has_layer(const struct cs_pass *pass, uint64_t layer)
{
    for (int i = 0; i < pass->calls; i++)
        if (pass->call[i].layer == layer)
            return true;
    return false;
}

/* True if another operand of the same call has some of the bytes. */
static bool is_counted(const struct cs_pass *pass, const struct cs_pass_range *range)
{
    for (int i = 0; i < pass->ranges; i++)
        if (pass->range[i].call == range->call && ranges_overlap(&pass->range[i], range))
            return true;
    return false;
}

/* Notes the ranges of the next call's operands. Returns their bytes together. */
static int64_t note_operands(struct cs_pass *pass, const struct cs_problem *problem,
                             const struct cs_addresses *addresses)
{
    int64_t sum = 0;
    for (int i = 0; i < problem->tensors; i++) {
        const uint64_t at = (uint64_t)(uintptr_t)addresses->tensor[i];
        int64_t bytes = cs_problem_held_by(problem, i);
        if (bytes < LEAST || bytes == INT64_MAX || at == 0 || at > UINT64_MAX - (uint64_t)bytes)
            continue;
        const struct cs_pass_range range = {at, at + (uint64_t)bytes, pass->calls};
        if (is_counted(pass, &range))
            continue;
        bool written = i == (int)cs_result(problem->direction) || problem->tensor[i].written;
        note_range(pass, &range, written);
        sum = add_bytes(sum, bytes);
    }
    return sum;
}

static void add_call(struct cs_pass *pass, uint64_t layer, const struct cs_call_scratch *scratch,
                     const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    layer = cs_hash_word(layer, (uintptr_t)addresses->tensor[CS_FILTER]);
    if (pass->calls == CS_PASS_CALLS || has_layer(pass, layer))
        begin_pass(pass);
    int64_t operands = note_operands(pass, problem, addresses);
    pass->call[pass->calls] = (struct cs_pass_call){.layer = layer, .scratch = *scratch};
    add_tensors(pass, pass->calls, operands);
    pass->calls++;
}

/* The context's pass, else an unused one, else the one that was unused for longest. Servers that
 * reset their devices make contexts without end. */
static struct cs_pass **place_of(struct cs_convolution_peak *peak, uint64_t context)
{
    struct cs_pass **oldest = &peak->pass[0];
    for (int i = 0; i < CS_PEAK_CONTEXTS; i++) {
        struct cs_pass **place = &peak->pass[i];
        if (!*place || (*place)->context == context)
            return place;
        if ((*place)->used < (*oldest)->used)
            oldest = place;
    }
    return oldest;
}

/* The context's pass, which is made if necessary. The lock is held. NULL if memory is short. */
static struct cs_pass *pass_of(struct cs_convolution_peak *peak, uint64_t context)
{
    struct cs_pass **place = place_of(peak, context);
    if (!*place)
        *place = cs_pages(sizeof **place);
    if (!*place)
        return NULL;
    if ((*place)->context != context)
        memset(*place, 0, sizeof **place);
    (*place)->context = context;
    (*place)->used = ++peak->turns;
    return *place;
}

void cs_convolution_peak_init(struct cs_convolution_peak *peak)
{
    cs_lock_init(&peak->lock, CS_RANK_PEAK);
}

void cs_convolution_peak_add(struct cs_convolution_peak *peak, uint64_t context, uint64_t layer,
                             const struct cs_call_scratch *scratch,
                             const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    cs_lock(&peak->lock);
    struct cs_pass *pass = pass_of(peak, context);
    if (pass) {
        add_call(pass, layer, scratch, problem, addresses);
        cs_raise(&peak->highest.without, pass->highest.without);
        cs_raise(&peak->highest.with, pass->highest.with);
    }
    cs_unlock(&peak->lock);
}

struct cs_call_scratch cs_convolution_peak_read(struct cs_convolution_peak *peak)
{
    cs_lock(&peak->lock);
    struct cs_call_scratch highest = peak->highest;
    cs_unlock(&peak->lock);
    return highest;
}
