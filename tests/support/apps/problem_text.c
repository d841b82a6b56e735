#include "problems.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int written = vsnprintf(text->at, text->left, format, list);
    va_end(list);
    size_t taken = written < 0 || (size_t)written >= text->left ? text->left - 1 : (size_t)written;
    text->at += taken;
    text->left -= taken;
}

static void put_numbers(struct text *text, const char *name, const int64_t *numbers, int count)
{
    put(text, " %s=", name);
    for (int i = 0; i < count; i++)
        put(text, "%s%" PRId64, i > 0 ? "x" : "", numbers[i]);
}

static void put_tensor(struct text *text, const char *name, const struct tensor *tensor)
{
    put_numbers(text, name, tensor->size, tensor->dims);
    put(text, ":");
    for (int i = 0; i < tensor->dims; i++)
        put(text, "%s%" PRId64, i > 0 ? "," : "", tensor->stride[i]);
    put(text, "+%" PRId64 "/%" PRId64, tensor->offset, tensor->storage);
}

void problem_print(const struct conv_problem *problem, char *text, size_t bytes)
{
    struct text line = {text, bytes};
    put(&line, "direction=%s dtype=%s layout=%s", conv_direction_name(problem->direction),
        dtype_name(problem->x.type), layout_name(problem->layout));
    put_tensor(&line, "x", &problem->x);
    put_tensor(&line, "w", &problem->w);
    put_tensor(&line, "y", &problem->y);
    put_numbers(&line, "stride", problem->stride, problem->spatial);
    put_numbers(&line, "dilation", problem->dilation, problem->spatial);
    put_numbers(&line, "pre", problem->pre, problem->spatial);
    put_numbers(&line, "post", problem->post, problem->spatial);
    put(&line, " groups=%" PRId64 " alpha=%g beta=%g", problem->groups, (double)problem->alpha,
        (double)problem->beta);
}

/* The contents of a line of text, before the problem is completed. */
struct parsed {
    struct conv_problem problem;
    bool post;
    bool strides[3]; /* of x, w, y */
    struct tensor y;
};

/* Reads up to `limit` numbers separated by this character and returns their number, or -1; *text
 * then points after them. */
static int read_numbers(const char **text, char between, int limit, int64_t *numbers)
{
    int count = 0;
    for (;;) {
        char *end;
        errno = 0;
        numbers[count] = strtoll(*text, &end, 10);
        if (end == *text || errno != 0)
            return -1;
        *text = end;
        if (++count == limit || *end != between)
            return count;
        (*text)++;
    }
}

/* "1x8x5x5:200,25,5,1+0/200"; all from the colon on may be left out. */
static bool read_tensor(const char *text, struct tensor *tensor, bool *strides)
{
    tensor->dims = read_numbers(&text, 'x', CLIENT_MAX_DIMS, tensor->size);
    *strides = *text == ':';
    if (*strides) {
        text++;
        if (read_numbers(&text, ',', CLIENT_MAX_DIMS, tensor->stride) != tensor->dims ||
            *text++ != '+' || read_numbers(&text, '/', 1, &tensor->offset) != 1 || *text++ != '/' ||
            read_numbers(&text, '/', 1, &tensor->storage) != 1)
            return false;
    }
    return *text == '\0' && tensor->dims >= 4;
}

/* A single number applies to all axes. */
static bool read_extents(const char *text, int64_t *extents)
{
    int count = read_numbers(&text, 'x', 3, extents);
    if (count == 1)
        extents[1] = extents[2] = extents[0];
    return count > 0 && *text == '\0';
}

static bool read_factor(const char *text, float *factor)
{
    char *end;
    *factor = strtof(text, &end);
    return end != text && *end == '\0';
}

static bool read_word(const char *name, const char *value, struct parsed *to)
{
    struct conv_problem *p = &to->problem;
    if (strcmp(name, "direction") == 0)
        return conv_direction_parse(value, &p->direction);
    if (strcmp(name, "dtype") == 0)
        return dtype_parse(value, &p->x.type);
    if (strcmp(name, "layout") == 0)
        return layout_parse(value, &p->layout);
    if (strcmp(name, "x") == 0)
        return read_tensor(value, &p->x, &to->strides[0]);
    if (strcmp(name, "w") == 0)
        return read_tensor(value, &p->w, &to->strides[1]);
    if (strcmp(name, "y") == 0)
        return read_tensor(value, &to->y, &to->strides[2]);
    if (strcmp(name, "stride") == 0)
        return read_extents(value, p->stride);
    if (strcmp(name, "dilation") == 0)
        return read_extents(value, p->dilation);
    if (strcmp(name, "pre") == 0)
        return read_extents(value, p->pre);
    if (strcmp(name, "post") == 0)
        return to->post = read_extents(value, p->post);
    if (strcmp(name, "groups") == 0)
        return read_numbers(&value, 'x', 1, &p->groups) == 1 && *value == '\0';
    if (strcmp(name, "alpha") == 0)
        return read_factor(value, &p->alpha);
    if (strcmp(name, "beta") == 0)
        return read_factor(value, &p->beta);
    return true;
}

static bool tensor_sound(const struct tensor *tensor)
{
    int64_t last = tensor->offset;
    for (int i = 0; i < tensor->dims; i++) {
        if (tensor->size[i] < 1 || tensor->stride[i] < 0)
            return false;
        last += (tensor->size[i] - 1) * tensor->stride[i];
    }
    return tensor->offset >= 0 && last < tensor->storage;
}

/* Sets the fields that the text left out, and checks the whole. */
static bool complete(struct parsed *parsed)
{
    struct conv_problem *p = &parsed->problem;
    struct tensor *tensors[] = {&p->x, &p->w, &p->y};
    p->spatial = p->x.dims - 2;
    p->w.type = p->x.type;
    if (p->x.dims != p->w.dims || p->groups < 1)
        return false;
    for (int i = 0; i < p->spatial; i++) {
        if (!parsed->post)
            p->post[i] = p->pre[i];
        if (p->stride[i] < 1 || p->dilation[i] < 1 || p->pre[i] < 0 || p->post[i] < 0)
            return false;
    }
    for (int i = p->spatial; i < 3; i++)
        p->stride[i] = p->dilation[i] = p->pre[i] = p->post[i] = 0;
    if (p->x.size[1] != p->w.size[1] * p->groups || p->w.size[0] % p->groups != 0 ||
        !conv_output(p))
        return false;
    if (parsed->y.dims != 0) {
        if (memcmp(parsed->y.size, p->y.size, sizeof p->y.size) != 0)
            return false;
        parsed->y.type = p->y.type;
        p->y = parsed->y;
    }
    for (int i = 0; i < 3; i++) {
        if (!parsed->strides[i])
            tensor_pack(tensors[i], p->layout);
        if (!tensor_sound(tensors[i]))
            return false;
    }
    return true;
}

bool problem_parse(const char *text, struct conv_problem *problem)
{
    struct parsed parsed = {.problem = {.groups = 1,
                                        .stride = {1, 1, 1},
                                        .dilation = {1, 1, 1},
                                        .alpha = 1.0F,
                                        .x.type = CUDNN_DATA_FLOAT}};
    char copy[1024];
    char *rest = NULL;
    bool good = strlen(text) < sizeof copy;
    if (good)
        memcpy(copy, text, strlen(text) + 1);
    for (char *word = good ? strtok_r(copy, " ", &rest) : NULL; word != NULL && good;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        good = value != NULL;
        if (good)
            *value++ = '\0';
        good = good && read_word(word, value, &parsed);
    }
    if (!good || !complete(&parsed))
        return option_refuse("problem", text, "a valid problem as --list prints it");
    *problem = parsed.problem;
    return true;
}
