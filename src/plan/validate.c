/* Shares no arithmetic with the cut: it takes tiles as the executor gets them, from cs_plan_tile,
 * and holds each against what the whole problem says about its first and last output element. */
#include "base/checked.h"
#include "convshim/plan.h"
#include <string.h>

static bool same_problem(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t words_a[CS_PROBLEM_WORDS], words_b[CS_PROBLEM_WORDS];
    int used_a = cs_problem_words(a, words_a), used_b = cs_problem_words(b, words_b);
    return used_a == used_b && memcmp(words_a, words_b, (size_t)used_a * sizeof *words_a) == 0;
}

/* A kind may differ from the whole in what a tile is: extents and padding along the axis, and
 * alignments. */
static bool kind_derives(const struct cs_problem *whole, const struct cs_problem *kind,
                         enum cs_axis axis)
{
    struct cs_problem restored = *kind;
    for (int i = 0; i < CS_OPERANDS; i++) {
        if (kind->tensor[i].alignment > whole->tensor[i].alignment)
            return false;
        restored.tensor[i].alignment = whole->tensor[i].alignment;
    }
    if (axis != CS_AXIS_NONE) {
        enum cs_dim dim = cs_axis_dim(axis);
        restored.tensor[CS_X].dims[dim] = whole->tensor[CS_X].dims[dim];
        restored.tensor[CS_Y].dims[dim] = whole->tensor[CS_Y].dims[dim];
        if (dim >= CS_D) {
            restored.pre[dim - CS_D] = whole->pre[dim - CS_D];
            restored.post[dim - CS_D] = whole->post[dim - CS_D];
        }
    }
    return same_problem(whole, &restored) && cs_problem_check(kind) == CS_OK;
}

static bool kinds_valid(const struct cs_plan *plan, int64_t limit)
{
    int64_t largest = 0, counted[CS_MAX_KINDS] = {0};
    for (int64_t i = 0; i < plan->tiles; i++) {
        if (plan->kind_of[i] >= plan->kinds)
            return false;
        counted[plan->kind_of[i]]++;
    }
    for (int64_t i = 0; i < plan->kinds; i++) {
        const struct cs_kind *kind = &plan->kind[i];
        if (kind->tiles < 1 || kind->tiles != counted[i] || kind->workspace < 0 ||
            !kind_derives(&plan->problem, &kind->problem, plan->axis))
            return false;
        largest = kind->workspace > largest ? kind->workspace : largest;
    }
    return plan->workspace == largest && largest <= limit;
}

/* Taps of the tile's first output element start where the whole problem's do, and every tap of the
 * tile that meets the whole input meets the tile's part of it. All taps between follow, since both
 * step alike. */
static bool window_valid(const struct cs_problem *whole, enum cs_dim dim,
                         const struct cs_tile *tile)
{
    bool spatial = dim >= CS_D;
    int64_t step = spatial ? whole->stride[dim - CS_D] : 1;
    int64_t pad = spatial ? whole->pre[dim - CS_D] : 0;
    int64_t taps = spatial ? whole->tensor[CS_FILTER].dims[dim] : 1;
    int64_t gap = spatial ? whole->dilation[dim - CS_D] : 1;
    int64_t extent = whole->tensor[CS_X].dims[dim];
    int64_t first_tap, last_tap, sweep;

    if (!cs_mul(tile->first, step, &first_tap) || !cs_add(first_tap, -pad, &first_tap) ||
        !cs_mul(taps - 1, gap, &sweep) || !cs_mul(tile->count - 1, step, &last_tap) ||
        !cs_add(last_tap, sweep, &last_tap) || !cs_add(last_tap, first_tap, &last_tap))
        return false;
    if (tile->in_first < 0 || tile->in_count < 1 || tile->pre < 0 || tile->post < 0 ||
        tile->in_first > extent - tile->in_count || tile->in_first - tile->pre != first_tap)
        return false;
    bool reads_before = first_tap < tile->in_first && tile->in_first > 0;
    bool reads_behind =
        last_tap >= tile->in_first + tile->in_count && tile->in_first + tile->in_count < extent;
    return !reads_before && !reads_behind;
}

static bool operand_valid(const struct cs_tensor *whole, const struct cs_tensor *part,
                          int64_t offset)
{
    int64_t span, part_span, end;
    return offset >= 0 && offset % part->alignment == 0 && cs_tensor_span(whole, &span) == CS_OK &&
           cs_tensor_span(part, &part_span) == CS_OK && cs_add(offset, part_span, &end) &&
           end <= span;
}

static bool offsets_valid(const struct cs_problem *whole, enum cs_dim dim,
                          const struct cs_problem *kind, const struct cs_tile *tile)
{
    const int64_t first[CS_OPERANDS] = {[CS_X] = tile->in_first, [CS_Y] = tile->first};
    for (int i = 0; i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &whole->tensor[i];
        int64_t bytes;
        if (!cs_mul(cs_dtype_size(tensor->dtype), tensor->strides[dim], &bytes) ||
            !cs_mul(bytes, first[i], &bytes) || bytes != tile->offset[i] ||
            !operand_valid(tensor, &kind->tensor[i], tile->offset[i]))
            return false;
    }
    return true;
}

static bool tile_valid(const struct cs_plan *plan, enum cs_dim dim, const struct cs_tile *tile)
{
    if (tile->kind < 0 || tile->kind >= plan->kinds || tile->count < 1)
        return false;
    const struct cs_problem *kind = &plan->kind[tile->kind].problem;
    if (kind->tensor[CS_X].dims[dim] != tile->in_count ||
        kind->tensor[CS_Y].dims[dim] != tile->count)
        return false;
    int64_t pre = dim >= CS_D ? kind->pre[dim - CS_D] : 0;
    int64_t post = dim >= CS_D ? kind->post[dim - CS_D] : 0;
    return pre == tile->pre && post == tile->post && window_valid(&plan->problem, dim, tile) &&
           offsets_valid(&plan->problem, dim, kind, tile);
}

static bool halo_valid(const struct cs_plan *plan, enum cs_dim dim, int64_t read, int64_t distinct)
{
    const struct cs_tensor *x = &plan->problem.tensor[CS_X];
    int64_t bytes;
    return cs_tensor_bytes(x, &bytes) == CS_OK &&
           cs_mul(bytes / x->dims[dim], read - distinct, &bytes) && bytes == plan->halo;
}

static bool tiles_valid(const struct cs_plan *plan)
{
    enum cs_dim dim = cs_axis_dim(plan->axis);
    int64_t next = 0, read = 0, distinct = 0, read_end = 0;
    for (int64_t i = 0; i < plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        if (tile.first != next || !tile_valid(plan, dim, &tile))
            return false;
        next += tile.count;

        int64_t begin = tile.in_first > read_end ? tile.in_first : read_end;
        int64_t end = tile.in_first + tile.in_count;
        if (!cs_add(read, tile.in_count, &read))
            return false;
        if (end > begin) {
            distinct += end - begin;
            read_end = end;
        }
    }
    return next == plan->problem.tensor[CS_Y].dims[dim] && halo_valid(plan, dim, read, distinct);
}

static bool whole_valid(const struct cs_plan *plan)
{
    return plan->head == 1 && plan->step == 1 && plan->tiles == 1 && plan->kinds == 1 &&
           plan->halo == 0 && same_problem(&plan->problem, &plan->kind[0].problem);
}

enum cs_status cs_plan_validate(const struct cs_plan *plan, int64_t limit)
{
    bool valid = (unsigned)plan->axis < CS_AXES && plan->tiles >= 1 &&
                 plan->tiles <= CS_MAX_TILES && plan->kinds >= 1 && plan->kinds <= CS_MAX_KINDS &&
                 plan->head >= 1 && plan->step >= 1 && cs_problem_check(&plan->problem) == CS_OK &&
                 kinds_valid(plan, limit) &&
                 (plan->axis == CS_AXIS_NONE ? whole_valid(plan) : tiles_valid(plan));
    return valid ? CS_OK : CS_INVALID;
}
