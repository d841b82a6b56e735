/* Matches the timeline of a run with its summary, and writes keys of rules.def from the problem of
 * a site (docs/summary.md). */
#include "base/checked.h"
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/simulate/simulation.h"
#include "cli/tune/tune.h"
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lines of a rule --- */

enum {
    BATCH,
    CHANNELS,
    DEPTH,
    HEIGHT,
    WIDTH,
    EXTENTS
};

struct writer {
    char *text;
    size_t size, length;
};

static void put(struct writer *to, const char *key, const char *value)
{
    int length =
        *value ? snprintf(to->text + to->length, to->size - to->length, "%s = %s\n", key, value)
               : 0;
    if (length > 0 && (size_t)length < to->size - to->length)
        to->length += (size_t)length;
    to->text[to->length] = '\0';
}

static const char *word(const cJSON *problem, const char *name)
{
    const char *text = cs_json_text(problem, name);
    return text ? text : "";
}

static int64_t extent(const cJSON *problem, const char *tensor, int at)
{
    const cJSON *of = cJSON_GetObjectItemCaseSensitive(problem, tensor),
                *dims = cJSON_GetObjectItemCaseSensitive(of, "dims"),
                *item = cJSON_GetArrayItem(dims, at);
    return cs_json_whole(item, 0);
}

static void put_number(struct writer *to, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(to, key, value > 0 ? text : "");
}

/* In rules, layout nhwc means channels last with any number of dimensions. */
static const char *layout_of(const char *layout)
{
    size_t length = strlen(layout);
    if (length == 0 || strcmp(layout, "strided") == 0)
        return layout;
    return layout[length - 1] == 'c' ? "nhwc" : "nchw";
}

void cs_rule_keys(const struct cJSON *site, char *text, size_t size)
{
    const cJSON *problem = cJSON_GetObjectItemCaseSensitive(site, "problem"),
                *dimensions = cJSON_GetObjectItemCaseSensitive(problem, "spatial"),
                *groups = cJSON_GetObjectItemCaseSensitive(problem, "groups");
    const int64_t spatial = cs_json_whole(dimensions, 0);
    const int first = spatial > 0 && spatial <= EXTENTS - DEPTH ? EXTENTS - (int)spatial : EXTENTS;
    const char *direction = word(problem, "direction");
    static const char *const axes[] = {[DEPTH] = "d", [HEIGHT] = "h", [WIDTH] = "w"};
    struct writer to = {.text = text, .size = size};
    char kernel[64] = "";
    *text = '\0';
    put(&to, "direction", strcmp(direction, "forward") == 0 ? "fwd" : direction);
    put(&to, "dtype", word(problem, "dtype"));
    put(&to, "layout", layout_of(word(problem, "layout")));
    for (int at = first; at < EXTENTS; at++) {
        size_t length = strlen(kernel);
        snprintf(kernel + length, sizeof kernel - length, "%s%lld", length > 0 ? "x" : "",
                 (long long)extent(problem, "w", at));
    }
    put(&to, "kernel", kernel);
    put_number(&to, "n", extent(problem, "x", BATCH));
    put_number(&to, "c", extent(problem, "x", CHANNELS));
    put_number(&to, "k", extent(problem, "y", CHANNELS));
    for (int at = first; at < EXTENTS; at++)
        put_number(&to, axes[at], extent(problem, "x", at));
    put_number(&to, "groups", cs_json_whole(groups, 0));
}

/* --- the list --- */

enum {
    GRAIN = 512, /* bytes, of the allocators of frameworks */
    POOL = 2 << 20
};

static int64_t round_up(int64_t bytes, int64_t grain)
{
    return (bytes + grain - 1) / grain * grain;
}

int64_t cs_called_peak(const struct cs_called_list *list, const struct cs_called *called,
                       int64_t workspace)
{
    return called->held + (called->own ? round_up(workspace, list->grain) : 0);
}

/* --- shapes --- */

/* The shape of a site, a new one if it is the first. NULL: memory is short. */
static struct cs_called_shape *take_shape(struct cs_called_list *list, const cJSON *site)
{
    struct cs_called_shape new = {.calls = 0};
    cs_rule_keys(site, new.keys, sizeof new.keys);
    for (size_t i = 0; i < list->shapes; i++)
        if (strcmp(list->shape[i].keys, new.keys) == 0)
            return &list->shape[i];
    struct cs_called_shape *shape = cs_array_add(&list->shape, &list->shapes, sizeof *shape);
    if (!shape)
        return NULL;
    const cJSON *problem = cJSON_GetObjectItemCaseSensitive(site, "problem");
    const char *text = cs_json_text(problem, "text"), *name = cs_json_text(site, "name");
    snprintf(new.text, sizeof new.text, "%s", text ? text : "");
    snprintf(new.line, sizeof new.line, "%s", name ? name : "");
    *shape = new;
    return shape;
}

static bool add_sites(struct cs_called_list *list, const cJSON *sites)
{
    const cJSON *site;
    list->item = calloc((size_t)cJSON_GetArraySize(sites) + 1, sizeof *list->item);
    cJSON_ArrayForEach(site, sites)
    {
        struct cs_called_shape *shape = list->item ? take_shape(list, site) : NULL;
        if (!shape)
            return false;
        struct cs_called *called = &list->item[list->items];
        *called = (struct cs_called){.calls = cs_timeline_number(site, "calls"),
                                     .required = cs_timeline_number(site, "required"),
                                     .untiled_ns = cs_timeline_number(site, "untiled_ns"),
                                     .shape = (size_t)(shape - list->shape)};
        shape->calls += called->calls;
        if (called->calls > 0)
            shape->required = cs_max(shape->required, called->required);
        list->items++;
    }
    return true;
}

/* --- memory --- */

/* A block that is much larger than the workspace in it belongs to the program, and keeps its size
 * if the workspace becomes smaller. */
static void keep_pools(struct cs_timeline *timeline, int64_t grain)
{
    for (size_t i = 0; i < timeline->blocks; i++) {
        struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0 && block->bytes - round_up(block->workspace, grain) >= POOL)
            block->workspace = 0;
    }
}

static int64_t most_of(const int64_t *rest, size_t from, size_t until)
{
    int64_t found = 0;
    for (size_t i = from; i < until; i++)
        found = cs_max(found, rest[i]);
    return found;
}

/* The bytes held around each block of workspace. The caller frees them. */
static int64_t *around_blocks(const struct cs_timeline *timeline, const int64_t *rest,
                              int64_t grain)
{
    int64_t *around = calloc(timeline->blocks + 1, sizeof *around);
    for (size_t i = 0; around && i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0)
            around[i] = most_of(rest, block->from, block->until) + block->bytes -
                        round_up(block->workspace, grain);
    }
    return around;
}

static void add_call(struct cs_called_list *list, const struct cs_timeline *timeline,
                     const struct cs_timeline_call *call, const int64_t *rest,
                     const int64_t *around)
{
    if (call->site < 0 || (size_t)call->site >= list->items)
        return;
    struct cs_called *called = &list->item[call->site];
    struct cs_called_shape *shape = &list->shape[called->shape];
    const struct cs_timeline_block *block = call->block >= 0 ? &timeline->block[call->block] : NULL;
    bool own = block && block->workspace > 0;
    called->own = called->own || own;
    called->held = cs_max(called->held, own ? around[call->block] : rest[call->moment]);
    shape->held = cs_max(shape->held, called->held);
    if (own && !*shape->line)
        (void)cs_timeline_line(timeline, block->stack, shape->line, sizeof shape->line);
}

static bool add_calls(struct cs_called_list *list, struct cs_timeline *timeline)
{
    list->grain = GRAIN;
    keep_pools(timeline, list->grain);
    int64_t *rest = cs_timeline_rest(timeline),
            *around = rest ? around_blocks(timeline, rest, list->grain) : NULL;
    for (size_t i = 0; around && i < timeline->calls && timeline->moments > 0; i++)
        add_call(list, timeline, &timeline->call[i], rest, around);
    if (around && timeline->moments > 0) {
        list->level = most_of(rest, 0, timeline->moments);
        list->peak = timeline->live[cs_timeline_peak(timeline)];
    }
    bool good = around != NULL;
    free(rest);
    free(around);
    return good;
}

/* --- the run --- */

static void note(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("tune: %s", line);
}

/* The layers have the numbers of their sites, from 1. Sites without calls have none. */
static bool read_layers(const struct cs_simulated_run *run,
                        const struct cs_simulated_result *result, struct cs_called_list *list)
{
    static const struct cs_layer_rules rules = {.direction = NULL};
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/summary.%ld.json", run->folder, (long)result->pid);
    if (!cs_layers_summary(&list->layers, path, &rules, note, NULL))
        return false;
    for (size_t i = 0; i < list->layers.count; i++) {
        const struct cs_layer *layer = &list->layers.layer[i];
        if (layer->line >= 1 && (size_t)layer->line <= list->items)
            list->item[layer->line - 1].layer = layer;
    }
    return true;
}

bool cs_called_list(struct cs_timeline *timeline, const struct cJSON *summary,
                    struct cs_called_list *list)
{
    *list = (struct cs_called_list){.items = 0};
    if (add_sites(list, cJSON_GetObjectItemCaseSensitive(summary, "sites")) &&
        add_calls(list, timeline))
        return true;
    cs_called_fini(list);
    return false;
}

bool cs_called_read(const struct cs_simulated_run *run, const struct cs_simulated_result *result,
                    struct cs_called_list *list)
{
    struct cs_timeline timeline;
    if (!cs_timeline_read(run, result, &timeline))
        return false;
    if (result->allocated >= 0 && !timeline.of_framework) {
        cs_cli_complain("tune: %s allocates its memory as one block, so the memory held at a "
                        "convolution is unknown. Run the program without a file.",
                        result->framework);
        cs_timeline_fini(&timeline);
        return false;
    }
    if (!timeline.matched)
        cs_cli_complain("tune: some convolutions bypass convshim. They stay untiled. To find out "
                        "why: convshim doctor -- COMMAND");
    bool listed = cs_called_list(&timeline, result->summary, list);
    if (!listed)
        cs_cli_complain("tune: out of memory");
    cs_timeline_fini(&timeline);
    bool good = listed && read_layers(run, result, list);
    if (listed && !good)
        cs_called_fini(list);
    return good;
}

void cs_called_fini(struct cs_called_list *list)
{
    cs_layers_fini(&list->layers);
    free(list->item);
    free(list->shape);
    *list = (struct cs_called_list){.items = 0};
}
