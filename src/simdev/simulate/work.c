/* The work of a run: its distinct convolutions. Runs that do other work cannot be compared. */
#include "simdev/simulate/run_outcome.h"

#include "base/text.h"
#include "cli/common/json_tree.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME = 192 /* bytes of the name of a convolution */
};

/* Appends the extents of a tensor as the device names them, without spatial extents of 1. */
static void put_extents(const cJSON *extents, struct cs_text *name)
{
    const cJSON *extent;
    int i = 0;
    cJSON_ArrayForEach(extent, extents)
    {
        const int64_t value = cs_json_whole(extent, 0);
        if (i < 2 || value != 1)
            cs_text_put(name, "%c%" PRId64, i == 0 ? ' ' : 'x', value);
        i++;
    }
}

/* Adds calls of a convolution to the work. */
static void add_calls(cJSON *work, const char *name, int64_t calls)
{
    cJSON *known = cJSON_GetObjectItemCaseSensitive(work, name);
    if (known)
        cJSON_SetNumberValue(known, (double)(calls + cs_json_whole(known, 0)));
    else
        cJSON_AddNumberToObject(work, name, (double)calls);
}

/* Adds the convolutions of the library's summary. Returns their calls. */
static int64_t add_sites(const cJSON *summary, cJSON *work)
{
    const cJSON *site;
    int64_t sum = 0;
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        const int64_t calls = cs_json_whole_at(site, "calls", 0);
        const char *direction = cs_json_text(site, "problem.direction");
        char text[NAME];
        struct cs_text name = {text, sizeof text, 0};
        if (calls <= 0 || !direction)
            continue;
        cs_text_put(&name, "%s", direction);
        put_extents(cs_json_at(site, "problem.x.dims"), &name);
        put_extents(cs_json_at(site, "problem.w.dims"), &name);
        add_calls(work, text, calls);
        sum += calls;
    }
    return sum;
}

struct cJSON *cs_sim_work_read(const struct cs_sim_outcome *outcome)
{
    cJSON *work = cJSON_CreateObject();
    const int64_t calls = cs_json_whole_at(outcome->summary, "totals.calls", 0);
    if (calls > 0) {
        if (add_sites(outcome->summary, work) == calls)
            return work;
    } else if (cs_json_whole_at(outcome->report, "problems.total", 0) ==
               cs_json_whole_at(outcome->report, "plans.total", 0)) {
        const cJSON *problem;
        cJSON_ArrayForEach(problem, cs_json_at(outcome->report, "problems.most"))
        {
            add_calls(work, problem->string, cs_json_whole(problem, 0));
        }
        return work;
    }
    cJSON_Delete(work); /* some convolutions are not known */
    return NULL;
}

/* Returns the calls of convolutions that `outcome` has and `other` lacks. */
static int64_t calls_beyond(const struct cs_sim_outcome *outcome,
                            const struct cs_sim_outcome *other)
{
    const cJSON *launched = cs_json_at(other->report, "problems.most"), *problem;
    const bool counts = outcome->errors > 0 || other->errors > 0;
    int64_t calls = 0;
    cJSON_ArrayForEach(problem, outcome->work)
    {
        const cJSON *same = cJSON_GetObjectItemCaseSensitive(other->work, problem->string);
        const int64_t more = cs_json_whole(problem, 0) - cs_json_whole(same, 0);
        if (same ? counts && more > 0
                 : !cJSON_GetObjectItemCaseSensitive(launched, problem->string))
            calls += more;
    }
    return calls;
}

/* Returns the batch of a convolution, the first extent of its image. */
static int64_t batch_of(const cJSON *problem)
{
    const char *image = strchr(problem->string, ' ');
    return image ? atoll(image + 1) : 0;
}

/* Sets the calls of all convolutions, and the batch that most of them have, the larger one of two
 * alike. */
static void count_calls(const cJSON *work, int64_t *calls_p, int64_t *batch_p)
{
    const cJSON *problem, *other;
    int64_t most = 0;
    cJSON_ArrayForEach(problem, work)
    {
        const int64_t batch = batch_of(problem);
        int64_t calls = 0;
        cJSON_ArrayForEach(other, work)
        {
            calls += batch_of(other) == batch ? cs_json_whole(other, 0) : 0;
        }
        if (calls > most || (calls == most && batch > *batch_p)) {
            most = calls;
            *batch_p = batch;
        }
        *calls_p += cs_json_whole(problem, 0);
    }
}

struct cs_sim_work cs_sim_work_compare(const struct cs_sim_outcome *outcome,
                                       const struct cs_sim_outcome *other)
{
    struct cs_sim_work work = {.more = 0};
    if (!outcome->work || !other->work)
        return work;
    work.more = calls_beyond(outcome, other);
    work.less = calls_beyond(other, outcome);
    count_calls(outcome->work, &work.calls, &work.batch);
    count_calls(other->work, &work.other_calls, &work.other_batch);
    return work;
}

void cs_sim_work_put(const struct cs_sim_work *work, struct cs_text *text)
{
    const char *between = "";
    if (work->batch != work->other_batch) {
        cs_text_put(text, "batch %" PRId64 " instead of %" PRId64, work->other_batch, work->batch);
        between = ", ";
    }
    if (work->calls != work->other_calls)
        cs_text_put(text, "%s%" PRId64 " instead of %" PRId64 " calls of convolutions", between,
                    work->other_calls, work->calls);
    else if (!*between)
        cs_text_put(text, "convolutions of other sizes");
}
