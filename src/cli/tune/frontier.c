/* Sweeps the target peak: the fastest way of each shape, and the sums. Chooses a point. */
#include "cli/tune/tune.h"

#include "base/checked.h"
#include <stdlib.h>

/* True if way `a` is better: it takes less time, or as much with fewer launches, or also with as
 * many and a lower peak. */
static bool is_better_way(const struct cs_way *a, const struct cs_way *b)
{
    if (a->times.most < b->times.most || a->times.most > b->times.most)
        return a->times.most < b->times.most;
    if (a->launches != b->launches)
        return a->launches < b->launches;
    return a->peak < b->peak;
}

/* Returns the index of the best way with at most this peak. If there is none, that of the lowest
 * peak. */
static int choose_way(const struct cs_tuned_shape *shape, int64_t target)
{
    int best = -1, lowest = 0;
    for (int i = 0; i < shape->ways; i++) {
        const struct cs_way *way = &shape->way[i];
        if (way->peak < shape->way[lowest].peak)
            lowest = i;
        if (way->peak <= target && (best < 0 || is_better_way(way, &shape->way[best])))
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

/* True if tiling has less effect on shape `a`. Compares the untiled peaks above the target, then
 * the times that tiling saves. */
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

/* Lists the peaks that ways have, from the lowest, some of them several times. Returns their
 * number. */
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

/* --- the choice of a point --- */

enum {
    LEAST_MISS = 1000,      /* a peak may exceed the predicted one by one part in this many */
    MAPPED = 5 * (20 << 20) /* bytes: PyTorch maps memory in pages of 20 MiB, of which about five
                               are partly used at a peak */
};

int64_t cs_tune_target(const struct cs_tune *tune)
{
    return tune->options->fits - tune->device->context - (tune->allocated ? MAPPED : 0);
}

static const double LEAST_GAIN = 0.01; /* part of the peak or time that a file must save */

static double middle_of(struct cs_times times)
{
    return (times.least + times.most) / 2;
}

static bool is_within(const struct cs_tune *tune, struct cs_times times)
{
    return middle_of(times) <=
           middle_of(tune->untiled.figures.times) * (1 + tune->options->within / 100);
}

/* True if the point is not above the run in peak or time, and one of them is lower by this part. A
 * time is lower if its upper end is. Every point is better than a run that failed. */
static bool is_better(const struct cs_frontier_point *point, const struct cs_tune_run *run,
                      double part)
{
    const struct cs_frontier_point *than = &run->figures;
    return !run->ran || (point->peak <= than->peak && point->times.least <= than->times.least &&
                         point->times.most <= than->times.most &&
                         ((double)point->peak < (1 - part) * (double)than->peak ||
                          point->times.most < (1 - part) * than->times.most));
}

/* Returns the point of the shortest time whose peak --fits allows. If there is none, returns that
 * of the lowest peak. */
static int choose_for_memory(const struct cs_tune *tune)
{
    const int64_t most = cs_tune_target(tune);
    int point = 0;
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (tune->frontier.point[i].peak <= most)
            point = (int)i;
    return point;
}

/* Returns the point of the lowest peak whose time --within allows; -1: there is none. */
static int choose_within_time(const struct cs_tune *tune)
{
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (is_within(tune, tune->frontier.point[i].times))
            return (int)i;
    return -1;
}

/* Returns, of the points that are better than the defaults, the one with the least sum of time and
 * price of its peak. -1 if there is none. */
static int choose_by_price(const struct cs_tune *tune)
{
    int best = -1;
    double least = 0;
    for (size_t i = 0; i < tune->frontier.points; i++) {
        const struct cs_frontier_point *point = &tune->frontier.point[i];
        const double cost = point->times.most + tune->frontier.price * (double)point->peak;
        if (is_better(point, &tune->defaults, LEAST_GAIN) && (best < 0 || cost < least)) {
            best = (int)i;
            least = cost;
        }
    }
    return best;
}

int cs_tune_choose(const struct cs_tune *tune)
{
    if (tune->options->fits > 0)
        return choose_for_memory(tune);
    return tune->options->within >= 0 ? choose_within_time(tune) : choose_by_price(tune);
}

enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune)
{
    const struct cs_frontier_point *file = &tune->file.figures;
    const int64_t peak = tune->frontier.point[tune->point].peak;
    bool good = is_better(file, &tune->defaults, 0);
    if (tune->options->fits > 0)
        good = tune->file.fits;
    else if (tune->options->within >= 0)
        good = is_within(tune, file->times) && file->peak - peak <= peak / LEAST_MISS;
    return tune->file.ran && good ? CS_TUNE_FILE : CS_TUNE_MISSED;
}
