#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads numbers with x between them. Returns how many; 0: the text is anything else. */
static int parse_numbers(const char *text, int64_t *numbers, int most)
{
    for (int count = 0; count < most;) {
        char *end;
        numbers[count++] = strtoll(text, &end, 10);
        if (end == text || (*end != 'x' && *end != '\0'))
            return 0;
        if (*end == '\0')
            return count;
        text = end + 1;
    }
    return 0;
}

/* Reads one number for all spatial axes, or one for each, of which there are `axes`. */
static bool parse_window(const char *text, int axes, int64_t to[3])
{
    int64_t numbers[3];
    const int count = parse_numbers(text, numbers, 3);
    for (int i = 0; i < axes; i++)
        to[3 - axes + i] = numbers[count == 1 ? 0 : i];
    return count == 1 || count == axes;
}

static bool parse_word(const char *word, int axes, struct csv_layer *l)
{
    switch (*word) {
    case 'k':
        return parse_window(word + 1, axes, l->kernel);
    case 's':
        return parse_window(word + 1, axes, l->stride);
    case 'p':
        return parse_window(word + 1, axes, l->padding);
    case 'g':
        return parse_numbers(word + 1, &l->groups, 1) == 1;
    case 'd':
    case 'w': /* dgrad, wgrad: the program's option sets the direction */
        snprintf(l->dir, sizeof l->dir, "%s", word);
        return strcmp(word + 1, "grad") == 0;
    default:
        return dtype_parse(word, &l->type);
    }
}

/* Reads the convolution, as "1x512x64x64 -> 512 k3x3 s1 p1 f16". */
static bool parse_shape(char *text, struct csv_layer *l)
{
    char *rest, *word = strtok_r(text, " ", &rest);
    int64_t x[5];
    const int dims = word ? parse_numbers(word, x, 5) : 0, axes = dims - 2;
    word = dims >= 3 ? strtok_r(NULL, " ", &rest) : NULL;
    word = word && strcmp(word, "->") == 0 ? strtok_r(NULL, " ", &rest) : NULL;
    if (!word || parse_numbers(word, &l->k, 1) != 1)
        return false;
    l->n = x[0];
    l->c = x[1];
    l->d = axes == 3 ? x[2] : 1;
    l->h = axes >= 2 ? x[dims - 2] : 1;
    l->w = x[dims - 1];
    while ((word = strtok_r(NULL, " ", &rest)))
        if (!parse_word(word, axes, l))
            return false;
    return true;
}

static bool parse_line(const char *line, struct csv_layer *layer)
{
    struct csv_layer l = {.dir = "fwd", .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .groups = 1};
    char shape[96], excess;
    if (sscanf(line, "%95[^,], %47[^,], %47[^,]%c", shape, l.layer, l.model, &excess) != 3 ||
        !parse_shape(shape, &l))
        return false;
    *layer = l;
    return true;
}

static bool append(struct csv_layer **layers, size_t *count, const struct csv_layer *layer)
{
    struct csv_layer *grown = realloc(*layers, (*count + 1) * sizeof **layers);
    if (grown == NULL)
        return false;
    grown[(*count)++] = *layer;
    *layers = grown;
    return true;
}

static bool read_lines(FILE *file, const char *path, const char *model, struct csv_layer **layers,
                       size_t *count)
{
    char line[512];
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        struct csv_layer layer;
        line[strcspn(line, "\r\n")] = '\0';
        if (!parse_line(line, &layer)) {
            fprintf(stderr, "%s:%d: not understood: %s\n", path, number, line);
            return false;
        }
        bool wanted = model == NULL || strcmp(layer.model, model) == 0;
        if (wanted && !append(layers, count, &layer))
            return false;
    }
    if (*count == 0)
        fprintf(stderr, "%s: no layer of %s\n", path, model != NULL ? model : "any model");
    return *count > 0;
}

bool csv_read(const char *path, const char *model, struct csv_layer **layers, size_t *count)
{
    struct csv_layer *read = NULL;
    size_t found = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    bool good = read_lines(file, path, model, &read, &found);
    fclose(file);
    if (!good) {
        free(read);
        return false;
    }
    *layers = read;
    *count = found;
    return true;
}

bool csv_problem(const struct csv_layer *layer, enum layout layout, struct conv_problem *problem)
{
    struct conv_problem p = {.groups = layer->groups};
    int skip = layer->d == 1 && layer->kernel[0] == 1 ? 1 : 0;
    const int64_t input[] = {layer->d, layer->h, layer->w};
    p.spatial = 3 - skip;
    p.layout = layout;
    p.alpha = 1.0F;
    p.x.type = p.w.type = layer->type;
    p.x.dims = p.w.dims = p.spatial + 2;
    p.x.size[0] = layer->n;
    p.x.size[1] = layer->c;
    p.w.size[0] = layer->k;
    p.w.size[1] = layer->c / layer->groups;
    for (int i = 0; i < p.spatial; i++) {
        p.x.size[i + 2] = input[i + skip];
        p.w.size[i + 2] = layer->kernel[i + skip];
        p.pre[i] = p.post[i] = layer->padding[i + skip];
        p.stride[i] = layer->stride[i + skip];
        p.dilation[i] = 1;
    }
    if (!conv_output(&p))
        return false;
    tensor_pack(&p.x, layout);
    tensor_pack(&p.w, layout);
    tensor_pack(&p.y, layout);
    *problem = p;
    return true;
}

/* They differ in their names at most. */
static bool same_layer(const struct csv_layer *a, const struct csv_layer *b)
{
    return a->n == b->n && a->c == b->c && a->d == b->d && a->h == b->h && a->w == b->w &&
           a->k == b->k && a->groups == b->groups && a->type == b->type &&
           memcmp(a->kernel, b->kernel, sizeof a->kernel) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           memcmp(a->padding, b->padding, sizeof a->padding) == 0;
}

bool csv_is_first(const struct csv_layer *layers, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_layer(&layers[i], &layers[index]))
            return false;
    return true;
}
