/* Holds the timeline of a run against its summary. */
#include "cli/tune/exposure.h"

#include "cli/common/cli.h"
#include "cli/simulate/timeline_record.h"
#include "cli/tune/rule_keys.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_CHANCES = 2, /* a limit that was too small is multiplied by this */
    GRAIN = 64 << 10    /* bytes to which limits are rounded */
};

static struct cs_exposure *find(struct cs_exposures *exposures, const char *keys)
{
    for (size_t i = 0; i < exposures->count; i++)
        if (strcmp(exposures->item[i].keys, keys) == 0)
            return &exposures->item[i];
    return NULL;
}

/* That of a site; a new one where there is none. NULL: memory is short. */
static struct cs_exposure *take_site(struct cs_exposures *exposures, const cJSON *site)
{
    char keys[sizeof exposures->item->keys];
    cs_rule_keys(site, keys, sizeof keys);
    struct cs_exposure *known = find(exposures, keys);
    if (known)
        return known;
    struct cs_exposure *grown =
        reallocarray(exposures->item, exposures->count + 1, sizeof *exposures->item);
    if (!grown)
        return NULL;
    exposures->item = grown;
    struct cs_exposure *to = &exposures->item[exposures->count++];
    const cJSON *problem = cJSON_GetObjectItemCaseSensitive(site, "problem");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "text")),
               *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(site, "name"));
    *to = (struct cs_exposure){.bought = -1, .extra_ns = -1, .extra_launches = -1};
    snprintf(to->keys, sizeof to->keys, "%s", keys);
    snprintf(to->text, sizeof to->text, "%s", text ? text : "");
    snprintf(to->line, sizeof to->line, "%s", name ? name : "");
    return to;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The most of rest[from, until). */
static int64_t most_of(const int64_t *rest, size_t from, size_t until)
{
    int64_t found = 0;
    for (size_t i = from; i < until; i++)
        found = most(found, rest[i]);
    return found;
}

/* The memory held around each block of workspace, computed once for all calls; the caller frees it.
 */
static int64_t *around_blocks(const struct cs_timeline *timeline, const int64_t *rest)
{
    int64_t *around = calloc(timeline->blocks + 1, sizeof *around);
    for (size_t i = 0; around && i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->workspace > 0)
            around[i] = most_of(rest, block->from, block->until) + block->bytes - block->workspace;
    }
    return around;
}

static bool add_call(struct cs_exposures *to, const struct cs_timeline *timeline,
                     const struct cs_timeline_call *call, const cJSON *sites, const int64_t *around)
{
    const cJSON *site = call->site >= 0 ? cJSON_GetArrayItem(sites, call->site) : NULL;
    struct cs_exposure *exposure = site ? take_site(to, site) : NULL;
    if (!site)
        return true;
    if (!exposure)
        return false;
    int64_t held =
        call->block >= 0 ? around[call->block] : timeline->live[call->moment] - call->workspace;
    exposure->calls++;
    exposure->required = most(exposure->required, call->workspace);
    if (call->workspace > 0)
        exposure->around = most(exposure->around, held);
    if (call->block >= 0 && !*exposure->line)
        (void)cs_timeline_line(timeline, timeline->block[call->block].stack, exposure->line,
                               sizeof exposure->line);
    return true;
}

static bool add_calls(struct cs_exposures *to, const struct cs_timeline *timeline,
                      const cJSON *summary)
{
    const cJSON *sites = cJSON_GetObjectItemCaseSensitive(summary, "sites");
    int64_t *rest = cs_timeline_rest(timeline),
            *around = rest ? around_blocks(timeline, rest) : NULL;
    bool good = around != NULL;
    for (size_t i = 0; i < timeline->calls && good; i++)
        good = timeline->moments > 0 && add_call(to, timeline, &timeline->call[i], sites, around);
    if (good) {
        to->level = most_of(rest, 0, timeline->moments);
        to->peak = timeline->moments > 0 ? timeline->live[cs_timeline_peak(timeline)] : 0;
    } else {
        cs_cli_complain("tune: out of memory");
    }
    free(rest);
    free(around);
    return good;
}

bool cs_exposures_of_run(const struct cs_simulated_run *run,
                         const struct cs_simulated_result *result, struct cs_exposures *to)
{
    struct cs_timeline timeline;
    *to = (struct cs_exposures){.count = 0};
    if (!cs_timeline_read(run, result, &timeline))
        return false;
    bool good = true;
    if (!timeline.matched)
        cs_cli_complain("tune: some convolutions bypass convshim. They stay untiled. To find out "
                        "why: convshim doctor -- COMMAND");
    good = add_calls(to, &timeline, result->summary);
    cs_timeline_fini(&timeline);
    if (!good)
        cs_exposures_fini(to);
    return good;
}

void cs_exposures_fini(struct cs_exposures *exposures)
{
    free(exposures->item);
    *exposures = (struct cs_exposures){.count = 0};
}

/* --- a run with rules --- */

/* Reasons that a larger limit may do away with. */
static bool is_for_want_of_room(const char *reason)
{
    static const char *const reasons[] = {"NO_TILING", "NO_FALLBACK", "NO_GAIN", "VENDOR"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reason, reasons[i]) == 0)
            return true;
    return false;
}

static void measure_site(struct cs_exposures *exposures, const cJSON *site)
{
    char keys[sizeof exposures->item->keys];
    cs_rule_keys(site, keys, sizeof keys);
    struct cs_exposure *exposure = find(exposures, keys);
    const cJSON *reason = cJSON_GetObjectItemCaseSensitive(site, "reason");
    int64_t calls = cs_timeline_number(site, "calls"), tiled = cs_timeline_number(site, "tiled");
    if (!exposure || calls == 0)
        return;
    exposure->extra_launches =
        most(exposure->extra_launches, 0) + cs_timeline_number(site, "launches") - tiled;
    exposure->reported = most(exposure->reported, cs_timeline_number(site, "reported"));
    exposure->extra_ns +=
        tiled * (cs_timeline_number(site, "predicted_ns") - cs_timeline_number(site, "untiled_ns"));
    if (exposure->limit == 0 || tiled == calls ||
        cs_timeline_number(site, "required") <= exposure->limit)
        return;
    exposure->untiled += calls - tiled;
    if (cJSON_IsString(reason) && !is_for_want_of_room(reason->valuestring))
        exposure->cannot = true;
}

void cs_exposures_measure(struct cs_exposures *exposures, const struct cs_simulated_result *result)
{
    const cJSON *sites = cJSON_GetObjectItemCaseSensitive(result->summary, "sites"), *site;
    for (size_t i = 0; i < exposures->count; i++) {
        struct cs_exposure *exposure = &exposures->item[i];
        exposure->untiled = exposure->reported = exposure->extra_ns = 0;
        exposure->extra_launches = -1;
    }
    cJSON_ArrayForEach(site, sites)
    {
        measure_site(exposures, site);
    }
}

/* --- limits --- */

static int64_t limit_for(const struct cs_exposure *exposure, int64_t target)
{
    int64_t limit = target - exposure->around;
    if (exposure->cannot || exposure->required <= limit)
        return 0;
    if (limit <= exposure->too_small)
        limit = FEWEST_CHANCES * exposure->too_small;
    limit = most(limit / GRAIN, 1) * GRAIN;
    return limit < exposure->required ? limit : 0;
}

void cs_exposures_limit(struct cs_exposures *exposures, int64_t target)
{
    for (size_t i = 0; i < exposures->count; i++)
        exposures->item[i].limit = limit_for(&exposures->item[i], target);
}

int64_t cs_exposures_reach(const struct cs_exposures *exposures, int64_t target)
{
    for (size_t i = 0; i < exposures->count; i++) {
        const struct cs_exposure *exposure = &exposures->item[i];
        int64_t least = exposure->required;
        if (!exposure->cannot && exposure->too_small == 0)
            continue;
        if (!exposure->cannot && FEWEST_CHANCES * exposure->too_small < least)
            least = FEWEST_CHANCES * exposure->too_small;
        target = most(target, exposure->around + least);
    }
    return target;
}

size_t cs_exposures_rules(const struct cs_exposures *exposures)
{
    size_t rules = 0;
    for (size_t i = 0; i < exposures->count; i++)
        rules += exposures->item[i].limit > 0;
    return rules;
}
