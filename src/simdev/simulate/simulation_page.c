/* The page of a simulation: its answer, and the memory over the run without the library and with
 * it. The horizontal axis of both curves counts calls of convolutions, so that both show a layer at
 * the same position. */
#include "simdev/simulate/simulate.h"

#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include <cjson/cJSON.h>
#include <math.h>

enum {
    COLUMNS = 480
};

const char cs_sim_view[] =
#include "simulate_view.h"
    ;

/* Returns the place of a moment on the horizontal axis, from 0 and below 1. Calls are equally far
 * apart, and the moments between two calls as well. `next` is the first call after the moment.
 * Without calls all moments are equally far apart. */
static double place_of(const struct cs_timeline *timeline, size_t calls, size_t next, size_t moment)
{
    size_t from = next > 0 ? timeline->call[next - 1].moment : 0,
           until = next < calls ? timeline->call[next].moment : timeline->moments;
    double part = until > from ? (double)(moment - from) / (double)(until - from) : 0;
    return ((double)next + part) / (double)(calls + 1);
}

/* Sets the most bytes that are held in each column. A column in which nothing changes has the bytes
 * held before it. `calls`: on the horizontal axis. 0: it shows moments. */
static void fill_columns(const struct cs_timeline *timeline, size_t calls, double held_in[COLUMNS])
{
    size_t next = 0, last = 0;
    int64_t held = 0;
    for (size_t i = 0; i < timeline->moments; i++) {
        while (next < calls && timeline->call[next].moment <= i)
            next++;
        size_t column = (size_t)(place_of(timeline, calls, next, i) * COLUMNS);
        column = column < COLUMNS ? column : COLUMNS - 1; /* rounding may come to 1 */
        while (last < column)
            held_in[++last] = (double)held;
        held = timeline->live[i];
        held_in[column] = fmax(held_in[column], (double)held);
    }
    while (last + 1 < COLUMNS)
        held_in[++last] = (double)held;
}

/* Returns the curves of both runs: for each side that has one, the most bytes held in each column.
 * `of_framework`: memory that the framework requested, else memory that the driver gave. */
static cJSON *timeline_json(const struct cs_timelines *timelines)
{
    const struct cs_timeline *any =
        &timelines->side[timelines->has[CS_WITH] ? CS_WITH : CS_WITHOUT];
    const size_t calls = timelines->same_calls ? any->calls : 0;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddBoolToObject(root, "of_framework", any->of_framework);
    cJSON_AddNumberToObject(root, "calls", (double)calls);
    for (int side = 0; side < CS_SIDES; side++) {
        double held[COLUMNS] = {0};
        if (!timelines->has[side])
            continue;
        fill_columns(&timelines->side[side], calls, held);
        cs_json_add(root, cs_side_names[side], cJSON_CreateDoubleArray(held, COLUMNS));
    }
    return root;
}

bool cs_sim_page_write(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                       const struct cJSON *answer, const char *path)
{
    struct cs_timelines timelines;
    if (!cs_timelines_read(pair, &timelines))
        return false;
    cJSON *root = cJSON_Duplicate(answer, true);
    cs_json_add(root, "timeline", timeline_json(&timelines));
    cs_timelines_fini(&timelines);
    return cs_page_write(simulation->title, cs_sim_view, path, root);
}
