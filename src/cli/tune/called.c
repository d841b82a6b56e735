/* Matches the timeline of a run with its summary: the memory that is held around the calls of each
 * convolution. */
#include "account/account.h"
#include "account/outcome.h"
#include "base/checked.h"
#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/tune/tune.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 512,   /* bytes to which the allocators of frameworks round up */
    POOL = 2 << 20 /* bytes of a block next to a workspace that mark it as the program's */
};

static const double NANO = 1e-9;

static int64_t round_up(int64_t bytes)
{
    return cs_ceil_div(bytes, GRAIN) * GRAIN;
}

int64_t cs_called_peak(const struct cs_called *called, int64_t workspace)
{
    return called->held + (called->own ? round_up(workspace) : 0);
}

/* --- memory --- */

/* Removes the mark as workspace from blocks that are much larger than the workspace in them. Such a
 * block belongs to the program, and keeps its size if the workspace becomes smaller. */
static void keep_pools(struct cs_timeline *timeline)
{
    for (size_t i = 0; i < timeline->blocks; i++) {
        struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0 && block->bytes - round_up(block->workspace) >= POOL)
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

/* Returns, for each block of workspace, the most bytes held while it exists, without the workspace
 * in it. The caller frees the array. NULL: memory is short. */
static int64_t *around_blocks(const struct cs_timeline *timeline, const int64_t *rest)
{
    int64_t *around = calloc(timeline->blocks + 1, sizeof *around);
    for (size_t i = 0; around && i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0)
            around[i] = most_of(rest, block->from, block->until) + block->bytes -
                        round_up(block->workspace);
    }
    return around;
}

/* Adds the memory around a call to its convolution. `rest`: bytes held at each moment, without
 * workspaces. `around`: the most bytes held during each block, without the workspace in it. */
static void add_call(struct cs_frontier *frontier, const struct cs_timeline *timeline,
                     const struct cs_timeline_call *call, const int64_t *rest,
                     const int64_t *around)
{
    if (call->site < 0 || (size_t)call->site >= frontier->items)
        return;
    struct cs_called *called = &frontier->item[call->site];
    const struct cs_timeline_block *block = call->block >= 0 ? &timeline->block[call->block] : NULL;
    bool own = block && block->workspace > 0;
    if (own && called->stack == CS_TIMELINE_NONE)
        called->stack = block->stack;
    called->own = called->own || own;
    called->held = cs_max(called->held, own ? around[call->block] : rest[call->moment]);
}

/* Adds the memory around all calls, and sets `level` and `peak`. False: memory is short. */
static bool add_calls(struct cs_frontier *frontier, struct cs_timeline *timeline)
{
    keep_pools(timeline);
    int64_t *rest = cs_timeline_rest(timeline),
            *around = rest ? around_blocks(timeline, rest) : NULL;
    for (size_t i = 0; around && i < timeline->calls && timeline->moments > 0; i++)
        add_call(frontier, timeline, &timeline->call[i], rest, around);
    if (around && timeline->moments > 0) {
        frontier->level = most_of(rest, 0, timeline->moments);
        frontier->peak = timeline->live[cs_timeline_peak(timeline)];
    }
    bool good = around != NULL;
    free(rest);
    free(around);
    return good;
}

bool cs_called_list(struct cs_timeline *timeline, const struct cJSON *summary,
                    struct cs_frontier *frontier)
{
    const cJSON *sites = cs_json_at(summary, "sites"), *site;
    frontier->item = calloc((size_t)cJSON_GetArraySize(sites) + 1, sizeof *frontier->item);
    if (!frontier->item)
        return false;
    cJSON_ArrayForEach(site, sites)
    {
        const double seconds = (double)cs_json_whole_at(site, "untiled_ns", 0) * NANO;
        frontier->item[frontier->items++] =
            (struct cs_called){.calls = cs_json_whole_at(site, "calls", 0),
                               .required = cs_json_whole_at(site, "required", 0),
                               .stack = CS_TIMELINE_NONE,
                               .untiled = {seconds, seconds}};
    }
    return add_calls(frontier, timeline);
}

/* --- shapes --- */

/* Returns a rule without a name that matches the convolution by its direction, type, layout and
 * extents. */
static struct cs_rule rule_of(const struct cs_subject *subject, int spatial)
{
    struct cs_rule rule = {.given = 1u << CS_RULE_direction | 1u << CS_RULE_dtype |
                                    1u << CS_RULE_layout | 1u << CS_RULE_kernel | 1u << CS_RULE_n |
                                    1u << CS_RULE_c | 1u << CS_RULE_k | 1u << CS_RULE_h |
                                    1u << CS_RULE_w | 1u << CS_RULE_groups,
                           .direction = 1u << subject->direction,
                           .dtype = 1u << subject->dtype,
                           .layout = 1u << subject->layout,
                           .n = {subject->n, subject->n},
                           .c = {subject->c, subject->c},
                           .k = {subject->k, subject->k},
                           .d = {subject->d, subject->d},
                           .h = {subject->h, subject->h},
                           .w = {subject->w, subject->w},
                           .groups = {subject->groups, subject->groups}};
    memcpy(rule.kernel.extent, subject->kernel.extent, sizeof rule.kernel.extent);
    if (spatial == CS_SPATIAL)
        rule.given |= 1u << CS_RULE_d;
    return rule;
}

/* Returns the first shape whose rule matches the problem, or adds one. NULL: memory is short. */
static struct cs_tuned_shape *take_shape(struct cs_frontier *frontier, const struct cs_layer *layer)
{
    const struct cs_problem *problem = &layer->problem;
    const struct cs_subject subject = cs_rule_subject_of(problem, 0, -1, "");
    for (size_t i = 0; i < frontier->shapes; i++)
        if (cs_rule_miss(&frontier->shape[i].rule, &subject) == CS_RULE_KEYS)
            return &frontier->shape[i];
    struct cs_tuned_shape *shape = cs_array_add(&frontier->shape, &frontier->shapes, sizeof *shape);
    if (!shape)
        return NULL;
    char text[CS_PROBLEM_TEXT];
    cs_site_problem_text(problem, text, sizeof text);
    snprintf(shape->text, sizeof shape->text, "%.*s", CS_SHAPE_TEXT - 1, text);
    if (strcmp(layer->name, text) != 0)
        snprintf(shape->line, sizeof shape->line, "%s", layer->name);
    shape->rule = rule_of(&subject, problem->spatial);
    return shape;
}

bool cs_called_shapes(const struct cs_timeline *timeline, struct cs_frontier *frontier)
{
    for (size_t i = 0; i < frontier->items; i++) {
        struct cs_called *called = &frontier->item[i];
        if (!called->layer)
            continue;
        struct cs_tuned_shape *shape = take_shape(frontier, called->layer);
        if (!shape)
            return false;
        called->shape = (size_t)(shape - frontier->shape);
        shape->calls += called->calls;
        shape->required = cs_max(shape->required, called->required);
        shape->held = cs_max(shape->held, called->held);
        if (!*shape->line)
            (void)cs_timeline_line(timeline, called->stack, shape->line, sizeof shape->line);
    }
    return true;
}

/* --- the run --- */

/* Reads the layers of the run's summary into the items. Sites without calls have no layer. False
 * after printing the reason. */
static bool read_layers(const struct cs_sim_run *run, struct cs_frontier *frontier)
{
    static const struct cs_layer_rules rules = {.direction = NULL};
    char path[PATH_MAX + 64], error[CS_LAYERS_ERROR];
    snprintf(path, sizeof path, "%s/summary.%ld.json", run->folder, (long)run->result.pid);
    if (!cs_layers_summary(&frontier->layers, path, &rules, error)) {
        cs_cli_complain("tune: %s", error);
        return false;
    }
    for (size_t i = 0; i < frontier->layers.count; i++) {
        const struct cs_layer *layer = &frontier->layers.layer[i];
        if ((size_t)layer->recorded.site <= frontier->items)
            frontier->item[layer->recorded.site - 1].layer = layer;
    }
    return true;
}

static bool check_memory(bool good)
{
    if (!good)
        cs_cli_complain("tune: out of memory");
    return good;
}

bool cs_called_read(const struct cs_sim_run *run, struct cs_frontier *frontier)
{
    const struct cs_sim_outcome *result = &run->result;
    struct cs_timeline timeline;
    if (!cs_timeline_read(run, &timeline))
        return false;
    bool good = result->allocated < 0 || timeline.of_framework;
    if (!good)
        cs_cli_complain("tune: %s allocates its memory as one block, so the memory held at a "
                        "convolution is unknown. Run the program without a file.",
                        result->framework);
    else if (!timeline.matched)
        cs_cli_complain("tune: some convolutions bypass convshim. They stay untiled. To find out "
                        "why: convshim doctor -- COMMAND");
    good = good && check_memory(cs_called_list(&timeline, result->summary, frontier)) &&
           read_layers(run, frontier) && check_memory(cs_called_shapes(&timeline, frontier));
    cs_timeline_fini(&timeline);
    return good;
}
