/* Chooses the way of a call by the room below the program's peak, and runs it. */
#include "flow/ways.h"

#include "base/checked.h"
#include "flow/memory.h"
#include "flow/scoped_limit.h"

/* The ways that a layer keeps (struct cs_settled_layer). */
enum {
    UNSETTLED, /* the layer was called once */
    KEEPS_PLANNED,
    KEEPS_UNTILED,
    KEEPS_BETWEEN /* and the index of the tiling is added */
};

enum {
    STEP_FROM = 1 << 20 /* limits of further tilings are this times a power of 1.25 */
};

/* A way and the scratch that it takes. */
struct choice {
    enum cs_level_way way;
    int64_t bytes;
    int between;         /* the index of the tiling, if way is CS_WAY_FEWER */
    enum cs_refusal why; /* the reason, if way is CS_WAY_PLANNED */
};

/* A call with its room. */
struct deciding {
    struct cs *cs;
    const struct cs_way_call *call;
    const struct cs_way_maker *maker;
    const struct cs_memory *memory; /* that holds the call's tensors */
    struct cs_level_room room;
    struct cs_level_call asked; /* the call, as the level sees it */
    int64_t size;               /* option memory in bytes; 0: lowest */
    int64_t separate;           /* scratch that may be taken anywhere */
    int64_t bytes;              /* the same, or the workspace with the free memory behind it */
    struct cs_level_extension extension;
};

/* The bytes that the user grants the program. 0: as few as possible. */
static int64_t size_of(const struct deciding *d)
{
    const int64_t memory = d->cs->config.memory;
    return memory == CS_CONFIG_CARD ? d->memory->card(&d->room) : memory;
}

/* The scratch that the allocator may get from the device under option memory. */
static int64_t growth_of(const struct deciding *d)
{
    return d->size - d->room.reserved - d->room.page;
}

/* The most scratch that the options and the program allow. */
static int64_t limit_of(const struct deciding *d)
{
    int64_t limit = cs_scoped_limit();
    return limit > 0 ? cs_min(d->call->most, limit) : d->call->most;
}

/* The bytes that the program may have more. Its allocated bytes stay below the most that it has
 * had, or below the size that the user grants. */
static int64_t room_of(const struct deciding *d)
{
    return cs_max(d->room.high, d->size) - d->room.allocated;
}

/* The scratch that may be taken: the allocator has a free block for it, or may grow. */
static int64_t separate_of(const struct deciding *d)
{
    return cs_min(cs_min(room_of(d), cs_max(d->room.block, growth_of(d))), limit_of(d));
}

/* The workspace with the free memory behind it, of which the program would have had a part anyway.
 * 0: none. */
static int64_t extended_of(struct deciding *d)
{
    struct cs_level_extension *extension = &d->extension;
    if (!d->memory->extend || !d->memory->extend(&d->room, &d->asked, extension))
        return 0;
    int64_t more = cs_min(room_of(d), extension->after);
    return more < extension->least ? 0 : cs_min(extension->block + more, limit_of(d));
}

/* Reads the scratch that may be taken. Searches for more only if the call needs it. */
static void read_room(struct deciding *d)
{
    d->size = size_of(d);
    d->separate = d->bytes = separate_of(d);
    if (cs_level_rounded(d->call->required) > d->separate)
        cs_raise(&d->bytes, extended_of(d));
}

/* The reason why `bytes` do not fit. */
static enum cs_refusal lack_of(const struct deciding *d, int64_t bytes)
{
    if (bytes > limit_of(d))
        return CS_REFUSAL_LIMIT;
    return room_of(d) < bytes ? CS_REFUSAL_PEAK : CS_REFUSAL_BLOCK;
}

static struct cs_rewrite *between_of(const struct deciding *d, int index)
{
    return atomic_load_explicit(&d->call->planned->between[index].rewrite, memory_order_acquire);
}

/* The tiling with the fewest tiles that fits. -1: none. */
static int fewest_tiles(const struct deciding *d)
{
    int best = -1;
    for (int i = 0; i < CS_REWRITE_BETWEEN; i++) {
        const struct cs_rewrite *tiles = between_of(d, i);
        if (tiles && cs_level_rounded(tiles->plan.workspace) <= d->bytes &&
            (best < 0 || tiles->plan.tiles < between_of(d, best)->plan.tiles))
            best = i;
    }
    return best;
}

/* The largest limit up to `bytes` in steps of 1.25. */
static int64_t step_below(int64_t bytes)
{
    int64_t step = STEP_FROM;
    while (step + step / 4 <= bytes)
        step += step / 4;
    return step;
}

/* True if tiles were built already for as much room. *slot_p: where to put others; < 0: no place.
 */
static bool is_built(const struct deciding *d, int64_t limit, int *slot_p)
{
    *slot_p = -1;
    for (int i = CS_REWRITE_BETWEEN - 1; i >= 0; i--) {
        int64_t built = atomic_load(&d->call->planned->between[i].limit);
        if (built == 0)
            *slot_p = i;
        else if (built >= limit && built <= d->bytes)
            return true;
    }
    return false;
}

/* Builds the tiling for the room, if none was built for it and it may have fewer tiles than those
 * that were. */
static void build_between(const struct deciding *d)
{
    struct cs_rewrite *planned = d->call->planned;
    const int64_t limit = step_below(d->bytes);
    int slot;
    if (!d->maker->build || atomic_load(&planned->calls) < d->maker->patience ||
        limit < d->call->reported + d->call->reported / 4 || is_built(d, limit, &slot) ||
        slot < 0 || atomic_exchange(&planned->building, true))
        return;
    if (!is_built(d, limit, &slot) && slot >= 0) {
        int best = fewest_tiles(d);
        int64_t most = best < 0 ? planned->plan.tiles : between_of(d, best)->plan.tiles;
        struct cs_rewrite *tiles = d->maker->build(d->maker->ctx, d->cs, limit);
        bool useful = tiles && (tiles->plan.tiles < most || most == 0) &&
                      (tiles->keeps_bits || !planned->keeps_bits);
        if (!useful) {
            cs_rewrite_discard(tiles);
            tiles = NULL;
        }
        atomic_store_explicit(&planned->between[slot].rewrite, tiles, memory_order_release);
        atomic_store(&planned->between[slot].limit, limit);
    }
    atomic_store(&planned->building, false);
}

static struct choice planned_choice(enum cs_refusal why)
{
    return (struct choice){.way = CS_WAY_PLANNED, .why = why};
}

static struct choice untiled_choice(const struct deciding *d)
{
    return (struct choice){.way = CS_WAY_UNTILED, .bytes = d->call->required};
}

static struct choice between_choice(const struct deciding *d, int index)
{
    return (struct choice){
        .way = CS_WAY_FEWER, .bytes = between_of(d, index)->plan.workspace, .between = index};
}

/* The fastest way that has room. */
static struct choice choose_fastest(const struct deciding *d)
{
    if (cs_level_rounded(d->call->required) <= d->bytes)
        return untiled_choice(d);
    if (d->bytes > 0)
        build_between(d);
    int between = fewest_tiles(d);
    return between >= 0 ? between_choice(d, between)
                        : planned_choice(lack_of(d, d->call->required));
}

/* The state of the call's layer, which its filter identifies. A filter's gradient is another tensor
 * in each call, so all layers of its plan count as one. *first_p: it was not called before. NULL:
 * too many layers share the plan. */
static struct cs_settled_layer *layer_of(const struct deciding *d, bool *first_p)
{
    static const char gradient;
    struct cs_rewrite *planned = d->call->planned;
    const void *filter = planned->plan.problem.direction == CS_BACKWARD_FILTER
                             ? &gradient
                             : d->call->call->base.tensor[CS_FILTER];
    *first_p = false;
    for (int i = 0; i < CS_REWRITE_LAYERS; i++) {
        const void *owner = NULL;
        *first_p = atomic_compare_exchange_strong(&planned->layer[i].filter, &owner, filter);
        if (*first_p || owner == filter)
            return &planned->layer[i];
    }
    return NULL;
}

static int settled_on(const struct choice *choice)
{
    switch (choice->way) {
    case CS_WAY_UNTILED:
        return KEEPS_UNTILED;
    case CS_WAY_FEWER:
        return KEEPS_BETWEEN + choice->between;
    default:
        return KEEPS_PLANNED;
    }
}

/* The way on which a layer has settled. */
static struct choice settled_choice(const struct deciding *d, int way)
{
    if (way == KEEPS_PLANNED)
        return planned_choice(CS_REFUSAL_SETTLED);
    struct choice choice =
        way == KEEPS_UNTILED ? untiled_choice(d) : between_choice(d, way - KEEPS_BETWEEN);
    return cs_level_rounded(choice.bytes) <= d->bytes ? choice
                                                      : planned_choice(lack_of(d, choice.bytes));
}

/* The way of a layer whose ways may give other last bits. It settles at its second call, or with
 * repeatable = yes at its first. */
static struct choice choose_settled(const struct deciding *d)
{
    bool first;
    struct cs_settled_layer *layer = layer_of(d, &first);
    if (!layer)
        return planned_choice(CS_REFUSAL_SETTLED);
    int way = atomic_load(&layer->way);
    if (way != UNSETTLED)
        return settled_choice(d, way);
    struct choice choice = choose_fastest(d);
    if ((!first || d->cs->config.repeatable) &&
        !atomic_compare_exchange_strong(&layer->way, &way, settled_on(&choice)))
        return settled_choice(d, way);
    return choice;
}

/* True if the stream is being captured, or if the driver does not report that. */
static bool is_captured(const struct deciding *d)
{
    const struct cs_device *device = d->cs->exec.device;
    struct cs_capture capture = {0, NULL};
    return !device || device->capture(device->ctx, d->call->call->stream, &capture) != 0 ||
           capture.id != 0;
}

static bool run_between(const struct deciding *d, const struct choice *choice, void *scratch,
                        struct cs_outcome *outcome_p)
{
    const struct cs_rewrite *tiles = between_of(d, choice->between);
    struct cs_call call = *d->call->call;
    call.base.workspace = scratch;
    call.provided = choice->bytes;
    d->maker->use(d->maker->ctx, tiles);
    bool ran = cs_exec_try(&d->cs->exec, &tiles->plan, d->call->gpu, &call, outcome_p);
    d->maker->use(d->maker->ctx, d->call->planned);
    return ran;
}

static bool run_untiled(const struct deciding *d, const struct choice *choice, void *scratch,
                        struct cs_outcome *outcome_p)
{
    int status = 0;
    if (!d->maker->run_untiled(d->maker->ctx, d->call->call, scratch, choice->bytes, &status))
        return false;
    *outcome_p = (struct cs_outcome){status == 0 ? CS_RAN_TILES : CS_RAN_NOTHING, status, 1, 1};
    return true;
}

/* Takes the memory of a choice: *memory_p must be returned, *scratch_p is for the launches. */
static enum cs_refusal take(const struct deciding *d, int64_t bytes, void **memory_p,
                            char **scratch_p)
{
    const struct cs_level_extension *extension = &d->extension;
    const bool extends = cs_level_rounded(bytes) > d->separate;
    char *workspace = d->call->call->base.workspace;
    int64_t more =
        extends ? cs_max(cs_level_rounded(bytes) - extension->block, extension->least) : bytes;
    enum cs_refusal refusal =
        d->memory->take(&d->room, d->call->call->stream, more,
                        !extends && cs_level_rounded(bytes) <= growth_of(d), memory_p);
    *scratch_p = extends ? workspace : *memory_p;
    if (refusal != CS_REFUSAL_NONE || !extends || *memory_p == workspace + extension->block)
        return refusal;
    d->memory->give(&d->room, d->call->call->stream, *memory_p);
    return CS_REFUSAL_BLOCK;
}

/* Takes scratch for the chosen way and runs it. Returns CS_REFUSAL_NONE if it was started. */
static enum cs_refusal run_choice(const struct deciding *d, const struct choice *choice,
                                  struct cs_outcome *outcome_p)
{
    void *memory = NULL;
    char *scratch;
    enum cs_refusal refusal = take(d, choice->bytes, &memory, &scratch);
    if (refusal != CS_REFUSAL_NONE)
        return refusal;
    bool ran = choice->way == CS_WAY_UNTILED ? run_untiled(d, choice, scratch, outcome_p)
                                             : run_between(d, choice, scratch, outcome_p);
    d->memory->give(&d->room, d->call->call->stream, memory);
    return ran ? CS_REFUSAL_NONE : CS_REFUSAL_FAILED;
}

/* Reads the room. CS_REFUSAL_NONE, or the reason why the call runs as planned. */
static enum cs_refusal look(struct deciding *d)
{
    const struct cs_call *call = d->call->call;
    const struct cs_problem *problem = &d->call->planned->plan.problem;
    enum cs_refusal refusal = CS_REFUSAL_UNKNOWN;
    d->asked = (struct cs_level_call){.workspace = call->base.workspace,
                                      .output = call->base.tensor[cs_result(problem->direction)],
                                      .provided = call->provided,
                                      .required = d->call->required,
                                      .stream = call->stream};
    for (int i = 0; i < CS_HOST_MEMORIES && refusal == CS_REFUSAL_UNKNOWN; i++) {
        d->memory = d->cs->host->memory[i];
        refusal = d->memory ? d->memory->ask(&d->asked, &d->room) : refusal;
    }
    if (refusal != CS_REFUSAL_NONE || !d->room.first_stream)
        return refusal;
    if (is_captured(d))
        return CS_REFUSAL_CAPTURE;
    return d->memory->stream(&d->room, call->stream) ? CS_REFUSAL_NONE : CS_REFUSAL_STREAMS;
}

bool cs_ways_run(struct cs *cs, const struct cs_way_call *call, const struct cs_way_maker *maker,
                 const struct cs_rewrite **tiles_p, struct cs_outcome *outcome_p)
{
    struct deciding d = {.cs = cs, .call = call, .maker = maker, .room = {.device = -1}};
    struct choice choice = planned_choice(look(&d));
    if (choice.why == CS_REFUSAL_NONE) {
        read_room(&d);
        choice = call->planned->keeps_bits ? choose_fastest(&d) : choose_settled(&d);
    }
    atomic_fetch_add(&call->planned->calls, 1);
    if (choice.way != CS_WAY_PLANNED)
        choice.why = is_captured(&d) ? CS_REFUSAL_CAPTURE : run_choice(&d, &choice, outcome_p);
    const bool ran = choice.why == CS_REFUSAL_NONE;
    const int64_t launches = ran ? outcome_p->launches : call->planned->plan.tiles;
    cs_level_count(&cs_levels, d.room.device, ran ? choice.way : CS_WAY_PLANNED, launches,
                   choice.why);
    *tiles_p = choice.way == CS_WAY_FEWER ? between_of(&d, choice.between) : NULL;
    return ran;
}
