/* Why a program gains nothing: the memory that makes its peak, and the outcome of its convolutions.
 */
#include "cli/simulate/simulate.h"

#include "cli/simulate/peak_table.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    GAIN = 100 /* a hundredth of the peak: less is none */
};

struct text {
    char *at;
    size_t size, length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text->at + text->length, text->size - text->length, format, list);
    va_end(list);
    if (length > 0 && (size_t)length < text->size - text->length)
        text->length += (size_t)length;
}

static int64_t peak_of(const struct cs_simulated_result *result)
{
    return result->allocated >= 0 ? result->allocated : result->device_peak;
}

bool cs_simulated_pair_gains(const struct cs_simulated_pair *pair)
{
    int64_t without = peak_of(&pair->result[CS_WITHOUT]), with = peak_of(&pair->result[CS_WITH]);
    return with < without && without - with >= without / GAIN;
}

bool cs_simulated_pair_compares(const struct cs_simulated_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++)
        if (!pair->chosen[side] || !pair->result[side].used ||
            !cs_simulated_result_fits(&pair->result[side]))
            return false;
    return pair->result[CS_WITH].calls > 0;
}

/* Both sides ran, and memory was short: peaks are the capacity and are not compared. */
static bool ran_short(const struct cs_simulated_pair *pair)
{
    return pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH] && pair->result[CS_WITH].calls > 0 &&
           cs_simulated_result_ran(&pair->result[CS_WITHOUT]) &&
           cs_simulated_result_ran(&pair->result[CS_WITH]);
}

static int64_t troubles_of(const struct cs_simulated_result *result)
{
    return cs_simulated_result_failures(result) + (result->retries > 0 ? result->retries : 0);
}

/* --- the convolutions --- */

static void put_reasons(struct text *text, const struct cs_simulated_result *with,
                        const char *no_gain)
{
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(with->summary, "totals"), *reason;
    bool first = true;
    if (with->tiled > 0)
        put(text,
            "%" PRId64 " of %" PRId64 " convolutions are tiled, by %" PRId64
            " more launches, and %s.",
            with->tiled, with->calls, with->extra_launches, no_gain);
    else
        put(text, "Nothing was tiled:");
    cJSON_ArrayForEach(reason, cJSON_GetObjectItemCaseSensitive(totals, "not_tiled"))
    {
        const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reason, "text"));
        const cJSON *calls = cJSON_GetObjectItemCaseSensitive(reason, "calls");
        if (with->tiled > 0 || !why || !cJSON_IsNumber(calls))
            continue;
        put(text, "%s %.0f of %" PRId64 " calls: %s", first ? "" : ";", calls->valuedouble,
            with->calls, why);
        first = false;
    }
    if (with->tiled <= 0)
        put(text, ".");
}

/* --- the memory at the peak --- */

/* The reason of a site for people. */
static const char *reason_of(const cJSON *summary, const cJSON *site)
{
    static const struct {
        const char *id, *text;
    } reasons[] = {
#define CS_REASON(id, text) {#id, text},
#include "convshim/reasons.def"
#undef CS_REASON
    };
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(site, "reason"));
    (void)summary;
    for (size_t i = 0; id && i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].id, id) == 0)
            return reasons[i].text;
    return "it is tiled, and smaller tiles would take too much time";
}

static const cJSON *site_at_peak(const struct cs_timeline *timeline, const cJSON *summary,
                                 int64_t *bytes_p)
{
    const size_t peak = cs_timeline_peak(timeline);
    int site = CS_NO_SITE;
    *bytes_p = 0;
    for (size_t i = 0; i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->from > peak || block->until <= peak || block->workspace <= *bytes_p)
            continue;
        *bytes_p = block->bytes;
        site = block->site;
    }
    const cJSON *sites = cJSON_GetObjectItemCaseSensitive(summary, "sites");
    return site >= 0 ? cJSON_GetArrayItem(sites, site) : NULL;
}

/* The largest row of the table that is no workspace. */
static void put_tensors(struct text *text, const struct cs_timeline *timeline, const cJSON *summary)
{
    struct cs_table table;
    char bytes[CS_BYTES_TEXT];
    if (!cs_peak_table(timeline, timeline, summary, &table))
        return;
    for (size_t row = 0; row < table.rows; row++) {
        const struct cs_value *value = &table.value[row * (size_t)table.columns];
        if (strcmp(value[0].text, "tensors") != 0)
            continue;
        put(text, ", most of them of %s (%s)", value[1].text,
            cs_table_bytes_text(bytes, value[2].number));
        break;
    }
    cs_table_fini(&table);
}

static void put_peak(struct text *text, const struct cs_simulated_run *run,
                     const struct cs_simulated_result *result)
{
    struct cs_timeline timeline;
    char bytes[CS_BYTES_TEXT], peak[CS_BYTES_TEXT];
    int64_t workspace;
    if (!result->report || !cs_timeline_read(run, result, &timeline))
        return;
    if (timeline.moments > 0) {
        const cJSON *site = site_at_peak(&timeline, result->summary, &workspace),
                    *problem = cJSON_GetObjectItemCaseSensitive(site, "problem");
        const char *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "text"));
        (void)cs_table_bytes_text(peak, timeline.live[cs_timeline_peak(&timeline)]);
        if (workspace * GAIN >= timeline.live[cs_timeline_peak(&timeline)])
            put(text, "The peak is %s. %s of it is the workspace of %s: %s. ", peak,
                cs_table_bytes_text(bytes, workspace), of ? of : "a convolution",
                reason_of(result->summary, site));
        else {
            put(text, "The peak is %s of tensors", peak);
            put_tensors(text, &timeline, result->summary);
            put(text, ". Tiling cannot make tensors smaller. ");
        }
    }
    cs_timeline_fini(&timeline);
}

bool cs_simulate_why(const struct cs_simulated_pair *pair, char *text_p, size_t size)
{
    struct text text = {.at = text_p, .size = size};
    *text_p = '\0';
    if (!cs_simulated_pair_compares(pair)) {
        if (!ran_short(pair) ||
            troubles_of(&pair->result[CS_WITH]) < troubles_of(&pair->result[CS_WITHOUT]))
            return false;
        put_reasons(&text, &pair->result[CS_WITH], "no fewer allocations fail or are retried");
        return true;
    }
    if (cs_simulated_pair_gains(pair))
        return false;
    if (pair->has_recorded)
        put_peak(&text, &pair->recorded_run, &pair->recorded);
    else if (pair->history)
        put_peak(&text, &pair->run[CS_WITH], &pair->result[CS_WITH]);
    put_reasons(&text, &pair->result[CS_WITH], "the peak does not fall");
    return true;
}
