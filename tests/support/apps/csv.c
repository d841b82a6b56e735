#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HEADER[] = "model,layer,dir,n,c,d,h,w,k,kd,kh,kw,sd,sh,sw,pd,ph,pw,groups,dtype";

static bool parse_line(const char *line, struct csv_layer *layer)
{
    struct csv_layer l = {.groups = 0};
    char dtype[8];
    char excess;
    int fields =
        sscanf(line,
               "%47[^,],%47[^,],%7[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64
               ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64
               ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%7[a-z0-9]%c",
               l.model, l.layer, l.dir, &l.n, &l.c, &l.d, &l.h, &l.w, &l.k, &l.kernel[0],
               &l.kernel[1], &l.kernel[2], &l.stride[0], &l.stride[1], &l.stride[2], &l.padding[0],
               &l.padding[1], &l.padding[2], &l.groups, dtype, &excess);
    if (fields != 20 || !dtype_parse(dtype, &l.type))
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
        bool good = number == 1 ? strcmp(line, HEADER) == 0 : parse_line(line, &layer);
        if (!good) {
            fprintf(stderr, "%s:%d: not understood: %s\n", path, number, line);
            return false;
        }
        bool wanted = number > 1 && (model == NULL || strcmp(layer.model, model) == 0);
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
