/* Runs a plan: binds every tile, forks to the lanes, launches and joins, or falls back. */
#include "exec/exec.h"

#include "base/checked.h"
#include "base/invariant.h"

/* How outputs share memory with other operands. */
enum sharing {
    APART,    /* outputs share no memory with other operands */
    IN_PLACE, /* an addend is overwritten by its own sum */
    MIXED     /* outputs share memory in any other way */
};

static bool has_address(const struct cs_problem *problem, const struct cs_addresses *base, int i)
{
    const struct cs_tensor *tensor = &problem->tensor[i];
    return !tensor->is_virtual && !tensor->by_value && base->tensor[i];
}

static bool ranges_overlap(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + (uintptr_t)b_bytes &&
           (uintptr_t)b < (uintptr_t)a + (uintptr_t)a_bytes;
}

static bool same_elements(const struct cs_tensor *a, const struct cs_tensor *b)
{
    for (int dim = 0; dim < CS_DIMS; dim++)
        if (a->dims[dim] != b->dims[dim] || a->strides[dim] != b->strides[dim])
            return false;
    return a->side == b->side && a->dtype == b->dtype;
}

/* The bytes that a tensor spans along its dimensions with strides below `stride` (in elements). 0
 * if a larger stride is not a multiple of it. */
static int64_t span_below(const struct cs_tensor *tensor, int64_t stride)
{
    struct cs_tensor inner = *tensor;
    int64_t bytes;
    for (int dim = 0; dim < CS_DIMS; dim++) {
        if (tensor->dims[dim] > 1 && tensor->strides[dim] >= stride) {
            if (tensor->strides[dim] % stride != 0)
                return 0;
            inner.dims[dim] = 1;
        }
    }
    return cs_problem_tensor_span(&inner, &bytes) == CS_OK ? bytes : 0;
}

/* True if two views alternate in memory, such as channel slices of one tensor: in every block of
 * `stride` elements each uses its own part. Their ranges overlap, but they share no element. */
static bool alternate_by(const struct cs_tensor *a, const char *at_a, const struct cs_tensor *b,
                         const char *at_b, int64_t stride)
{
    int64_t block_bytes;
    if (stride < 1 || a->dtype != b->dtype ||
        !cs_mul(stride, cs_problem_dtype_size(a->dtype), &block_bytes))
        return false;
    int64_t a_bytes = span_below(a, stride), b_bytes = span_below(b, stride);
    if (a_bytes == 0 || b_bytes == 0)
        return false;

    /* Where b begins in a block that begins with a. */
    int64_t b_begin = (int64_t)((intptr_t)at_b - (intptr_t)at_a) % block_bytes;
    if (b_begin < 0)
        b_begin += block_bytes;
    return a_bytes <= b_begin && b_bytes <= block_bytes - b_begin;
}

static bool is_interleaved(const struct cs_tensor *a, const char *at_a, const struct cs_tensor *b,
                           const char *at_b)
{
    for (int dim = 0; dim < CS_DIMS; dim++)
        if (a->dims[dim] > 1 && alternate_by(a, at_a, b, at_b, a->strides[dim]))
            return true;
    return false;
}

/* How a written tensor shares memory with another operand. MIXED is unsafe, because a tile may need
 * convolution inputs that its neighbour has overwritten, for example in the halo. IN_PLACE is safe,
 * because an operand of an addition is read only at the elements that the tile writes. */
static enum sharing sharing_of(const struct cs_problem *problem, const struct cs_addresses *base,
                               int written, int other)
{
    const struct cs_tensor *a = &problem->tensor[written], *b = &problem->tensor[other];
    int64_t a_bytes, b_bytes;
    if (cs_problem_tensor_span(a, &a_bytes) != CS_OK ||
        cs_problem_tensor_span(b, &b_bytes) != CS_OK)
        return MIXED;
    if (!ranges_overlap(base->tensor[written], a_bytes, base->tensor[other], b_bytes))
        return APART;
    if (is_interleaved(a, base->tensor[written], b, base->tensor[other]))
        return APART;
    bool addend =
        !b->written && same_elements(a, b) && base->tensor[written] == base->tensor[other];
    return addend ? IN_PLACE : MIXED;
}

/* The worst sharing between a written tensor and any other operand. */
static enum sharing find_sharing(const struct cs_problem *problem, const struct cs_addresses *base)
{
    enum sharing most = APART;
    for (int i = 0; i < problem->tensors; i++) {
        if (!problem->tensor[i].written || !has_address(problem, base, i))
            continue;
        for (int j = 0; j < problem->tensors; j++) {
            if (i == j || !has_address(problem, base, j))
                continue;
            enum sharing here = sharing_of(problem, base, i, j);
            most = here > most ? here : most;
        }
    }
    return most;
}

static void shift_addresses(const struct cs_problem *problem, const struct cs_addresses *base,
                            const struct cs_tile *tile, struct cs_addresses *out)
{
    for (int i = 0; i < problem->tensors; i++) {
        out->tensor[i] = base->tensor[i];
        if (has_address(problem, base, i))
            out->tensor[i] = (char *)base->tensor[i] + tile->offset[i];
    }
}

/* Replaces the addresses of staged tensors by those of their packed copies. */
static void place_staged(const struct cs_plan *plan, int shape, char *staged,
                         struct cs_addresses *out)
{
    for (int i = 0; i < plan->problem.tensors; i++)
        if (cs_plan_is_staged(plan, shape, i))
            out->tensor[i] = staged + plan->staged_at[i];
}

/* A launch that is ready to start. */
struct bound_tile {
    void *launch;
    int shape;
};

/* A call under way. */
struct active_call {
    struct cs_exec *exec;
    const struct cs_plan *plan;
    const struct cs_gpu *gpu;
    const struct cs_call *call;
    struct cs_capture capture;
    struct cs_lanes_lease lanes;
    struct cs_lease own; /* scratch of the library. Empty: the application's */
    char *scratch;
    struct cs_lane lane[CS_MAX_LANES];
    int64_t bound_tiles;
    struct bound_tile tile[CS_MAX_TILES];
};

/* --- before the point of no return --- */

/* True if launches run on streams that the library can choose. Lanes and the library's scratch need
 * such streams. */
static bool on_streams(const struct active_call *active)
{
    return active->exec->device && active->gpu->choose;
}

/* True if the call may run in the library's scratch. */
static bool may_use_own(const struct active_call *active)
{
    if (!on_streams(active))
        return false;
    return active->exec->backing == CS_BACKING_OWN ||
           (active->exec->backing == CS_BACKING_AUTO && active->call->provided == 0);
}

/* True if the call may run in the application's workspace, of which it needs `bytes`. */
static bool client_suffices(const struct active_call *active, int64_t bytes)
{
    const char *workspace = active->call->base.workspace;
    if (active->exec->backing == CS_BACKING_OWN && bytes > 0)
        return false;
    return active->call->provided >= bytes &&
           (active->plan->staged == 0 ||
            (workspace && (uintptr_t)workspace % CS_STAGED_ALIGNMENT == 0));
}

/* Takes scratch for `lanes` lanes: the application's workspace, else the library's. `patient`: see
 * cs_arena_take. */
static bool take_scratch_for(struct active_call *active, int lanes, bool patient)
{
    const struct cs_call *call = active->call;
    int64_t bytes = cs_plan_scratch(active->plan, lanes, active->lane);
    active->lanes.lanes = lanes;
    active->scratch = call->base.workspace;
    if (client_suffices(active, bytes))
        return true;
    if (!may_use_own(active) ||
        !cs_arena_take(&active->exec->arena, active->exec->device, call->stream, &active->capture,
                       bytes, patient, &active->own))
        return false;
    active->scratch = active->own.memory;
    return true;
}

/* Takes scratch for as many of the leased lanes as are possible without a wait. If a wait is
 * needed, it uses one lane and leaves the rest of the memory to other streams. */
static bool take_scratch(struct active_call *active)
{
    for (int lanes = active->lanes.lanes; lanes >= 1; lanes--)
        if (take_scratch_for(active, lanes, false))
            return true;
    return take_scratch_for(active, 1, true);
}

/* Reads the capture and, outside of one, leases lanes. False if the capture is invalid. */
static bool take_lanes(struct active_call *active)
{
    const struct cs_device *device = active->exec->device;
    int lanes = on_streams(active) ? active->plan->lanes : 1;
    if (!may_use_own(active) && lanes == 1)
        return true;
    if (device->capture(device->ctx, active->call->stream, &active->capture) != 0)
        return false;
    if (active->capture.id == 0)
        cs_lanes_take(&active->exec->lanes, device, active->call->stream, lanes, &active->lanes);
    return true;
}

struct part {
    const char *begin;
    int64_t bytes;
};

/* Lists the buffers that lanes write in parallel, then the operands. Returns their number. */
static int list_parts(const struct active_call *active, struct part *part)
{
    const struct cs_plan *plan = active->plan;
    const struct cs_addresses *base = &active->call->base;
    int64_t largest = 0, bytes;
    int parts = 0;
    for (int64_t i = 0; i < plan->shapes; i++)
        largest = plan->shape[i].workspace > largest ? plan->shape[i].workspace : largest;
    for (int i = 0; i < active->lanes.lanes; i++) {
        part[parts++] = (struct part){active->scratch + active->lane[i].staged, plan->staged};
        part[parts++] = (struct part){active->scratch + active->lane[i].workspace, largest};
    }
    for (int i = 0; i < plan->problem.tensors; i++)
        if (has_address(&plan->problem, base, i) &&
            cs_problem_tensor_span(&plan->problem.tensor[i], &bytes) == CS_OK)
            part[parts++] = (struct part){base->tensor[i], bytes};
    return parts;
}

/* False if scratch overlaps other scratch or an operand. */
static bool is_apart(const struct active_call *active)
{
    struct part part[2 * CS_MAX_LANES + CS_MAX_TENSORS];
    int parts = list_parts(active, part);
    for (int i = 0; i < 2 * active->lanes.lanes; i++)
        for (int j = i + 1; j < parts; j++)
            if (part[i].bytes > 0 && part[j].bytes > 0 &&
                ranges_overlap(part[i].begin, part[i].bytes, part[j].begin, part[j].bytes))
                return false;
    return true;
}

static void *scratch_at(char *scratch, int64_t offset)
{
    return scratch ? scratch + offset : NULL;
}

static void release_all(struct active_call *active)
{
    for (int64_t i = 0; i < active->bound_tiles; i++)
        active->gpu->release(active->gpu->ctx, active->tile[i].launch);
}

/* Binds a launch for each tile, with the addresses of its operands and of its lane's scratch. False
 * if the vendor fails to bind one. */
static bool bind_all(struct active_call *active)
{
    const struct cs_plan *plan = active->plan;
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        struct cs_addresses addresses;
        const struct cs_lane *lane = &active->lane[i % active->lanes.lanes];
        cs_plan_tile(plan, i, &tile);
        shift_addresses(&plan->problem, &active->call->base, &tile, &addresses);
        if (plan->shape[tile.shape].staged > 0)
            place_staged(plan, tile.shape, active->scratch + lane->staged, &addresses);
        addresses.workspace = scratch_at(active->scratch, lane->workspace);
        active->tile[i].shape = tile.shape;
        if (active->gpu->bind(active->gpu->ctx, tile.shape, &addresses, &active->tile[i].launch) !=
            0)
            return false;
        active->bound_tiles = i + 1;
    }
    return true;
}

static bool is_ever_staged(const struct cs_plan *plan, int tensor)
{
    bool staged = false;
    for (int64_t shape = 0; plan->staged > 0 && shape < plan->shapes; shape++)
        staged |= cs_plan_is_staged(plan, shape, tensor);
    return staged;
}

static bool can_copy(const struct active_call *active)
{
    /* cppcheck-suppress ctuuninitvar; cs_exec_run sets all but the tiles */
    const struct cs_plan *plan = active->plan;
    for (int i = 0; i < plan->problem.tensors; i++)
        if (is_ever_staged(plan, i) &&
            (!active->gpu->copy || !has_address(&plan->problem, &active->call->base, i)))
            return false;
    return true;
}

static bool bind_tiles(struct active_call *active)
{
    if (!can_copy(active) || !take_lanes(active) || !take_scratch(active))
        return false;
    CS_INVARIANT(is_apart(active));
    return bind_all(active);
}

/* Releases everything that the call holds. `settled`: the started work precedes the application's
 * next work on its stream. */
static void put_back(struct active_call *active, bool settled)
{
    struct cs_exec *exec = active->exec;
    release_all(active);
    if (active->own.block)
        cs_arena_give(&exec->arena, exec->device, active->call->stream, !settled, &active->own);
    if (active->lanes.set)
        cs_lanes_give(&exec->lanes, exec->device, &active->lanes, !settled);
}

/* --- after the point of no return --- */

static int choose_lane(const struct active_call *active, int from, int to)
{
    return from == to ? 0 : active->gpu->choose(active->gpu->ctx, active->lanes.stream[to]);
}

/* How starting the tiles ended. */
struct start {
    int status;     /* status of the first call that failed; 0: success */
    bool attempted; /* a tile may have begun to write */
    bool ordered;   /* the next launch is on the application's stream, after all started tiles */
};

/* Starts a tile's copies into (`in`) or out of the packed tensors, which belong to its lane. The
 * lane's stream orders them before the copies of its next tile. */
static int copy_all(const struct active_call *active, int64_t index, const struct cs_stage *stage,
                    int stages, bool in)
{
    const struct cs_plan *plan = active->plan;
    char *staged = active->scratch + active->lane[index % active->lanes.lanes].staged;
    struct cs_tile tile;
    int status = 0;
    cs_plan_tile(plan, index, &tile);
    for (int i = 0; i < stages && status == 0; i++) {
        int tensor = stage[i].tensor;
        char *view = (char *)active->call->base.tensor[tensor] + tile.offset[tensor];
        if (in ? stage[i].in : stage[i].out)
            status = active->gpu->copy(active->gpu->ctx, &stage[i].copy, view,
                                       staged + plan->staged_at[tensor] + stage[i].skipped, in);
    }
    return status;
}

/* Starts a staged tile: copies in, launches and copies out. */
static int launch_staged(const struct active_call *active, int64_t index)
{
    const struct bound_tile *tile = &active->tile[index];
    struct cs_stage stage[CS_MAX_TENSORS];
    int stages = cs_plan_stages(active->plan, tile->shape, stage);
    int status = copy_all(active, index, stage, stages, true);
    if (status == 0)
        status = active->gpu->launch(active->gpu->ctx, tile->shape, tile->launch);
    return status == 0 ? copy_all(active, index, stage, stages, false) : status;
}

static int launch_tile(const struct active_call *active, int64_t index)
{
    const struct bound_tile *tile = &active->tile[index];
    return active->plan->shape[tile->shape].staged > 0
               ? launch_staged(active, index)
               : active->gpu->launch(active->gpu->ctx, tile->shape, tile->launch);
}

/* Starts the tiles in turn on their lanes, until one fails. Returns the first failed status. */
static int launch_all(const struct active_call *active, struct start *start, int64_t *launches_p)
{
    int status = 0, lane = 0;
    for (int64_t i = 0; i < active->plan->tiles && status == 0; i++) {
        int next = (int)(i % active->lanes.lanes);
        status = choose_lane(active, lane, next);
        if (status != 0)
            break;
        lane = next;
        start->attempted = true;
        status = launch_tile(active, i);
        *launches_p += status == 0;
    }
    int chosen = choose_lane(active, lane, 0);
    start->ordered = chosen == 0;
    return status != 0 ? status : chosen;
}

/* Forks the lanes, starts the tiles, joins the lanes and releases the call's resources. Side
 * streams are joined even after a failure: the started work must precede the next work on the
 * application's stream. */
static struct start start_all(struct active_call *active, int64_t *launches_p)
{
    struct start start = {.ordered = true};
    start.status = cs_lanes_fork(active->exec->device, &active->lanes);
    if (start.status == 0)
        start.status = launch_all(active, &start, launches_p);
    int joined = cs_lanes_join(active->exec->device, &active->lanes);
    if (start.status == 0)
        start.status = joined;
    put_back(active, joined == 0);
    start.ordered &= joined == 0;
    return start;
}

struct cs_outcome cs_exec_fallback(const struct cs_gpu *gpu)
{
    int vendor = gpu->fallback(gpu->ctx);
    return (struct cs_outcome){vendor == 0 ? CS_RAN_FALLBACK : CS_RAN_NOTHING, vendor, 0, 1};
}

/* Starts the bound tiles, and repairs a failure with the fallback plan if possible. `repeatable`:
 * running again gives the same result, so the fallback plan may repair a failure. */
static struct cs_outcome launch_tiles(struct active_call *active, bool repeatable)
{
    struct cs_outcome outcome = {CS_RAN_TILES, 0, 0, active->lanes.lanes};
    struct start started = start_all(active, &outcome.launches);
    outcome.vendor = started.status;
    if (outcome.vendor == 0)
        return outcome;
    if (started.ordered && (repeatable || !started.attempted)) {
        struct cs_outcome repaired = cs_exec_fallback(active->gpu);
        if (repaired.vendor == 0) {
            repaired.launches = outcome.launches;
            return repaired;
        }
    }
    outcome.ran = CS_RAN_NOTHING;
    return outcome;
}

bool cs_exec_try(struct cs_exec *exec, const struct cs_plan *plan, const struct cs_gpu *gpu,
                 const struct cs_call *call, struct cs_outcome *outcome_p)
{
    enum sharing shared = find_sharing(&plan->problem, &call->base);
    struct active_call active; /* not zeroed as a whole, because most plans have few tiles */
    active.exec = exec;
    active.plan = plan;
    active.gpu = gpu;
    active.call = call;
    active.capture = (struct cs_capture){0, NULL};
    active.lanes = (struct cs_lanes_lease){.lanes = 1};
    active.own = (struct cs_lease){NULL, NULL};
    active.bound_tiles = 0;
    if (plan->tiles == 0 || shared == MIXED)
        return false;
    if (!bind_tiles(&active)) {
        put_back(&active, true);
        return false;
    }
    *outcome_p =
        launch_tiles(&active, gpu->only_records || (plan->problem.beta == 0 && shared == APART));
    return true;
}

struct cs_outcome cs_exec_run(struct cs_exec *exec, const struct cs_plan *plan,
                              const struct cs_gpu *gpu, const struct cs_call *call)
{
    struct cs_outcome outcome;
    return cs_exec_try(exec, plan, gpu, call, &outcome) ? outcome : cs_exec_fallback(gpu);
}

bool cs_exec_lend(struct cs_exec *exec, void *stream, int64_t bytes, struct cs_lease *lease)
{
    const struct cs_device *device = exec->device;
    struct cs_capture capture;
    *lease = (struct cs_lease){NULL, NULL};
    return device && exec->backing != CS_BACKING_CLIENT &&
           device->capture(device->ctx, stream, &capture) == 0 &&
           cs_arena_take(&exec->arena, device, stream, &capture, bytes, true, lease);
}

void cs_exec_take_back(struct cs_exec *exec, void *stream, struct cs_lease *lease)
{
    cs_arena_give(&exec->arena, exec->device, stream, false, lease);
}

void cs_exec_init(struct cs_exec *exec, const struct cs_device *device, enum cs_backing backing,
                  int64_t limit)
{
    exec->device = device;
    exec->backing = backing;
    cs_lanes_init(&exec->lanes);
    cs_arena_init(&exec->arena, limit);
}

void cs_exec_process_fork(struct cs_exec *exec, bool before, bool child)
{
    if (before) {
        cs_lanes_process_fork(&exec->lanes, before, child);
        cs_arena_process_fork(&exec->arena, before, child);
    } else {
        cs_arena_process_fork(&exec->arena, before, child);
        cs_lanes_process_fork(&exec->lanes, before, child);
    }
}
