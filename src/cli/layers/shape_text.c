/* A convolution as the summary writes it: "1x512x64x64 -> 512 k3x3 s1 p1 d2 g4 f16 nchw dgrad
 * fused". */
#include "cli/layers/layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* One number for all spatial dimensions, or one for each. */
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

/* A shape has the same padding on both sides, so "p1:0" is refused. */
static bool read_setting(const char *word, int dims, struct cs_shape *shape)
{
    int64_t *const to = word[0] == 'k'   ? shape->kernel
                        : word[0] == 's' ? shape->stride
                        : word[0] == 'p' ? shape->pad
                        : word[0] == 'd' ? shape->dilation
                                         : NULL;
    if (word[0] == 'g' && cs_shape_numbers(word + 1, &shape->groups, 1) == 1)
        return true;
    return to && read_window(word + 1, dims, to);
}

static bool read_word(const char *word, int dims, struct cs_shape *shape)
{
    return read_setting(word, dims, shape) || cs_shape_dtype(word, &shape->dtype) ||
           cs_shape_direction(word, &shape->direction) || cs_shape_layout(word, &shape->layout) ||
           strcmp(word, "fused") == 0;
}

static bool read_head(const char **text_p, int *dims_p, struct cs_shape *shape)
{
    int64_t x[CS_DIMS];
    char word[WORD];
    int dims = next_word(text_p, word) ? cs_shape_numbers(word, x, CS_DIMS) : 0;
    if (dims < 3 || !next_word(text_p, word) || strcmp(word, "->") != 0 ||
        !next_word(text_p, word) || cs_shape_numbers(word, &shape->k, 1) != 1)
        return false;
    shape->spatial = dims == CS_DIMS ? 3 : 2;
    shape->n = x[0];
    shape->c = x[1];
    for (int i = 2; i < dims; i++)
        shape->in[CS_SPATIAL - dims + i] = x[i];
    *dims_p = dims - 2;
    return true;
}

bool cs_shape_text(const char *text, struct cs_shape *shape_p, char *error, size_t size)
{
    struct cs_shape shape = {.groups = 1,
                             .in = {1, 1, 1},
                             .kernel = {1, 1, 1},
                             .stride = {1, 1, 1},
                             .dilation = {1, 1, 1},
                             .dtype = shape_p->dtype,
                             .direction = shape_p->direction,
                             .layout = shape_p->layout};
    const char *rest = text;
    char word[WORD];
    int dims;
    if (!read_head(&rest, &dims, &shape)) {
        snprintf(error, size, "\"%s\" does not begin in the form of 1x512x64x64 -> 512", text);
        return false;
    }
    while (next_word(&rest, word))
        if (!read_word(word, dims, &shape)) {
            snprintf(error, size,
                     "\"%s\" is not allowed; allowed: k3x3, s1, p1, d1, g1, a data type, a layout, "
                     "a direction",
                     word);
            return false;
        }
    *shape_p = shape;
    return true;
}
