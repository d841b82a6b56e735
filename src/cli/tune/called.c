/* Matches the timeline of a run with its summary, and writes keys of rules.def from the problem of
 * a site (docs/summary.md). */
#include "base/checked.h"
#include "base/text.h"
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/simulate/simulation.h"
#include "cli/tune/tune.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
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

static void put_line(struct cs_text *to, const char *key, const char *value)
{
    const int before = to->length;
    if (*value)
        cs_text_put(to, "%s = %s\n", key, value);
    if ((size_t)to->length >= to->size) { /* only whole lines */
        to->length = before;
        to->at[before] = '\0';
    }
}

static const char *word_of(const cJSON *problem, const char *name)
{
    const char *text = cs_json_text(problem, name);
    return text ? text : "";
}

static int64_t extent_of(const cJSON *problem, const char *dims, int at)
{
    return cs_json_whole(cJSON_GetArrayItem(cs_json_at(problem, dims), at), 0);
}

static void put_number(struct cs_text *to, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_line(to, key, value > 0 ? text : "");
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
    static const char *const axes[] = {[DEPTH] = "d", [HEIGHT] = "h", [WIDTH] = "w"};
    const cJSON *problem = cs_json_at(site, "problem");
    const int64_t spatial = cs_json_whole_at(problem, "spatial", 0);
    const int first = spatial > 0 && spatial <= EXTENTS - DEPTH ? EXTENTS - (int)spatial : EXTENTS;
    const char *direction = word_of(problem, "direction");
    struct cs_text to = {.at = text, .size = size};
    char window[64] = "";
    struct cs_text kernel = {.at = window, .size = sizeof window};
    *text = '\0';
    put_line(&to, "direction", strcmp(direction, "forward") == 0 ? "fwd" : direction);
    put_line(&to, "dtype", word_of(problem, "dtype"));
    put_line(&to, "layout", layout_of(word_of(problem, "layout")));
    for (int at = first; at < EXTENTS; at++)
        cs_text_put(&kernel, "%s%" PRId64, at > first ? "x" : "", extent_of(problem, "w.dims", at));
    put_line(&to, "kernel", window);
    put_number(&to, "n", extent_of(problem, "x.dims", BATCH));
    put_number(&to, "c", extent_of(problem, "x.dims", CHANNELS));
    put_number(&to, "k", extent_of(problem, "y.dims", CHANNELS));
    for (int at = first; at < EXTENTS; at++)
        put_number(&to, axes[at], extent_of(problem, "x.dims", at));
    put_number(&to, "groups", cs_json_whole_at(problem, "groups", 0));
}

/* --- the list --- */

enum {
    GRAIN = 512,   /* bytes to which the allocators of frameworks round up */
    POOL = 2 << 20 /* bytes of a block next to a workspace that mark it as the program's */
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
    snprintf(new.text, sizeof new.text, "%s", word_of(site, "problem.text"));
    snprintf(new.line, sizeof new.line, "%s", word_of(site, "name"));
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
        *called = (struct cs_called){.calls = cs_json_whole_at(site, "calls", 0),
                                     .required = cs_json_whole_at(site, "required", 0),
                                     .untiled_ns = cs_json_whole_at(site, "untiled_ns", 0),
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

/* For each block of workspace, the most bytes held while it exists, without the workspace in it.
 * The caller frees the array. */
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

/* `rest`: bytes held at each moment, without workspaces. `around`: the most bytes held during each
 * block, without the workspace in it. */
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

static void put_note(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("tune: %s", line);
}

/* The layers have the numbers of their sites, from 1. Sites without calls have none. */
static bool read_layers(const struct cs_simulated_run *run, struct cs_called_list *list)
{
    static const struct cs_layer_rules rules = {.direction = NULL};
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/summary.%ld.json", run->folder, (long)run->result.pid);
    if (!cs_layers_summary(&list->layers, path, &rules, put_note, NULL))
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
    if (add_sites(list, cs_json_at(summary, "sites")) && add_calls(list, timeline))
        return true;
    cs_called_fini(list);
    return false;
}

bool cs_called_read(const struct cs_simulated_run *run, struct cs_called_list *list)
{
    const struct cs_simulated_result *result = &run->result;
    struct cs_timeline timeline;
    if (!cs_timeline_read(run, &timeline))
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
    bool good = listed && read_layers(run, list);
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
