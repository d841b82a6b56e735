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

/* A convolution that can be decided on. */
struct decider {
    const struct cs_called *called;
    struct cs_chosen_engine *chosen; /* NULL: its plan was not found, so it stays untiled */
    struct cs_vendor vendor;         /* of it */
    struct cs_times untiled;         /* of a call */
};

struct deciders {
    struct cs_frontier *frontier;
    struct decider *decider;         /* of each item of the frontier */
    const struct cs_profile *device; /* NULL: unknown, then no convolution is tiled */
    struct cs_rules rules;           /* one, whose `free` is set for each decision */
    struct cs_settings settings;
};

/* The plan that the program took, or NULL. */
static struct cs_chosen_engine *find_plan(struct cs_engine_list *engines,
                                          const struct cs_called *called)
{
    struct cs_chosen_engine *chosen = NULL;
    struct cs_ask_offer offer;
    const struct cs_layer *layer = called->layer;
    if (layer && layer->recorded.engine >= 0)
        (void)cs_engine_list_find(engines, &layer->problem, layer->recorded.engine,
                                  layer->recorded.required, &offer, &chosen);
    return chosen;
}

static void prepare_decider(struct deciders *deciders, struct decider *decider,
                            struct cs_engine_list *engines, const struct cs_called *called)
{
    const double seconds = (double)called->untiled_ns * NANO;
    *decider = (struct decider){
        .called = called, .chosen = find_plan(engines, called), .untiled = {seconds, seconds}};
    if (!decider->chosen)
        return;
    decider->vendor = cs_engine_chosen_vendor(decider->chosen);
    if (decider->vendor.profile)
        deciders->device = decider->vendor.profile(decider->vendor.ctx);
    if (!deciders->device)
        return;
    const struct cs_cost cost =
        cs_cost_untiled(&called->layer->problem, called->required, deciders->device);
    decider->untiled = cs_cost_times(&cost);
}

/* The decision under a rule with this value of `free`, in bytes. */
static struct cs_decision decide_with(struct deciders *deciders, const struct decider *decider,
                                      int64_t free)
{
    const struct cs_decide_call call = {.problem = &decider->called->layer->problem,
                                        .required = decider->called->required,
                                        .engine = decider->called->layer->recorded.engine};
    /* The rule states the free bytes, so the numbers of the level have no effect. Without a level,
     * the decision would ignore the measured constants that a run uses (by_rules.h). */
    const struct cs_peak_level level = {0, 0};
    deciders->rules.rule[0].free = free;
    return cs_decide_by_rules(&deciders->settings, &call, &decider->vendor, &level);
}

/* The predicted time of a decision to tile. False if a tile's plan is not built a second time. */
static bool time_tiles(const struct deciders *deciders, const struct decider *decider,
                       const struct cs_decision *decision, struct cs_times *times)
{
    struct cs_plan plan;
    if (cs_plan_cut(&decider->called->layer->problem, &decision->tiling, &plan) != CS_OK ||
        !cs_plan_build_shapes(&plan, &decider->vendor))
        return false;
    const struct cs_cost cost = cs_cost_of(&plan, deciders->device);
    *times = cs_cost_times(&cost);
    return true;
}

/* Rounds down to whole nanoseconds, as a summary does. */
static double whole_nanoseconds(double seconds)
{
    return floor(seconds / NANO) * NANO;
}

/* Adds one convolution, run as decided, to the sums of a way. */
static void add_calls(struct deciders *deciders, const struct decider *decider, struct cs_way *way)
{
    const struct cs_called *called = decider->called;
    struct cs_decision decision = cs_decide_leave(CS_REASON_RULE, called->required);
    struct cs_times times = decider->untiled;
    if (way->free != CS_UNTILED && decider->chosen && deciders->device)
        decision = decide_with(deciders, decider, way->free);
    if (cs_decide_tiles(&decision) && time_tiles(deciders, decider, &decision, &times)) {
        way->tiled += called->calls;
        way->launches += called->calls * (decision.tiles - 1);
    } else {
        decision.reported = called->required;
    }
    way->scratch = cs_max(way->scratch, decision.reported);
    way->peak = cs_max(way->peak, cs_called_peak(called, decision.reported));
    way->times.least += (double)called->calls * whole_nanoseconds(times.least);
    way->times.most += (double)called->calls * whole_nanoseconds(times.most);
}

/* All convolutions of a shape under one value of `free`. */
static struct cs_way way_of(struct deciders *deciders, size_t shape, int64_t free)
{
    const struct cs_frontier *frontier = deciders->frontier;
    struct cs_way way = {.free = free};
    for (size_t i = 0; i < frontier->items; i++)
        if (frontier->item[i].shape == shape && frontier->item[i].layer)
            add_calls(deciders, &deciders->decider[i], &way);
    return way;
}

/* Adds the way for a target peak, unless the shape has it. Its `free` is the target less the bytes
 * that the shape's calls hold. */
static void add_target(struct deciders *deciders, size_t index, int64_t target)
{
    struct cs_tuned_shape *shape = &deciders->frontier->shape[index];
    int64_t free = cs_max(target - shape->held, 0);
    free = cs_min(free, shape->required - 1) / GRAIN * GRAIN;
    for (int i = 0; i < shape->ways; i++)
        if (shape->way[i].free == free)
            return;
    if (shape->ways < CS_MOST_WAYS)
        shape->way[shape->ways++] = way_of(deciders, index, free);
}

static void list_ways(struct deciders *deciders, size_t index, const int64_t *targets, size_t count)
{
    const struct cs_frontier *frontier = deciders->frontier;
    struct cs_tuned_shape *shape = &frontier->shape[index];
    shape->way[shape->ways++] = way_of(deciders, index, CS_UNTILED);
    if (shape->required <= CS_LEFT_ALONE)
        return;
    for (size_t i = 0; i < count; i++)
        add_target(deciders, index, targets[i]);
    for (int i = 0; i <= TARGETS; i++)
        add_target(deciders, index,
                   frontier->level + (frontier->peak - frontier->level) / TARGETS * i);
}

static void show_progress(size_t done, size_t of)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, done == of ? "\r\033[K" : "\r%zu of %zu convolutions", done, of);
}

/* The options of the ini file, and one rule that matches all convolutions. */
static void set_options(struct deciders *deciders)
{
    static struct cs_config config; /* too large for the stack */
    cs_config_load_items(&config, CS_TUNED_OPTIONS, cs_policy_names, NULL, NULL);
    deciders->rules.count = 1;
    deciders->rules.rule[0].given = 1u << CS_RULE_free;
    deciders->settings = (struct cs_settings){.rules = &deciders->rules,
                                              .program = "",
                                              .policy = cs_policy_find(config.policy.text),
                                              .limits = cs_limits_of(&config, &deciders->rules),
                                              .most = INT64_MAX};
}

/* Seconds for each byte, by the default of option price. */
static double price_of(const struct cs_profile *device)
{
    static struct cs_config config; /* too large for the stack */
    cs_config_load_items(&config, "", cs_policy_names, NULL, NULL);
    return device ? (double)config.price / 1000 / cs_cost_bandwidth(device) : 0;
}

static bool decide_all(struct deciders *deciders, struct cs_engine_list *engines,
                       const int64_t *targets, size_t count)
{
    struct cs_frontier *frontier = deciders->frontier;
    deciders->decider = calloc(frontier->items + 1, sizeof *deciders->decider);
    if (!deciders->decider)
        return false;
    for (size_t i = 0; i < frontier->items; i++)
        prepare_decider(deciders, &deciders->decider[i], engines, &frontier->item[i]);
    frontier->price = price_of(deciders->device);
    for (size_t i = 0; i < frontier->shapes; i++) {
        list_ways(deciders, i, targets, count);
        show_progress(i + 1, frontier->shapes);
    }
    return cs_frontier_sweep(frontier);
}

bool cs_decide_ways(struct cs_frontier *frontier, const char *profile, bool cublas,
                    const int64_t *targets, size_t count)
{
    static struct deciders deciders; /* too large for the stack */
    struct cs_engine_list *engines;
    char error[ERROR_BYTES];
    if (!cs_engine_list_create(profile, cublas, &engines, error, sizeof error)) {
        cs_cli_complain("tune: %s", error);
        return false;
    }
    deciders.frontier = frontier;
    set_options(&deciders);
    bool good = decide_all(&deciders, engines, targets, count);
    if (!good)
        cs_cli_complain("tune: out of memory");
    for (size_t i = 0; deciders.decider && i < frontier->items; i++)
        cs_engine_chosen_destroy(deciders.decider[i].chosen);
    free(deciders.decider);
    cs_engine_list_destroy(engines);
    return good;
}
