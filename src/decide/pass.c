/* Determines the memory that convolutions hold from the address ranges of calls. */
#include "decide/pass.h"

#include "base/checked.h"
#include "base/hash.h"
#include <string.h>

enum {
    LEAST = 1 << 20 /* smallest bytes of a range that is recorded */
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

/* Bytes of a tensor in device memory. 0 for a filter that is only read. */
static int64_t counted_bytes(const struct cs_problem *problem, int tensor)
{
    const struct cs_tensor *operand = &problem->tensor[tensor];
    int64_t bytes;
    bool kept = tensor == CS_FILTER && problem->direction != CS_BACKWARD_FILTER;
    return kept || operand->is_virtual || operand->by_value ||
                   cs_problem_tensor_span(operand, &bytes) != CS_OK || bytes < 1
               ? 0
               : bytes;
}

int64_t cs_pass_operands(const struct cs_problem *problem)
{
    int64_t sum = 0;
    for (int i = 0; i < problem->tensors; i++)
        sum = add_bytes(sum, counted_bytes(problem, i));
    return sum;
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
    cs_raise(&pass->record, add_bytes(call->tensors, call->workspace.reported));
    cs_raise(&pass->peak_without, add_bytes(call->tensors, call->workspace.without));
    cs_raise(&pass->peak_with, add_bytes(call->tensors, call->workspace.with));
}

/* Records that the next call uses a range, and forgets the known ranges that overlap it. A range
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

/* Records the ranges of the next call's operands. Returns their bytes together. */
static int64_t note_operands(struct cs_pass *pass, const struct cs_problem *problem,
                             const struct cs_addresses *addresses)
{
    int64_t sum = 0;
    for (int i = 0; i < problem->tensors; i++) {
        const uint64_t at = (uint64_t)(uintptr_t)addresses->tensor[i];
        int64_t bytes = counted_bytes(problem, i);
        if (bytes < LEAST || at == 0 || at > UINT64_MAX - (uint64_t)bytes)
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

void cs_pass_note(struct cs_pass *pass, uint64_t layer, const struct cs_pass_workspace *workspace,
                  const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    layer = cs_hash_word(layer, (uintptr_t)addresses->tensor[CS_FILTER]);
    if (pass->calls == CS_PASS_CALLS || has_layer(pass, layer))
        begin_pass(pass);
    int64_t operands = note_operands(pass, problem, addresses);
    pass->call[pass->calls] = (struct cs_pass_call){.layer = layer, .workspace = *workspace};
    add_tensors(pass, pass->calls, operands);
    pass->calls++;
}

int64_t cs_pass_beside(const struct cs_pass *pass, const struct cs_problem *problem)
{
    enum cs_operand input = problem->direction == CS_BACKWARD_DATA ? CS_Y : CS_X;
    int64_t sum = 0, largest = 0, input_bytes = counted_bytes(problem, (int)input);
    bool found_input = false;
    for (int i = 0; i < problem->tensors; i++)
        cs_raise(&largest, counted_bytes(problem, i));
    for (int i = 0; i < pass->ranges; i++) {
        int64_t bytes = size_of(&pass->range[i]);
        if (bytes == input_bytes && !found_input)
            found_input = true;
        else
            sum = add_bytes(sum, bytes);
    }
    return pass->ranges > 0 ? add_bytes(sum, largest) : 0;
}
