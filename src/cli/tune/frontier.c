/* Sweeps the target peak: the fastest way of each shape, and the sums. */
#include "cli/tune/tune.h"

#include "base/checked.h"
#include <stdlib.h>

/* Shorter, or as short with fewer launches, or with a lower peak. */
static bool is_better(const struct cs_way *a, const struct cs_way *b)
{
    if (a->times.most < b->times.most || a->times.most > b->times.most)
        return a->times.most < b->times.most;
    if (a->launches != b->launches)
        return a->launches < b->launches;
    return a->peak < b->peak;
}

/* The index of the best way with at most this peak. If there is none, that of the lowest peak. */
static int choose_way(const struct cs_tuned_shape *shape, int64_t target)
{
    int best = -1, lowest = 0;
    for (int i = 0; i < shape->ways; i++) {
        const struct cs_way *way = &shape->way[i];
        if (way->peak < shape->way[lowest].peak)
            lowest = i;
        if (way->peak <= target && (best < 0 || is_better(way, &shape->way[best])))
            best = i;
    }
    return best >= 0 ? best : lowest;
}

static void add_way(struct cs_frontier_point *point, const struct cs_way *way)
{
    point->peak = cs_max(point->peak, way->peak);
    point->tiled += way->tiled;
    point->launches += way->launches;
    point->times.least += way->times.least;
    point->times.most += way->times.most;
}

/* Compares the untiled peaks above the target, then the times that tiling saves. */
static bool has_less_effect(const struct cs_tuned_shape *a, const struct cs_tuned_shape *b,
                            int64_t target)
{
    const int64_t first = cs_max(a->way[0].peak, target), second = cs_max(b->way[0].peak, target);
    if (first != second)
        return first < second;
    return a->way[0].times.most - a->way[a->chosen].times.most <
           b->way[0].times.most - b->way[b->chosen].times.most;
}

/* Leaves the tiled shape with the least effect untiled. */
static void drop_one(struct cs_frontier *frontier, int64_t target)
{
    struct cs_tuned_shape *least = NULL;
    for (size_t i = 0; i < frontier->shapes; i++) {
        struct cs_tuned_shape *shape = &frontier->shape[i];
        if (shape->chosen > 0 && (!least || has_less_effect(shape, least, target)))
            least = shape;
    }
    if (least)
        least->chosen = 0;
}

struct cs_frontier_point cs_frontier_choose(struct cs_frontier *frontier, int64_t target)
{
    struct cs_frontier_point point = {.target = target, .peak = frontier->level};
    size_t tuned = 0;
    for (size_t i = 0; i < frontier->shapes; i++) {
        frontier->shape[i].chosen = choose_way(&frontier->shape[i], target);
        tuned += frontier->shape[i].chosen > 0;
    }
    for (; tuned > CS_MOST_TUNED; tuned--)
        drop_one(frontier, target);
    for (size_t i = 0; i < frontier->shapes; i++)
        add_way(&point, &frontier->shape[i].way[frontier->shape[i].chosen]);
    return point;
}

struct cs_frontier_point cs_frontier_untiled(const struct cs_frontier *frontier)
{
    struct cs_frontier_point point = {.target = INT64_MAX, .peak = frontier->level};
    for (size_t i = 0; i < frontier->shapes; i++)
        add_way(&point, &frontier->shape[i].way[0]);
    return point;
}

static int compare_targets(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* The peaks that a way can set, from the lowest, some of them several times. Returns their number.
 */
static size_t list_targets(const struct cs_frontier *frontier, int64_t *target)
{
    size_t count = 0;
    target[count++] = frontier->level;
    for (size_t i = 0; i < frontier->shapes; i++)
        for (int j = 0; j < frontier->shape[i].ways; j++)
            target[count++] = cs_max(frontier->shape[i].way[j].peak, frontier->level);
    qsort(target, count, sizeof *target, compare_targets);
    return count;
}

bool cs_frontier_sweep(struct cs_frontier *frontier)
{
    const size_t most = 1 + frontier->shapes * CS_MOST_WAYS;
    int64_t *target = calloc(most, sizeof *target);
    frontier->points = 0;
    free(frontier->point);
    frontier->point = calloc(most, sizeof *frontier->point);
    size_t targets = target && frontier->point ? list_targets(frontier, target) : 0;
    for (size_t i = 0; i < targets; i++) {
        const struct cs_frontier_point point = cs_frontier_choose(frontier, target[i]);
        const size_t last = frontier->points;
        bool reached = point.peak <= target[i];
        if (reached && (last == 0 || point.times.most < frontier->point[last - 1].times.most))
            frontier->point[frontier->points++] = point;
    }
    free(target);
    return targets > 0;
}

void cs_frontier_fini(struct cs_frontier *frontier)
{
    cs_layers_fini(&frontier->layers);
    free(frontier->item);
    free(frontier->shape);
    free(frontier->point);
    *frontier = (struct cs_frontier){.level = 0};
}
