/* Chooses a point of the frontier, and compares the run with its rules. */
#include "cli/tune/tune.h"

#include <math.h>

enum {
    MAPPED = 5 * (20 << 20) /* bytes: PyTorch maps memory in pages of 20 MiB, of which about five
                               are partly used at a peak */
};

static const double LEAST_GAIN = 0.01; /* a lower peak or time that is worth a file */

int64_t cs_tune_overhead(const struct cs_tune *tune)
{
    return tune->device->context + (tune->allocated ? MAPPED : 0);
}

static double middle(struct cs_times times)
{
    return (times.least + times.most) / 2;
}

static bool is_within(const struct cs_tune *tune, struct cs_times times)
{
    return middle(times) <= middle(tune->untiled.times) * (1 + tune->options->within / 100);
}

/* The shortest time in that memory. If no point fits, the lowest peak is tried. */
static int choose_for_memory(const struct cs_tune *tune)
{
    const struct cs_frontier_goal goal = {.peak = tune->options->fits - cs_tune_overhead(tune),
                                          .times = {INFINITY, INFINITY}};
    int point = cs_frontier_find(&tune->frontier, &goal);
    return point >= 0 || tune->frontier.points == 0 ? point : 0;
}

/* The lowest peak. */
static int choose_within_time(const struct cs_tune *tune)
{
    for (size_t i = 0; i < tune->frontier.points; i++)
        if (is_within(tune, tune->frontier.point[i].times))
            return (int)i;
    return -1;
}

static double cost_of(const struct cs_tune *tune, int point)
{
    const struct cs_frontier_point *of = &tune->frontier.point[point];
    return of->times.most + tune->frontier.price * (double)of->peak;
}

/* The least time plus price of the points that are not worse than the defaults in either figure,
 * and better in one. A time is better if its upper end is. */
static int choose_by_price(const struct cs_tune *tune)
{
    struct cs_frontier_goal lower = {.peak = INT64_MAX,
                                     .times = {INFINITY, INFINITY},
                                     .price = tune->frontier.price},
                            faster;
    if (!tune->defaults.ran)
        return cs_frontier_find(&tune->frontier, &lower);
    lower.peak = tune->defaults.peak;
    lower.times = tune->defaults.times;
    faster = lower;
    lower.peak = (int64_t)((1 - LEAST_GAIN) * (double)lower.peak);
    faster.times.most *= 1 - LEAST_GAIN;
    const int a = cs_frontier_find(&tune->frontier, &lower),
              b = cs_frontier_find(&tune->frontier, &faster);
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return cost_of(tune, a) < cost_of(tune, b) ? a : b;
}

int cs_tune_choose(const struct cs_tune *tune)
{
    if (tune->options->fits > 0)
        return choose_for_memory(tune);
    return tune->options->within >= 0 ? choose_within_time(tune) : choose_by_price(tune);
}

/* Not worse in either figure, and better in one. */
static bool is_better(const struct cs_tune_run *file, const struct cs_tune_run *than)
{
    return !than->ran || (file->peak <= than->peak && file->times.least <= than->times.least &&
                          file->times.most <= than->times.most &&
                          (file->peak < than->peak || file->times.most < than->times.most));
}

enum cs_tune_outcome cs_tune_judge(const struct cs_tune *tune)
{
    const struct cs_tune_run *file = &tune->file;
    bool good = is_better(file, &tune->defaults);
    if (tune->options->fits > 0)
        good = file->fits;
    else if (tune->options->within >= 0)
        good = is_within(tune, file->times) && file->peak <= tune->frontier.point[tune->point].peak;
    return file->ran && good ? CS_TUNE_FILE : CS_TUNE_MISSED;
}
