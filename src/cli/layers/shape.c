/* Reads a convolution as people and the summary write it: "1x512x64x64 -> 512 k3x3 s1 p1 d2 g4 f16
 * nchw dgrad fused". */
#include "cli/layers/layers.h"

#include "base/checked.h"
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- words --- */

enum word_kind {
    DIRECTION,
    DTYPE,
    LAYOUT
};

/* The words that are understood, with their values. The first word for a value is its name. */
static const struct {
    const char *text;
    enum word_kind kind;
    int value;
} words[] = {
    {"fwd", DIRECTION, CS_FORWARD},
    {"forward", DIRECTION, CS_FORWARD},
    {"dgrad", DIRECTION, CS_BACKWARD_DATA},
    {"wgrad", DIRECTION, CS_BACKWARD_FILTER},
    {"f16", DTYPE, CS_F16},
    {"fp16", DTYPE, CS_F16},
    {"half", DTYPE, CS_F16},
    {"float16", DTYPE, CS_F16},
    {"f32", DTYPE, CS_F32},
    {"fp32", DTYPE, CS_F32},
    {"float", DTYPE, CS_F32},
    {"float32", DTYPE, CS_F32},
    {"bf16", DTYPE, CS_BF16},
    {"bfloat16", DTYPE, CS_BF16},
    {"nchw", LAYOUT, CS_CHANNELS_FIRST},
    {"ncdhw", LAYOUT, CS_CHANNELS_FIRST},
    {"ncw", LAYOUT, CS_CHANNELS_FIRST},
    {"nhwc", LAYOUT, CS_CHANNELS_LAST},
    {"ndhwc", LAYOUT, CS_CHANNELS_LAST},
    {"nwc", LAYOUT, CS_CHANNELS_LAST},
};

enum {
    WORDS = sizeof words / sizeof *words
};

/* Returns the value of a word. -1: there is no such word of this kind. */
static int find_value(enum word_kind kind, const char *text)
{
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind == kind && strcmp(text, words[i].text) == 0)
            return words[i].value;
    return -1;
}

bool cs_shape_direction(const char *text, enum cs_direction *direction_p)
{
    const int value = find_value(DIRECTION, text);
    if (value >= 0)
        *direction_p = (enum cs_direction)value;
    return value >= 0;
}

bool cs_shape_dtype(const char *text, enum cs_dtype *dtype_p)
{
    const int value = find_value(DTYPE, text);
    if (value >= 0)
        *dtype_p = (enum cs_dtype)value;
    return value >= 0;
}

bool cs_shape_layout(const char *text, enum cs_order *layout_p)
{
    const int value = find_value(LAYOUT, text);
    if (value >= 0)
        *layout_p = (enum cs_order)value;
    return value >= 0;
}

const char *cs_shape_direction_name(enum cs_direction direction)
{
    int i = 0;
    while (words[i].kind != DIRECTION || words[i].value != (int)direction)
        i++;
    return words[i].text;
}

int cs_shape_numbers(const char *text, int64_t *numbers, int limit)
{
    for (int count = 0; count < limit; text++) {
        char *end;
        errno = 0;
        long long number = strtoll(text, &end, 10);
        if (end == text || errno != 0 || strchr(" \t\n\r\v\f+", *text))
            return 0;
        numbers[count++] = number;
        text = end;
        if (*text == '\0')
            return count;
        if (*text != 'x')
            return 0;
    }
    return 0;
}

/* --- a problem from its numbers --- */

/* Checks that no number is below its least value. False, with a line in `error`, if one is. */
static bool check_numbers(const struct cs_problem *problem, char error[CS_LAYERS_ERROR])
{
    static const struct {
        const char *name;
        size_t at;
        int64_t least;
    } numbers[] = {
#define NUMBER(name, member, least) {name, offsetof(struct cs_problem, member), least}
        NUMBER("n", tensor[CS_X].dims[CS_N], 1),
        NUMBER("c", tensor[CS_X].dims[CS_C], 1),
        NUMBER("d", tensor[CS_X].dims[CS_D], 1),
        NUMBER("h", tensor[CS_X].dims[CS_H], 1),
        NUMBER("w", tensor[CS_X].dims[CS_W], 1),
        NUMBER("k", tensor[CS_FILTER].dims[CS_N], 1),
        NUMBER("k along D", tensor[CS_FILTER].dims[CS_D], 1),
        NUMBER("k along H", tensor[CS_FILTER].dims[CS_H], 1),
        NUMBER("k along W", tensor[CS_FILTER].dims[CS_W], 1),
        NUMBER("s along D", stride[0], 1),
        NUMBER("s along H", stride[1], 1),
        NUMBER("s along W", stride[2], 1),
        NUMBER("p along D", pre[0], 0),
        NUMBER("p along H", pre[1], 0),
        NUMBER("p along W", pre[2], 0),
        NUMBER("d along D", dilation[0], 1),
        NUMBER("d along H", dilation[1], 1),
        NUMBER("d along W", dilation[2], 1),
        NUMBER("groups", groups, 1),
#undef NUMBER
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t number;
        memcpy(&number, (const char *)problem + numbers[i].at, sizeof number);
        if (number < numbers[i].least) {
            snprintf(error, CS_LAYERS_ERROR, "%s is %" PRId64 ", but must be at least %" PRId64,
                     numbers[i].name, number, numbers[i].least);
            return false;
        }
    }
    return true;
}

/* Computes the extent of y along D (0), H (1) or W (2). False with a line in `error`. */
static bool complete_extent(struct cs_problem *problem, int i, char error[CS_LAYERS_ERROR])
{
    const int64_t in = problem->tensor[CS_X].dims[CS_D + i],
                  kernel = problem->tensor[CS_FILTER].dims[CS_D + i];
    int64_t padding, padded, window;
    if (!cs_mul(problem->pre[i], 2, &padding) || !cs_add(in, padding, &padded) ||
        !cs_mul(kernel - 1, problem->dilation[i], &window) || !cs_add(window, 1, &window)) {
        snprintf(error, CS_LAYERS_ERROR, "extents beyond 64 bits");
        return false;
    }
    if (window > padded) {
        snprintf(error, CS_LAYERS_ERROR,
                 "along %c the window of %" PRId64 " is larger than the padded input of %" PRId64,
                 "DHW"[i], window, padded);
        return false;
    }
    problem->post[i] = problem->pre[i];
    problem->tensor[CS_Y].dims[CS_D + i] = (padded - window) / problem->stride[i] + 1;
    return true;
}

/* Completes a tensor whose extents are set. Its strides are dense in the order of the layout, and 0
 * in the dimension that a 2-D convolution lacks. False beyond 64 bits. */
static bool complete_tensor(struct cs_problem *problem, enum cs_operand operand,
                            enum cs_order layout)
{
    enum {
        ALIGNMENT = 16 /* that frameworks declare for tensors of their allocators */
    };
    static const enum cs_dim orders[][CS_DIMS] = {
        [CS_CHANNELS_FIRST] = {CS_W, CS_H, CS_D, CS_C, CS_N},
        [CS_CHANNELS_LAST] = {CS_C, CS_W, CS_H, CS_D, CS_N}};
    struct cs_tensor *tensor = &problem->tensor[operand];
    int64_t stride = 1;
    tensor->alignment = ALIGNMENT;
    tensor->dtype = problem->tensor[CS_X].dtype;
    tensor->side = operand;
    tensor->written = operand == cs_result(problem->direction);
    for (int i = 0; i < CS_DIMS; i++) {
        const enum cs_dim dim = orders[layout][i];
        tensor->strides[dim] = problem->spatial == 2 && dim == CS_D ? 0 : stride;
        if (!cs_mul(stride, tensor->dims[dim], &stride))
            return false;
    }
    return true;
}

bool cs_shape_complete(struct cs_problem *problem, enum cs_order layout,
                       char error[CS_LAYERS_ERROR])
{
    struct cs_tensor *x = &problem->tensor[CS_X], *filter = &problem->tensor[CS_FILTER],
                     *y = &problem->tensor[CS_Y];
    if (!check_numbers(problem, error))
        return false;
    if (x->dims[CS_C] % problem->groups != 0 || filter->dims[CS_N] % problem->groups != 0) {
        snprintf(error, CS_LAYERS_ERROR,
                 "%" PRId64 " and %" PRId64 " channels cannot be split into %" PRId64 " groups",
                 x->dims[CS_C], filter->dims[CS_N], problem->groups);
        return false;
    }
    problem->compute = CS_F32;
    problem->alpha = 1;
    problem->tensors = CS_OPERANDS;
    filter->dims[CS_C] = x->dims[CS_C] / problem->groups;
    y->dims[CS_N] = x->dims[CS_N];
    y->dims[CS_C] = filter->dims[CS_N];
    for (int i = 0; i < CS_SPATIAL; i++)
        if (!complete_extent(problem, i, error))
            return false;
    if (complete_tensor(problem, CS_X, layout) && complete_tensor(problem, CS_FILTER, layout) &&
        complete_tensor(problem, CS_Y, layout) && cs_problem_check(problem) == CS_OK)
        return true;
    snprintf(error, CS_LAYERS_ERROR, "tensors beyond 64 bits");
    return false;
}

/* --- a text --- */

enum {
    WORD = 64
};

/* Copies the next word and advances *text_p. Returns false at the end. A word that is too long is
 * cut, and equals no known word. */
static bool next_word(const char **text_p, char word[WORD])
{
    const char *start = *text_p + strspn(*text_p, " \t");
    size_t length = strcspn(start, " \t");
    snprintf(word, WORD, "%.*s", (int)length, start);
    *text_p = start + length;
    return length > 0;
}

/* Reads the extents of x and the output channels. Returns the number of spatial dimensions, 0 if
 * the text does not begin with them. */
static int read_head(const char **text_p, struct cs_problem *problem)
{
    int64_t x[CS_DIMS];
    char word[WORD];
    const int dims = next_word(text_p, word) ? cs_shape_numbers(word, x, CS_DIMS) : 0;
    if (dims < 3 || !next_word(text_p, word) || strcmp(word, "->") != 0 ||
        !next_word(text_p, word) ||
        cs_shape_numbers(word, &problem->tensor[CS_FILTER].dims[CS_N], 1) != 1)
        return 0;
    problem->spatial = dims == CS_DIMS ? 3 : 2;
    problem->tensor[CS_X].dims[CS_N] = x[0];
    problem->tensor[CS_X].dims[CS_C] = x[1];
    for (int i = 2; i < dims; i++)
        problem->tensor[CS_X].dims[CS_DIMS - dims + i] = x[i];
    return dims - 2;
}

/* Reads one number for all spatial dimensions, or one for each. */
static bool read_window(const char *text, int dims, int64_t to[CS_SPATIAL])
{
    int64_t numbers[CS_SPATIAL];
    int count = cs_shape_numbers(text, numbers, CS_SPATIAL);
    if (count != 1 && count != dims)
        return false;
    for (int i = 0; i < dims; i++)
        to[CS_SPATIAL - dims + i] = numbers[count == 1 ? 0 : i];
    return true;
}

/* Reads a word that begins with the letter of a setting. Padding is the same on both sides, so
 * "p1:0" is refused. */
static bool read_setting(const char *word, int dims, struct cs_problem *problem)
{
    int64_t *const to = word[0] == 'k'   ? problem->tensor[CS_FILTER].dims + CS_D
                        : word[0] == 's' ? problem->stride
                        : word[0] == 'p' ? problem->pre
                        : word[0] == 'd' ? problem->dilation
                                         : NULL;
    if (word[0] == 'g' && cs_shape_numbers(word + 1, &problem->groups, 1) == 1)
        return true;
    return to && read_window(word + 1, dims, to);
}

/* Reads a word after the head. Returns a small number for what it sets; -1: it is not allowed. */
static int read_word(const char *word, int dims, struct cs_problem *problem,
                     enum cs_order *layout_p)
{
    static const char settings[] = "kspdg";
    if (read_setting(word, dims, problem))
        return (int)(strchr(settings, word[0]) - settings);
    if (cs_shape_dtype(word, &problem->tensor[CS_X].dtype))
        return sizeof settings + DTYPE;
    if (cs_shape_direction(word, &problem->direction))
        return sizeof settings + DIRECTION;
    if (cs_shape_layout(word, layout_p))
        return sizeof settings + LAYOUT;
    return strcmp(word, "fused") == 0 ? (int)sizeof settings + LAYOUT + 1 : -1;
}

/* Writes why a word is not allowed. */
static void refuse_word(const char *word, int dims, char error[CS_LAYERS_ERROR])
{
    static const char *const examples[] = {"k3", "k3x3", "k3x3x3"};
    int64_t numbers[CS_SPATIAL];
    if (strchr("kspd", word[0]) && cs_shape_numbers(word + 1, numbers, CS_SPATIAL) > 1)
        snprintf(error, CS_LAYERS_ERROR,
                 "\"%s\": x has %d spatial extent%s. Write one number for all, or as many: %s",
                 word, dims, dims > 1 ? "s" : "", examples[dims - 1]);
    else
        snprintf(error, CS_LAYERS_ERROR,
                 "\"%s\" is not allowed; allowed: %s, s1, p1, d1, g1, f16, bf16, f32, nchw, nhwc, "
                 "fwd, dgrad, wgrad",
                 word, examples[dims - 1]);
}

bool cs_shape_text(const char *text, const struct cs_layer_rules *rules, struct cs_problem *problem,
                   char error[CS_LAYERS_ERROR])
{
    enum cs_order layout = rules->layout;
    const char *rest = text;
    char word[WORD];
    unsigned seen = 0;
    *problem = (struct cs_problem){.groups = 1,
                                   .stride = {1, 1, 1},
                                   .dilation = {1, 1, 1},
                                   .tensor = {[CS_X] = {.dims = {0, 0, 1, 1, 1}, .dtype = CS_F16},
                                              [CS_FILTER] = {.dims = {0, 0, 1, 1, 1}}}};
    const int dims = read_head(&rest, problem);
    if (dims == 0) {
        snprintf(error, CS_LAYERS_ERROR, "\"%s\" does not begin in the form of 1x512x64x64 -> 512",
                 text);
        return false;
    }
    while (next_word(&rest, word)) {
        const int kind = read_word(word, dims, problem, &layout);
        if (kind < 0)
            refuse_word(word, dims, error);
        else if (seen & 1u << kind)
            snprintf(error, CS_LAYERS_ERROR, "\"%s\": an earlier word sets the same. Remove one",
                     word);
        if (kind < 0 || seen & 1u << kind)
            return false;
        seen |= 1u << kind;
    }
    if (rules->dtype)
        problem->tensor[CS_X].dtype = *rules->dtype;
    if (rules->direction)
        problem->direction = *rules->direction;
    return cs_shape_complete(problem, layout, error);
}
