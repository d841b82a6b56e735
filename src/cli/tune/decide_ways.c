/* Decides on each convolution as the library would with a rule that states `free`. */
#include "cli/tune/tune.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include "cli/layers/plan_layers.h"
#include "config/limits.h"
#include "cudnn/standalone/engine_list.h"
#include "decide/by_rules.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TARGETS = 32,     /* peaks of the sweep */
    GRAIN = 64 << 10, /* bytes to which `free` is rounded, down */
    ERROR_BYTES = 256
};

static const double NANO = 1e-9;

/* The state that the decisions about all convolutions share. */
struct deciding {
    struct cs_frontier *frontier;
    const struct cs_profile *device; /* NULL: unknown, then no convolution is tiled */
    struct cs_rules rules;           /* one, whose `free` is set for each decision */
    struct cs_settings settings;
};

/* Finds the plan that the program took, and takes the GPU's profile and the untiled time from it.
 */
static void find_plan(struct deciding *deciding, struct cs_engine_list *engines,
                      struct cs_called *called)
{
    struct cs_ask_offer offer;
    const struct cs_layer *layer = called->layer;
    if (!layer || layer->recorded.engine < 0)
        return;
    const struct cs_engine_wish wish = {layer->recorded.engine, layer->recorded.required, 0};
    if (cs_engine_list_choose(engines, &layer->problem, wish, &offer, &called->chosen) != CS_OK)
        return;
    const struct cs_vendor vendor = cs_engine_chosen_vendor(called->chosen);
    if (vendor.profile)
        deciding->device = vendor.profile(vendor.ctx);
    if (!deciding->device)
        return;
    const struct cs_cost cost =
        cs_cost_untiled(&layer->problem, called->required, deciding->device);
    called->untiled = cs_cost_times(&cost);
}

/* Returns the decision under a rule with this value of `free`, in bytes. */
static struct cs_decision decide_with(struct deciding *deciding, const struct cs_called *called,
                                      int64_t free, const struct cs_vendor *vendor)
{
    const struct cs_decide_call call = {.problem = &called->layer->problem,
                                        .required = called->required,
                                        .engine = called->layer->recorded.engine};
    /* The rule states the free bytes, so the numbers of the level have no effect. Without a level,
     * the decision would ignore the measured constants that a run uses (by_rules.h). */
    const struct cs_peak_level level = {0, 0};
    deciding->rules.rule[0].free = free;
    return cs_decide_by_rules(&deciding->settings, &call, vendor, &level);
}

/* Decides on a convolution. True if it is tiled, with the decision and the predicted time of its
 * tiles. False: it stays untiled, also if cuDNN does not build a tile's plan a second time. */
static bool decide_tiles(struct deciding *deciding, const struct cs_called *called, int64_t free,
                         struct cs_decision *decision, struct cs_times *times)
{
    struct cs_plan plan;
    if (free == CS_UNTILED || !called->chosen || !deciding->device)
        return false;
    const struct cs_vendor vendor = cs_engine_chosen_vendor(called->chosen);
    *decision = decide_with(deciding, called, free, &vendor);
    if (!cs_decide_tiles(decision) ||
        cs_plan_cut(&called->layer->problem, &decision->tiling, &plan) != CS_OK ||
        !cs_plan_build_shapes(&plan, &vendor))
        return false;
    const struct cs_cost cost = cs_cost_of(&plan, deciding->device);
    *times = cs_cost_times(&cost);
    return true;
}

/* Rounds down to whole nanoseconds, as a summary does. */
static double whole_nanoseconds(double seconds)
{
    return floor(seconds / NANO) * NANO;
}

/* Adds one convolution, run as decided, to the sums of a way. */
static void add_calls(struct deciding *deciding, const struct cs_called *called, struct cs_way *way)
{
    struct cs_decision decision;
    struct cs_times times = called->untiled;
    int64_t scratch = called->required;
    if (decide_tiles(deciding, called, way->free, &decision, &times)) {
        way->tiled += called->calls;
        way->launches += called->calls * (decision.tiles - 1);
        scratch = decision.reported;
    }
    way->scratch = cs_max(way->scratch, scratch);
    way->peak = cs_max(way->peak, cs_called_peak(called, scratch));
    way->times.least += (double)called->calls * whole_nanoseconds(times.least);
    way->times.most += (double)called->calls * whole_nanoseconds(times.most);
}

/* Returns the way of a shape under one value of `free`. */
static struct cs_way way_of(struct deciding *deciding, size_t shape, int64_t free)
{
    const struct cs_frontier *frontier = deciding->frontier;
    struct cs_way way = {.free = free};
    for (size_t i = 0; i < frontier->items; i++)
        if (frontier->item[i].shape == shape && frontier->item[i].layer)
            add_calls(deciding, &frontier->item[i], &way);
    return way;
}

/* Adds the way for a target peak, unless the shape has it. Its `free` is the target less the bytes
 * that the shape's calls hold. */
static void add_target(struct deciding *deciding, size_t index, int64_t target)
{
    struct cs_tuned_shape *shape = &deciding->frontier->shape[index];
    int64_t free = cs_max(target - shape->held, 0);
    free = cs_min(free, shape->required - 1) / GRAIN * GRAIN;
    for (int i = 0; i < shape->ways; i++)
        if (shape->way[i].free == free)
            return;
    if (shape->ways < CS_MOST_WAYS)
        shape->way[shape->ways++] = way_of(deciding, index, free);
}

/* Fills the ways of a shape: untiled, and one for each target peak. */
static void list_ways(struct deciding *deciding, size_t index, const int64_t *targets, size_t count)
{
    const struct cs_frontier *frontier = deciding->frontier;
    struct cs_tuned_shape *shape = &frontier->shape[index];
    shape->way[shape->ways++] = way_of(deciding, index, CS_UNTILED);
    if (shape->required <= CS_LEFT_ALONE)
        return;
    for (size_t i = 0; i < count; i++)
        add_target(deciding, index, targets[i]);
    for (int i = 0; i <= TARGETS; i++)
        add_target(deciding, index,
                   frontier->level + (frontier->peak - frontier->level) / TARGETS * i);
}

static void show_progress(size_t done, size_t of)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, done == of ? "\r\033[K" : "\r%zu of %zu convolutions", done, of);
}

/* Sets the options that tune writes into its ini file, and one rule without conditions, whose
 * `free` is set for each decision. */
static void set_options(struct deciding *deciding)
{
    static struct cs_config config; /* too large for the stack */
    cs_config_load_items(&config, CS_TUNED_OPTIONS, cs_policy_names, NULL, NULL);
    deciding->rules.count = 1;
    deciding->rules.rule[0].given = 1u << CS_RULE_free;
    deciding->settings = (struct cs_settings){.rules = &deciding->rules,
                                              .program = "",
                                              .policy = cs_policy_find(config.policy.text),
                                              .limits = cs_limits_of(&config, &deciding->rules),
                                              .most = INT64_MAX};
}

/* Returns the seconds that a lower peak is worth for each byte, by the default of option price. 0:
 * the device is unknown. */
static double price_of(const struct cs_profile *device)
{
    static struct cs_config config; /* too large for the stack */
    cs_config_load_items(&config, "", cs_policy_names, NULL, NULL);
    return device ? (double)config.price / 1000 / cs_cost_bandwidth(device) : 0;
}

/* Finds the plans, fills the ways of all shapes, and sweeps the frontier. False: memory is short.
 */
static bool decide_all(struct deciding *deciding, struct cs_engine_list *engines,
                       const int64_t *targets, size_t count)
{
    struct cs_frontier *frontier = deciding->frontier;
    for (size_t i = 0; i < frontier->items; i++)
        find_plan(deciding, engines, &frontier->item[i]);
    frontier->price = price_of(deciding->device);
    for (size_t i = 0; i < frontier->shapes; i++) {
        list_ways(deciding, i, targets, count);
        show_progress(i + 1, frontier->shapes);
    }
    for (size_t i = 0; i < frontier->items; i++) {
        cs_engine_chosen_destroy(frontier->item[i].chosen);
        frontier->item[i].chosen = NULL;
    }
    return cs_frontier_sweep(frontier);
}

bool cs_decide_ways(struct cs_frontier *frontier, const char *profile, bool cublas,
                    const int64_t *targets, size_t count)
{
    static struct deciding deciding; /* too large for the stack */
    struct cs_engine_list *engines;
    char error[ERROR_BYTES];
    if (!cs_engine_list_create(profile, cublas, &engines, error, sizeof error)) {
        cs_cli_complain("tune: %s", error);
        return false;
    }
    deciding.frontier = frontier;
    set_options(&deciding);
    bool good = decide_all(&deciding, engines, targets, count);
    if (!good)
        cs_cli_complain("tune: out of memory");
    cs_engine_list_destroy(engines);
    return good;
}
