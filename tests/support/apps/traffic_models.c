#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small, and with workspaces: channels in multiples of eight, in the layout that tensor cores do
 * not support. A model with a beta has -1, so that its result alternates between two values. */
static const struct {
    enum conv_api api;
    const char *text;
} PLAIN[] = {
    {CONV_GRAPH, "dtype=f16 x=2x16x18x16 w=16x16x3x3 pre=1"},
    {CONV_LEGACY, "dtype=f32 x=1x16x20x18 w=16x16x3x3 pre=1"},
    {CONV_GRAPH, "dtype=f16 x=1x16x17x16 w=8x16x3x3 pre=1 beta=-1"},
    {CONV_LEGACY, "dtype=bf16 x=1x8x6x10x10 w=8x8x3x3x3 pre=1"},
    {CONV_GRAPH, "direction=data dtype=f16 x=2x16x16x14 w=32x16x3x3 pre=1"},
    {CONV_LEGACY, "direction=data dtype=bf16 x=3x16x9x10 w=32x16x3x3 pre=1 beta=-1"},
    {CONV_LEGACY, "direction=filter dtype=f32 x=2x32x8x8 w=32x32x3x3 pre=1 beta=-1"},
    {CONV_GRAPH, "direction=filter dtype=f16 x=1x64x10x10 w=16x64x3x3 pre=1"},
    {CONV_GRAPH, "direction=filter dtype=f16 x=1x32x8x10 w=48x32x3x3 pre=1"},
};

#define PLAINS (sizeof PLAIN / sizeof *PLAIN)

static bool open_plain(size_t index, struct model *model)
{
    static const int results[] = {2, 0, 1};
    struct problem_data data;
    struct conv_problem *p = &model->conv;
    model->api = PLAIN[index].api;
    if (!problem_parse(PLAIN[index].text, p) || !problem_fill(p, index, DATA_INTEGERS, &data))
        return false;
    model->operands = 3;
    model->result = results[p->direction];
    model->toggles = p->beta != 0.0F;
    model->tensor[0] = &p->x;
    model->tensor[1] = &p->w;
    model->tensor[2] = &p->y;
    model->image[0] = data.x;
    model->image[1] = data.w;
    model->image[2] = data.y;
    return true;
}

/* A residual sum in its own place, channels first; subtracted, so that it toggles. */
static bool open_fused(enum fused_form form, struct model *model)
{
    struct fused_problem *f = &model->fused;
    struct fused_data data;
    int side;
    uint64_t index = 0;
    do {
        fused_random(1, index++, form, CUDNN_DATA_HALF, f);
        side = f->step[0].b;
    } while (f->tensor[side].shares != f->result || f->conv.layout != LAYOUT_NCHW ||
             f->conv.spatial != 2 || f->conv.x.size[0] > 2 || f->conv.y.size[2] < 8 ||
             f->conv.w.size[2] < 2 || f->conv.w.size[0] < 16 || f->conv.w.size[1] < 16 ||
             f->step[f->steps - 1].mode != CUDNN_POINTWISE_RELU_FWD);
    f->step[0].alpha1 = 1.0F;
    f->step[0].alpha2 = -1.0F;
    if (!fused_fill(f, index, DATA_INTEGERS, &data))
        return false;
    model->api = form == FUSED_LEGACY ? CONV_LEGACY : CONV_GRAPH;
    model->is_fused = true;
    model->toggles = true;
    model->operands = f->tensors;
    model->result = f->result;
    for (int i = 0; i < f->tensors; i++) {
        model->tensor[i] = &f->tensor[i].tensor;
        model->image[i] = data.image[i];
    }
    return true;
}

/* Writes a fused problem's result over `to`, the result's storage. */
static bool fused_result(const struct model *model, void *to)
{
    const struct tensor *tensor = model->tensor[model->result];
    struct fused_data data = {{NULL}};
    int64_t at[CLIENT_MAX_DIMS] = {0};
    double *elements = malloc((size_t)tensor_elements(tensor) * sizeof *elements);
    const double *next = elements;
    memcpy(data.image, model->image, sizeof data.image);
    bool good = elements != NULL && fused_reference(&model->fused, &data, elements);
    if (good) {
        do
            dtype_store(tensor->type, to, tensor_index(tensor, at), (float)*next++);
        while (tensor_step(tensor, at));
    }
    free(elements);
    return good;
}

/* Computes the result of a call on the contents of the result's image, in place. */
static bool apply(struct model *model)
{
    const struct problem_data data = {model->image[0], model->image[1], model->image[2]};
    if (model->is_fused)
        return fused_result(model, model->image[model->result]);
    problem_reference(&model->conv, &data, model->image[model->result]);
    return true;
}

/* Keeps a copy of the contents that the result's image has. */
static bool keep(struct model *model, int state)
{
    size_t bytes = tensor_storage_bytes(model->tensor[model->result]);
    model->expected[state] = malloc(bytes);
    if (model->expected[state] == NULL)
        return false;
    memcpy(model->expected[state], model->image[model->result], bytes);
    return true;
}

/* The results by plain host loops. ReLU may need two calls until a model goes back and forth. */
static bool expect(struct model *model)
{
    for (int i = 0; i < 2 && model->is_fused; i++)
        if (!apply(model))
            return false;
    if (!keep(model, 0) || !apply(model) || !keep(model, 1))
        return false;
    if (!model->toggles)
        return true;
    if (apply(model) && memcmp(model->image[model->result], model->expected[0],
                               tensor_storage_bytes(model->tensor[model->result])) == 0)
        return true;
    fputs("traffic: a model does not come back to its first result\n", stderr);
    return false;
}

static bool upload(struct home *home, struct model *model)
{
    for (int i = 0; i < model->operands; i++) {
        if (model->image[i] == NULL || i == model->result)
            continue;
        model->master[i] =
            client_upload(model->image[i], tensor_storage_bytes(model->tensor[i]), NULL);
        if (model->master[i] == NULL)
            return false;
        home->bytes += tensor_storage_bytes(model->tensor[i]);
    }
    return true;
}

bool models_open(struct home *home)
{
    for (size_t i = 0; i < TRAFFIC_MODELS; i++) {
        struct model *model = &home->model[i];
        bool opened = i < PLAINS ? open_plain(i, model)
                                 : open_fused(i == PLAINS ? FUSED_RESIDUAL : FUSED_LEGACY, model);
        if (!opened || !expect(model) || !upload(home, model))
            return false;
    }
    return true;
}

void models_close(struct home *home)
{
    for (size_t i = 0; i < TRAFFIC_MODELS; i++) {
        struct model *model = &home->model[i];
        for (int j = 0; j < model->operands; j++) {
            free(model->image[j]);
            cudaFree(model->master[j]);
        }
        free(model->expected[0]);
        free(model->expected[1]);
    }
}
