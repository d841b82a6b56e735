/* Splits the memory of one step into filters, gradients, outputs, inputs kept for backward and
 * workspaces, from the calls alone. */
#include "cli/report/anatomy.h"

#include "base/checked.h"
#include <stdlib.h>
#include <string.h>

enum {
    NOWHERE = -1 /* of a site: in no layer of this step */
};

struct builder {
    const struct cs_anatomy_site *site;
    size_t sites;
    const int64_t *order;
    struct cs_anatomy *anatomy;
    int64_t *layer_of;           /* of each site */
    struct cs_anatomy_held held; /* between calls */
    bool broken;                 /* an amount left 63 bits */
};

/* *to += times * bytes */
static void grow(struct builder *builder, int64_t *to, int64_t times, int64_t bytes)
{
    int64_t product;
    builder->broken =
        builder->broken || !cs_mul(times, bytes, &product) || !cs_add(*to, product, to);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The site of a call; NULL: of none that is known. */
static const struct cs_anatomy_site *site_at(const struct builder *builder, size_t call)
{
    int64_t index = builder->order[call];
    return index >= 0 && index < (int64_t)builder->sites ? &builder->site[index] : NULL;
}

static bool is_wgrad(const struct builder *builder, size_t call)
{
    const struct cs_anatomy_site *site = site_at(builder, call);
    return site && site->pass == CS_PASS_WGRAD;
}

/* The calls from `from` on, before `to`, up to the next filter gradient. */
static size_t calls_before_wgrad(const struct builder *builder, size_t from, size_t to)
{
    size_t i = from;
    while (i < to && !is_wgrad(builder, i))
        i++;
    return i - from;
}

/* Calls that repeat with a period, at least twice. */
struct repetition {
    size_t end, period, calls;
};

/* The longest repetition; in a training it has filter gradients. */
static struct repetition find_repetition(const struct builder *builder, size_t calls)
{
    const int64_t *order = builder->order;
    struct repetition best = {.calls = 0};
    for (size_t period = 1; period <= calls / 2; period++)
        for (size_t i = period, run = 0; i <= calls; i++) {
            if (i < calls && order[i] == order[i - period]) {
                run++;
                continue;
            }
            bool whole =
                !builder->anatomy->training || calls_before_wgrad(builder, i - period, i) < period;
            if (run >= period && run + period > best.calls && whole)
                best = (struct repetition){i, period, run + period};
            run = 0;
        }
    return best;
}

/* A step of training begins with its forward calls: behind a filter gradient and before the most
 * calls that are none. */
static size_t find_begin(const struct builder *builder, const struct repetition *found)
{
    const size_t from = found->end - 2 * found->period;
    size_t begin = from, most = 0;
    for (size_t i = from; i < from + found->period; i++) {
        size_t before = i > from ? i - 1 : i + found->period - 1;
        size_t length = calls_before_wgrad(builder, i, found->end);
        if (is_wgrad(builder, before) && length > most) {
            most = length;
            begin = i;
        }
    }
    return begin + 2 * found->period <= found->end ? begin + found->period : begin;
}

/* Whether all calls can be one step: in a training, nothing behind the first filter gradient looks
 * like the forward calls of another step. */
static bool is_one_step(const struct builder *builder, size_t calls)
{
    const size_t forward = calls_before_wgrad(builder, 0, calls);
    for (size_t i = forward; i < calls && builder->anatomy->training; i++)
        if (2 * calls_before_wgrad(builder, i, calls) > forward)
            return false;
    return true;
}

static void find_step(struct builder *builder, size_t calls)
{
    struct cs_anatomy *anatomy = builder->anatomy;
    anatomy->training = calls_before_wgrad(builder, 0, calls) < calls;
    const struct repetition found = find_repetition(builder, calls);
    anatomy->covered = found.calls;
    if (2 * found.calls >= calls && found.calls > 0) {
        anatomy->calls = found.period;
        anatomy->first = anatomy->training ? find_begin(builder, &found) : found.end - found.calls;
    } else if (is_one_step(builder, calls)) {
        anatomy->calls = anatomy->covered = calls;
    }
}

static bool same_layer(const struct cs_anatomy_site *a, const struct cs_anatomy_site *b)
{
    return memcmp(a->x, b->x, sizeof a->x) == 0 && memcmp(a->w, b->w, sizeof a->w) == 0 &&
           memcmp(a->y, b->y, sizeof a->y) == 0 &&
           memcmp(a->window, b->window, sizeof a->window) == 0;
}

static struct cs_anatomy_layer *layer_of(struct builder *builder, size_t site)
{
    struct cs_anatomy *anatomy = builder->anatomy;
    for (size_t i = 0; i < anatomy->layers && builder->layer_of[site] == NOWHERE; i++)
        if (same_layer(&builder->site[site], &builder->site[anatomy->layer[i].site]))
            builder->layer_of[site] = (int64_t)i;
    if (builder->layer_of[site] == NOWHERE) {
        builder->layer_of[site] = (int64_t)anatomy->layers;
        anatomy->layer[anatomy->layers++] = (struct cs_anatomy_layer){.site = site};
    }
    return &anatomy->layer[builder->layer_of[site]];
}

static void find_layers(struct builder *builder)
{
    const struct cs_anatomy *anatomy = builder->anatomy;
    for (size_t i = anatomy->first; i < anatomy->first + anatomy->calls; i++) {
        const struct cs_anatomy_site *site = site_at(builder, i);
        if (!site)
            continue;
        struct cs_anatomy_layer *layer = layer_of(builder, (size_t)builder->order[i]);
        int64_t calls = ++layer->calls[site->pass];
        layer->layers = larger(layer->layers, calls);
        layer->required = larger(layer->required, site->required);
        layer->reported = larger(layer->reported, site->reported);
    }
}

static int64_t elements(struct builder *builder, const int64_t dims[5], int from)
{
    int64_t product = 1;
    for (int i = from; i < 5; i++)
        builder->broken = builder->broken || !cs_mul(product, dims[i], &product);
    return product;
}

/* An output element takes a product and a sum for each filter element that it sees. */
static int64_t flops_of(struct builder *builder, const struct cs_anatomy_site *site)
{
    int64_t flops = 0;
    int64_t seen = elements(builder, site->w, 1), outputs = elements(builder, site->y, 0);
    builder->broken = builder->broken || !cs_mul(2, outputs, &outputs);
    grow(builder, &flops, outputs, seen);
    return flops;
}

/* Whether outputs of the layer are held: only if it has a backward call. */
static bool keeps(const struct cs_anatomy_layer *layer)
{
    return layer->calls[CS_PASS_DGRAD] + layer->calls[CS_PASS_WGRAD] > 0;
}

static void weigh_layer(struct builder *builder, struct cs_anatomy_layer *layer)
{
    const struct cs_anatomy_site *site = &builder->site[layer->site];
    grow(builder, &layer->filters, layer->layers, site->w_bytes);
    grow(builder, &layer->gradients, layer->calls[CS_PASS_WGRAD], site->w_bytes);
    if (keeps(layer))
        grow(builder, &layer->outputs, layer->calls[CS_PASS_FORWARD], site->y_bytes);
    grow(builder, &layer->inputs_kept, layer->calls[CS_PASS_WGRAD], site->x_bytes);
    grow(builder, &layer->flops, layer->calls[CS_PASS_FORWARD], flops_of(builder, site));
}

static void weigh(struct builder *builder)
{
    struct cs_anatomy *anatomy = builder->anatomy;
    struct cs_anatomy_layer *total = &anatomy->total;
    for (size_t i = 0; i < anatomy->layers; i++) {
        struct cs_anatomy_layer *layer = &anatomy->layer[i];
        weigh_layer(builder, layer);
        for (int pass = 0; pass < CS_PASSES; pass++)
            grow(builder, &total->calls[pass], 1, layer->calls[pass]);
        grow(builder, &total->layers, 1, layer->layers);
        grow(builder, &total->filters, 1, layer->filters);
        grow(builder, &total->gradients, 1, layer->gradients);
        grow(builder, &total->outputs, 1, layer->outputs);
        grow(builder, &total->inputs_kept, 1, layer->inputs_kept);
        grow(builder, &total->flops, 1, layer->flops);
        total->required = larger(total->required, layer->required);
        total->reported = larger(total->reported, layer->reported);
    }
}

/* Bytes that a call reads or makes and that are held neither before nor after. */
static int64_t passing(struct builder *builder, const struct cs_anatomy_layer *layer,
                       const struct cs_anatomy_site *site)
{
    int64_t bytes = 0;
    if (site->pass == CS_PASS_FORWARD && keeps(layer))
        return 0;
    grow(builder, &bytes, 1, site->y_bytes);
    if (site->pass != CS_PASS_WGRAD)
        grow(builder, &bytes, 1, site->x_bytes);
    return bytes;
}

/* Adds the result that remains after a call (forward: its output; wgrad: the filter's gradient): it
 * is held while the call runs, too. */
static void begin_call(struct builder *builder, struct cs_anatomy_layer *layer,
                       const struct cs_anatomy_site *site)
{
    if (site->pass == CS_PASS_FORWARD && keeps(layer)) {
        layer->held++;
        grow(builder, &builder->held.outputs, 1, site->y_bytes);
    } else if (site->pass == CS_PASS_WGRAD) {
        grow(builder, &builder->held.gradients, 1, site->w_bytes);
    }
}

/* An output is let go after the backward call of its layer: that of the filter if there is one. */
static void end_call(struct builder *builder, struct cs_anatomy_layer *layer,
                     const struct cs_anatomy_site *site)
{
    enum cs_pass last = layer->calls[CS_PASS_WGRAD] > 0 ? CS_PASS_WGRAD : CS_PASS_DGRAD;
    if (site->pass == last && layer->held > 0) {
        layer->held--;
        grow(builder, &builder->held.outputs, -1, builder->site[layer->site].y_bytes);
    }
}

/* The sum; replaces the peak if it is larger. */
static int64_t weigh_moment(struct builder *builder, struct cs_anatomy_held held, int64_t workspace,
                            struct cs_anatomy_held *peak, int64_t *peak_bytes)
{
    int64_t bytes = held.filters;
    held.workspace = workspace;
    grow(builder, &bytes, 1, held.gradients);
    grow(builder, &bytes, 1, held.outputs);
    grow(builder, &bytes, 1, held.call);
    grow(builder, &bytes, 1, held.workspace);
    if (bytes > *peak_bytes) {
        *peak = held;
        *peak_bytes = bytes;
    }
    return bytes;
}

static void add_moment(struct builder *builder, size_t index)
{
    struct cs_anatomy *anatomy = builder->anatomy;
    const struct cs_anatomy_site *site = &builder->site[index];
    struct cs_anatomy_layer *layer = layer_of(builder, index);
    begin_call(builder, layer, site);
    struct cs_anatomy_held held = builder->held;
    held.call = passing(builder, layer, site);
    int64_t before =
        weigh_moment(builder, held, site->required, &anatomy->held_before, &anatomy->peak_before);
    int64_t after =
        weigh_moment(builder, held, site->reported, &anatomy->held_after, &anatomy->peak_after);
    anatomy->moment[anatomy->moments++] = (struct cs_anatomy_moment){index, before, after};
    end_call(builder, layer, site);
}

static void run_step(struct builder *builder)
{
    struct cs_anatomy *anatomy = builder->anatomy;
    builder->held.filters = anatomy->total.filters;
    for (size_t i = anatomy->first; i < anatomy->first + anatomy->calls; i++)
        if (site_at(builder, i))
            add_moment(builder, (size_t)builder->order[i]);
}

bool cs_anatomy(const struct cs_anatomy_site *sites, size_t count, const int64_t *order,
                size_t calls, struct cs_anatomy *anatomy_p)
{
    struct cs_anatomy anatomy = {.layer = calloc(count + 1, sizeof *anatomy.layer),
                                 .moment = calloc(calls + 1, sizeof *anatomy.moment)};
    struct builder builder = {.site = sites,
                              .sites = count,
                              .order = order,
                              .anatomy = &anatomy,
                              .layer_of = calloc(count + 1, sizeof *builder.layer_of)};
    builder.broken = !anatomy.layer || !anatomy.moment || !builder.layer_of;
    for (size_t i = 0; i < count && !builder.broken; i++)
        builder.layer_of[i] = NOWHERE;
    if (!builder.broken && calls > 0) {
        find_step(&builder, calls);
        find_layers(&builder);
        weigh(&builder);
        run_step(&builder);
    }
    free(builder.layer_of);
    if (builder.broken)
        cs_anatomy_fini(&anatomy);
    else
        *anatomy_p = anatomy;
    return !builder.broken;
}

void cs_anatomy_fini(struct cs_anatomy *anatomy)
{
    free(anatomy->layer);
    free(anatomy->moment);
}

/* Most bytes an operation first; of equals the larger, then the earlier. */
static int compare(const void *left, const void *right)
{
    const struct cs_anatomy_checkpoint *a = left, *b = right;
    double rate_a = (double)a->saved / (double)a->flops,
           rate_b = (double)b->saved / (double)b->flops;
    if (rate_a != rate_b)
        return rate_a > rate_b ? -1 : 1;
    if (a->saved != b->saved)
        return a->saved > b->saved ? -1 : 1;
    return (a->layer > b->layer) - (a->layer < b->layer);
}

size_t cs_anatomy_checkpoints(const struct cs_anatomy *anatomy, struct cs_anatomy_checkpoint *list)
{
    size_t count = 0;
    int64_t bytes = 0, flops = 0;
    for (size_t i = 0; i < anatomy->layers; i++) {
        const struct cs_anatomy_layer *layer = &anatomy->layer[i];
        if (keeps(layer) && layer->outputs > 0 && layer->flops > 0)
            list[count++] = (struct cs_anatomy_checkpoint){
                .layer = i, .saved = layer->outputs, .flops = layer->flops};
    }
    qsort(list, count, sizeof *list, compare);
    for (size_t i = 0; i < count; i++) {
        list[i].running = bytes += list[i].saved; /* at most anatomy->total, which was checked */
        list[i].running_flops = flops += list[i].flops;
    }
    return count;
}
