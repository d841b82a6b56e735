/* Checks a problem: extents, strides and groups that agree, nothing that overflows. */
#include "convshim/problem.h"

#include "base/checked.h"
#include <string.h>

/* Scalars, the window, tensors and steps of cs_problem_words. */
_Static_assert(10 + 4 * CS_SPATIAL + CS_MAX_TENSORS * (2 * CS_DIMS + 4) +
                       CS_MAX_STEPS * (1 + CS_STEP_WORDS) <=
                   CS_PROBLEM_WORDS,
               "a problem no longer fits its words");

static const struct {
    int64_t size;
    const char *name;
} dtypes[CS_DTYPES] = {
    [CS_F32] = {4, "f32"},
    [CS_F16] = {2, "f16"},
    [CS_BF16] = {2, "bf16"},
};

int64_t cs_problem_dtype_size(enum cs_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *cs_problem_dtype_name(enum cs_dtype dtype)
{
    return dtypes[dtype].name;
}

enum cs_operand cs_result(enum cs_direction direction)
{
    static const enum cs_operand results[CS_DIRECTIONS] = {CS_Y, CS_X, CS_FILTER};
    return results[direction];
}

const char *cs_problem_direction_name(enum cs_direction direction)
{
    static const char *const names[CS_DIRECTIONS] = {"forward", "dgrad", "wgrad"};
    return names[direction];
}

const char *cs_problem_relaxation_name(enum cs_relaxation relaxation)
{
    static const char *const names[] = {"knobs", "defaults", "alike"};
    _Static_assert(sizeof names / sizeof *names == CS_RELAXATIONS, "a relaxation has no name");
    return (unsigned)relaxation < CS_RELAXATIONS ? names[relaxation] : "";
}

enum cs_status cs_problem_tensor_span(const struct cs_tensor *tensor, int64_t *bytes_p)
{
    int64_t elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        int64_t reach;
        if (!cs_mul(tensor->dims[dim] - 1, tensor->strides[dim], &reach) ||
            !cs_add(elements, reach, &elements))
            return CS_OVERFLOW;
    }
    return cs_mul(elements, cs_problem_dtype_size(tensor->dtype), bytes_p) ? CS_OK : CS_OVERFLOW;
}

enum cs_status cs_problem_tensor_bytes(const struct cs_tensor *tensor, int64_t *bytes_p)
{
    int64_t bytes = cs_problem_dtype_size(tensor->dtype);
    for (int dim = 0; dim < CS_DIMS; dim++) {
        if (!cs_mul(bytes, tensor->dims[dim], &bytes))
            return CS_OVERFLOW;
    }
    *bytes_p = bytes;
    return CS_OK;
}

int64_t cs_problem_held_by(const struct cs_problem *problem, int tensor)
{
    const struct cs_tensor *operand = &problem->tensor[tensor];
    int64_t bytes;
    bool kept = tensor == CS_FILTER && problem->direction != CS_BACKWARD_FILTER;
    if (kept || operand->is_virtual || operand->by_value)
        return 0;
    return cs_problem_tensor_span(operand, &bytes) == CS_OK ? cs_max(bytes, 0) : INT64_MAX;
}

int64_t cs_problem_held(const struct cs_problem *problem)
{
    int64_t sum = 0;
    for (int i = 0; i < problem->tensors; i++)
        if (!cs_add(sum, cs_problem_held_by(problem, i), &sum))
            return INT64_MAX;
    return sum;
}

/* True if the elements follow each other without gaps, channels before D, H and W or after them. */
static bool is_packed(const struct cs_tensor *tensor, bool channels_last)
{
    static const enum cs_dim orders[][CS_DIMS] = {{CS_N, CS_C, CS_D, CS_H, CS_W},
                                                  {CS_N, CS_D, CS_H, CS_W, CS_C}};
    int64_t stride = 1;
    for (int i = CS_DIMS - 1; i >= 0; i--) {
        enum cs_dim dim = orders[channels_last][i];
        if (tensor->dims[dim] > 1 && tensor->strides[dim] != stride)
            return false;
        if (!cs_mul(stride, tensor->dims[dim], &stride))
            return false;
    }
    return true;
}

const char *cs_problem_layout(const struct cs_problem *problem)
{
    static const char *const names[CS_SPATIAL][2] = {
        {"ncw", "nwc"}, {"nchw", "nhwc"}, {"ncdhw", "ndhwc"}};
    for (int channels_last = 0; channels_last < 2; channels_last++)
        if (is_packed(&problem->tensor[CS_X], channels_last) &&
            is_packed(&problem->tensor[CS_Y], channels_last))
            return names[problem->spatial - 1][channels_last];
    return "strided";
}

/* True if the problem's tensors and steps fit its arrays. */
static bool counts_valid(const struct cs_problem *problem)
{
    if (problem->tensors < CS_OPERANDS || problem->tensors > CS_MAX_TENSORS || problem->steps < 0 ||
        problem->steps > CS_MAX_STEPS || problem->steps_before < 0 ||
        problem->steps_before > problem->steps)
        return false;
    for (int i = 0; i < problem->steps; i++)
        if (problem->step[i].words < 0 || problem->step[i].words > CS_STEP_WORDS)
            return false;
    return true;
}

/* True if direction, type, groups and window are possible, and absent dimensions have no padding.
 */
static bool scalars_valid(const struct cs_problem *problem)
{
    if ((unsigned)problem->direction >= CS_DIRECTIONS || (unsigned)problem->compute >= CS_DTYPES ||
        problem->spatial < 1 || problem->spatial > CS_SPATIAL || problem->groups < 1)
        return false;
    for (int i = 0; i < CS_SPATIAL; i++) {
        bool absent = i < CS_SPATIAL - problem->spatial;
        if (problem->pre[i] < 0 || problem->post[i] < 0 || problem->stride[i] < 1 ||
            problem->dilation[i] < 1 || (absent && (problem->pre[i] || problem->post[i])))
            return false;
    }
    return true;
}

/* True if type, alignment, extents and strides are possible. */
static bool tensor_valid(const struct cs_tensor *tensor, int spatial)
{
    if ((unsigned)tensor->dtype >= CS_DTYPES || tensor->alignment < 1 ||
        (tensor->alignment & (tensor->alignment - 1)) != 0)
        return false;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        bool absent = dim >= CS_D && dim < CS_DIMS - spatial;
        if (tensor->dims[dim] < 1 || tensor->strides[dim] < 0 ||
            (tensor->dims[dim] > 1 && (absent || tensor->strides[dim] == 0)))
            return false;
    }
    return true;
}

/* CS_INVALID if the images and channels of x, filter and y do not agree. */
static enum cs_status check_channels(const struct cs_problem *problem)
{
    const int64_t *x = problem->tensor[CS_X].dims;
    const int64_t *w = problem->tensor[CS_FILTER].dims;
    const int64_t *y = problem->tensor[CS_Y].dims;
    int64_t channels;

    if (!cs_mul(w[CS_C], problem->groups, &channels))
        return CS_OVERFLOW;
    return x[CS_C] == channels && w[CS_N] % problem->groups == 0 && y[CS_C] == w[CS_N] &&
                   y[CS_N] == x[CS_N]
               ? CS_OK
               : CS_INVALID;
}

/* CS_INVALID if the extents of y do not follow from x, the filter and the window. */
static enum cs_status check_extents(const struct cs_problem *problem)
{
    for (int i = 0; i < CS_SPATIAL; i++) {
        int64_t padded, reach;
        if (!cs_add(problem->tensor[CS_X].dims[CS_D + i], problem->pre[i], &padded) ||
            !cs_add(padded, problem->post[i], &padded) ||
            !cs_mul(problem->tensor[CS_FILTER].dims[CS_D + i] - 1, problem->dilation[i], &reach) ||
            !cs_add(reach, 1, &reach))
            return CS_OVERFLOW;
        if (padded < reach ||
            problem->tensor[CS_Y].dims[CS_D + i] != (padded - reach) / problem->stride[i] + 1)
            return CS_INVALID;
    }
    return CS_OK;
}

/* True if no two elements share an address: each dimension, in the order of strides, steps over all
 * elements of the smaller ones. False also for some tensors without shared addresses. */
static bool elements_distinct(const struct cs_tensor *tensor)
{
    int64_t span = 1;
    bool done[CS_DIMS] = {false};
    for (int turn = 0; turn < CS_DIMS; turn++) {
        int least = -1;
        for (int dim = 0; dim < CS_DIMS; dim++) {
            if (!done[dim] && (least < 0 || tensor->strides[dim] < tensor->strides[least]))
                least = dim;
        }
        done[least] = true;
        if (tensor->dims[least] == 1)
            continue;
        int64_t reach;
        if (tensor->strides[least] < span ||
            !cs_mul(tensor->dims[least] - 1, tensor->strides[least], &reach) ||
            !cs_add(span, reach, &span))
            return false;
    }
    return true;
}

/* True if each extent of a tensor is 1 or that of its side. An operand must be its own side. */
static bool goes_with_side(const struct cs_problem *problem, int index)
{
    const struct cs_tensor *tensor = &problem->tensor[index];
    if (index < CS_OPERANDS)
        return tensor->side == (enum cs_operand)index && !tensor->by_value;
    if ((unsigned)tensor->side >= CS_OPERANDS)
        return false;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        int64_t extent = tensor->dims[dim];
        if (extent != 1 && (tensor->by_value || extent != problem->tensor[tensor->side].dims[dim]))
            return false;
    }
    return true;
}

static enum cs_status check_tensors(const struct cs_problem *problem)
{
    for (int i = 0; i < problem->tensors; i++) {
        if (!tensor_valid(&problem->tensor[i], problem->spatial) || !goes_with_side(problem, i))
            return CS_INVALID;
    }
    return CS_OK;
}

/* CS_OVERFLOW if a tensor's size exceeds 64 bits. */
static enum cs_status check_sizes(const struct cs_problem *problem)
{
    for (int i = 0; i < problem->tensors; i++) {
        int64_t bytes;
        enum cs_status status = cs_problem_tensor_span(&problem->tensor[i], &bytes);
        if (status == CS_OK)
            status = cs_problem_tensor_bytes(&problem->tensor[i], &bytes);
        if (status != CS_OK)
            return status;
    }
    return CS_OK;
}

/* CS_ILLEGAL if no tensor is written, if a result with an address is not, or if a written tensor is
 * virtual or by value, has other extents than the result, or has elements that share an address. */
static enum cs_status check_written(const struct cs_problem *problem)
{
    enum cs_operand result = cs_result(problem->direction);
    if (!problem->tensor[result].is_virtual && !problem->tensor[result].written)
        return CS_ILLEGAL;
    bool some = false;
    for (int i = 0; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        if (!tensor->written)
            continue;
        if (tensor->is_virtual || tensor->by_value || tensor->side != result ||
            memcmp(tensor->dims, problem->tensor[result].dims, sizeof tensor->dims) != 0 ||
            !elements_distinct(tensor))
            return CS_ILLEGAL;
        some = true;
    }
    return some ? CS_OK : CS_ILLEGAL;
}

enum cs_status cs_problem_check(const struct cs_problem *problem)
{
    if (!counts_valid(problem) || !scalars_valid(problem))
        return CS_INVALID;
    enum cs_status status = check_tensors(problem);
    if (status == CS_OK)
        status = check_channels(problem);
    if (status == CS_OK)
        status = check_extents(problem);
    if (status == CS_OK)
        status = check_sizes(problem);
    return status == CS_OK ? check_written(problem) : status;
}

static int64_t double_word(double value)
{
    int64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static int put_words(int64_t *words, int used, const int64_t *values, int count)
{
    memcpy(words + used, values, (size_t)count * sizeof *values);
    return used + count;
}

int cs_problem_words(const struct cs_problem *problem, int64_t words[CS_PROBLEM_WORDS])
{
    const int64_t scalars[] = {
        problem->direction,         problem->compute, problem->spatial,
        problem->flipped,           problem->groups,  double_word(problem->alpha),
        double_word(problem->beta), problem->tensors, problem->steps,
        problem->steps_before,
    };
    int used = put_words(words, 0, scalars, (int)(sizeof scalars / sizeof *scalars));
    used = put_words(words, used, problem->pre, CS_SPATIAL);
    used = put_words(words, used, problem->post, CS_SPATIAL);
    used = put_words(words, used, problem->stride, CS_SPATIAL);
    used = put_words(words, used, problem->dilation, CS_SPATIAL);
    for (int i = 0; i < problem->tensors; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        used = put_words(words, used, tensor->dims, CS_DIMS);
        used = put_words(words, used, tensor->strides, CS_DIMS);
        words[used++] = tensor->alignment;
        words[used++] = tensor->dtype;
        words[used++] = tensor->side;
        words[used++] = tensor->is_virtual | tensor->by_value << 1 | tensor->written << 2;
    }
    for (int i = 0; i < problem->steps; i++) {
        words[used++] = problem->step[i].words;
        used = put_words(words, used, problem->step[i].word, problem->step[i].words);
    }
    return used;
}

bool cs_problem_same(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t words_a[CS_PROBLEM_WORDS], words_b[CS_PROBLEM_WORDS];
    int used_a = cs_problem_words(a, words_a), used_b = cs_problem_words(b, words_b);
    return used_a == used_b && memcmp(words_a, words_b, (size_t)used_a * sizeof *words_a) == 0;
}

/* Reads words one by one. Words past the end are zeros. */
struct reader {
    const int64_t *words;
    int used, count;
};

static int64_t next_word(struct reader *reader)
{
    int64_t word = reader->used < reader->count ? reader->words[reader->used] : 0;
    reader->used++;
    return word;
}

static void next_words(struct reader *reader, int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = next_word(reader);
}

static double next_double(struct reader *reader)
{
    int64_t word = next_word(reader);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static void read_tensor(struct reader *reader, struct cs_tensor *tensor)
{
    next_words(reader, tensor->dims, CS_DIMS);
    next_words(reader, tensor->strides, CS_DIMS);
    tensor->alignment = next_word(reader);
    tensor->dtype = (enum cs_dtype)next_word(reader);
    tensor->side = (enum cs_operand)next_word(reader);
    int64_t flags = next_word(reader);
    tensor->is_virtual = flags & 1;
    tensor->by_value = flags >> 1 & 1;
    tensor->written = flags >> 2 & 1;
}

static void read_scalars(struct reader *reader, struct cs_problem *problem)
{
    problem->direction = (enum cs_direction)next_word(reader);
    problem->compute = (enum cs_dtype)next_word(reader);
    problem->spatial = (int)next_word(reader);
    problem->flipped = next_word(reader) & 1;
    problem->groups = next_word(reader);
    problem->alpha = next_double(reader);
    problem->beta = next_double(reader);
    problem->tensors = (int)next_word(reader);
    problem->steps = (int)next_word(reader);
    problem->steps_before = (int)next_word(reader);
    next_words(reader, problem->pre, CS_SPATIAL);
    next_words(reader, problem->post, CS_SPATIAL);
    next_words(reader, problem->stride, CS_SPATIAL);
    next_words(reader, problem->dilation, CS_SPATIAL);
}

bool cs_problem_of_words(const int64_t *words, int count, struct cs_problem *problem)
{
    struct reader reader = {words, 0, count};
    int64_t again[CS_PROBLEM_WORDS];
    *problem = (struct cs_problem){.tensors = 0};
    read_scalars(&reader, problem);
    if (problem->tensors < 0 || problem->tensors > CS_MAX_TENSORS || problem->steps < 0 ||
        problem->steps > CS_MAX_STEPS)
        return false;
    for (int i = 0; i < problem->tensors; i++)
        read_tensor(&reader, &problem->tensor[i]);
    for (int i = 0; i < problem->steps; i++) {
        problem->step[i].words = (int)next_word(&reader);
        if (problem->step[i].words < 0 || problem->step[i].words > CS_STEP_WORDS)
            return false;
        next_words(&reader, problem->step[i].word, problem->step[i].words);
    }
    return reader.used == count && cs_problem_words(problem, again) == count &&
           memcmp(again, words, (size_t)count * sizeof *again) == 0;
}
