/* The meaning of the figures of a pair: whether it fits, reasons for a missing gain, and advice. */
#include "base/text.h"
#include "cli/common/environment.h"
#include "cli/common/json_tree.h"
#include "cli/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- does it fit --- */

enum {
    LINE = 256,
    SURE_PERCENT = 95, /* above this, fragmentation decides on a real GPU */
};

const char *const cs_answer_names[] = {"yes", "may fail", "no", "no answer"};

/* Why there is no answer; NULL: there is one. */
static const char *no_answer(const struct cs_simulated_result *result)
{
    if (cs_simulated_result_out_of_memory(result) && !result->limited)
        return NULL;
    if (!cs_simulated_result_ran(result) && *result->linked_runtime)
        return "the CUDA runtime inside of the program cannot be simulated";
    if (!cs_simulated_result_ran(result) && result->missing_gpu > 0)
        return "the program needs more GPUs (--gpus)";
    if (!cs_simulated_result_ran(result))
        return result->limited ? "the program limits its own memory to too little"
                               : "the program fails, but not for lack of memory";
    if (!cs_simulated_result_used_gpu(result))
        return "the program did not use the GPU";
    return result->planned ? NULL : "no real cuDNN planned the sizes";
}

/* The memory that the program takes if there is enough; 0: not known, as of a program that takes a
 * share of the free memory. */
static int64_t need_of(const struct cs_simulated_pair *pair, enum cs_side side)
{
    const struct cs_simulated_result *base = cs_simulated_pair_base(pair, side);
    const int64_t absurd = (int64_t)1 << 42;
    return cs_simulated_result_ran(base) && base->needed < absurd ? base->needed : 0;
}

static void write_need(const struct cs_simulated_pair *pair, int64_t need, char text[LINE])
{
    char bytes[CS_BYTES_TEXT], context[CS_BYTES_TEXT], with[CS_BYTES_TEXT + 32] = "";
    if (pair->context > 0)
        snprintf(with, sizeof with, " with the context of %s",
                 cs_table_bytes_text(context, pair->context));
    snprintf(text, LINE, "needs %s%s", cs_table_bytes_text(bytes, need), with);
}

/* "Tesla T4 has 14.56 GiB" */
static void write_memory(const struct cs_simulated_pair *pair, int64_t memory, char text[LINE])
{
    char bytes[CS_BYTES_TEXT];
    snprintf(text, LINE, "%s has %s", pair->capacity > 0 ? "The GPU" : pair->device->title,
             cs_table_bytes_text(bytes, memory));
}

static void write_no(const struct cs_simulated_pair *pair, enum cs_side side, int64_t memory,
                     char *text, size_t size)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    const int64_t need = need_of(pair, side), failures = cs_simulated_result_failures(result);
    char line[LINE], there[LINE], bytes[CS_BYTES_TEXT];
    write_memory(pair, memory, there);
    write_need(pair, need, line);
    if (need > memory)
        snprintf(text, size, "No: %s. %s, %s too little.", line, there,
                 cs_table_bytes_text(bytes, need - memory));
    else if (!cs_simulated_result_ran(result))
        snprintf(text, size, "No: out of memory. %s. The last failed allocation was short by %s.",
                 there, cs_table_bytes_text(bytes, result->missing_bytes));
    else
        snprintf(text, size, "No: the program runs, but %" PRId64 " allocation%s. %s.", failures,
                 failures == 1 ? " fails" : "s fail", there);
}

enum cs_answer cs_simulate_fits(const struct cs_simulated_pair *pair, enum cs_side side, char *text,
                                size_t size)
{
    const struct cs_simulated_result *result = &pair->run[side].result;
    const int64_t memory = cs_simulate_memory(pair);
    const char *none = no_answer(result);
    char line[LINE], there[LINE], bytes[CS_BYTES_TEXT];
    if (none) {
        snprintf(text, size, "No answer: %s.", none);
        return CS_ANSWER_NONE;
    }
    if (!cs_simulated_result_fits(result)) {
        write_no(pair, side, memory, text, size);
        return CS_ANSWER_NO;
    }
    const bool sure = result->needed <= memory / 100 * SURE_PERCENT;
    write_need(pair, result->needed, line);
    write_memory(pair, memory, there);
    snprintf(text, size, "%s: %s. %s, %s spare.%s", sure ? "Yes" : "May fail", line, there,
             cs_table_bytes_text(bytes, memory - result->needed),
             sure ? "" : " Above 95 %, fragmentation decides.");
    return sure ? CS_ANSWER_YES : CS_ANSWER_MAY_FAIL;
}

/* --- why nothing is gained --- */

enum {
    GAIN = 100 /* a gain is at least the peak / GAIN */
};

static int64_t peak_of(const struct cs_simulated_result *result)
{
    return result->allocated >= 0 ? result->allocated : result->device_peak;
}

bool cs_simulated_pair_gains(const struct cs_simulated_pair *pair)
{
    int64_t without = peak_of(&pair->run[CS_WITHOUT].result),
            with = peak_of(&pair->run[CS_WITH].result);
    return with < without && without - with >= without / GAIN;
}

bool cs_simulated_pair_compares(const struct cs_simulated_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++)
        if (!pair->chosen[side] || !pair->run[side].result.used ||
            !cs_simulated_result_fits(&pair->run[side].result))
            return false;
    return pair->run[CS_WITH].result.calls > 0;
}

/* True if both sides ran, for pairs that were short of memory. The capacity limited their peaks, so
 * peaks are not compared. */
static bool ran_short(const struct cs_simulated_pair *pair)
{
    return pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH] &&
           pair->run[CS_WITH].result.calls > 0 &&
           cs_simulated_result_ran(&pair->run[CS_WITHOUT].result) &&
           cs_simulated_result_ran(&pair->run[CS_WITH].result);
}

/* The number of allocations that failed or were retried. */
static int64_t troubles_of(const struct cs_simulated_result *result)
{
    return cs_simulated_result_failures(result) + (result->retries > 0 ? result->retries : 0);
}

/* --- the convolutions --- */

/* Puts why the convolutions bring no gain. If some are tiled: their number, and `no_gain`. */
static void put_reasons(struct cs_text *text, const struct cs_simulated_result *with,
                        const char *no_gain)
{
    const cJSON *reason;
    const char *before = "Nothing was tiled:";
    if (with->tiled > 0) {
        cs_text_put(text,
                    "%" PRId64 " of %" PRId64 " convolutions are tiled, by %" PRId64
                    " more launches, and %s.",
                    with->tiled, with->calls, with->extra_launches, no_gain);
        return;
    }
    cJSON_ArrayForEach(reason, cs_json_at(with->summary, "totals.not_tiled"))
    {
        const char *why = cs_json_text(reason, "text");
        if (!why)
            continue;
        cs_text_put(text, "%s %" PRId64 " of %" PRId64 " calls: %s", before,
                    cs_json_whole_at(reason, "calls", 0), with->calls, why);
        before = ";";
    }
    cs_text_put(text, "%s.", *before == ';' ? "" : before);
}

/* --- the memory at the peak --- */

/* Why the workspace of a site is not smaller, for people. */
static const char *reason_of(const cJSON *site)
{
    static const struct {
        const char *id, *text;
    } reasons[] = {
#define CS_REASON(id, text) {#id, text},
#include "convshim/reasons.def"
#undef CS_REASON
    };
    const char *id = cs_json_text(site, "reason");
    for (size_t i = 0; id && i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].id, id) == 0)
            return reasons[i].text;
    return "it is tiled, and smaller tiles would take too much time";
}

/* The site of the largest workspace at the peak, or NULL. *bytes_p: bytes of its block, 0 if there
 * is none. */
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
    return site >= 0 ? cJSON_GetArrayItem(cs_json_at(summary, "sites"), site) : NULL;
}

/* The largest row of the table that is no workspace. */
static void put_tensors(struct cs_text *text, const struct cs_timeline *timeline,
                        const cJSON *summary)
{
    struct cs_table table;
    char bytes[CS_BYTES_TEXT];
    size_t row = 0;
    if (!cs_peak_table(timeline, timeline, summary, &table))
        return;
    while (row < table.rows && strcmp(cs_table_row(&table, row)[0].text, "tensors") != 0)
        row++;
    const struct cs_value *largest = row < table.rows ? cs_table_row(&table, row) : NULL;
    if (largest)
        cs_text_put(text, ", most of them of %s (%s)", largest[1].text,
                    cs_table_bytes_text(bytes, largest[2].number));
    cs_table_fini(&table);
}

static void put_contents(struct cs_text *text, const struct cs_timeline *timeline,
                         const cJSON *summary)
{
    const int64_t held = timeline->live[cs_timeline_peak(timeline)];
    char bytes[CS_BYTES_TEXT], peak[CS_BYTES_TEXT];
    int64_t workspace;
    const cJSON *site = site_at_peak(timeline, summary, &workspace);
    const char *of = cs_json_text(site, "problem.text");
    (void)cs_table_bytes_text(peak, held);
    if (workspace * GAIN >= held) {
        cs_text_put(text, "The peak is %s. %s of it is the workspace of %s: %s. ", peak,
                    cs_table_bytes_text(bytes, workspace), of ? of : "a convolution",
                    reason_of(site));
        return;
    }
    cs_text_put(text, "The peak is %s of tensors", peak);
    put_tensors(text, timeline, summary);
    cs_text_put(text, ". Tiling cannot make tensors smaller. ");
}

static void put_peak(struct cs_text *text, const struct cs_simulated_run *run)
{
    struct cs_timeline timeline;
    if (!run->result.report || !cs_timeline_read(run, &timeline))
        return;
    if (timeline.moments > 0)
        put_contents(text, &timeline, run->result.summary);
    cs_timeline_fini(&timeline);
}

bool cs_simulate_why(const struct cs_simulated_pair *pair, char *text_p, size_t size)
{
    struct cs_text text = {.at = text_p, .size = size};
    *text_p = '\0';
    if (!cs_simulated_pair_compares(pair)) {
        if (!ran_short(pair) ||
            troubles_of(&pair->run[CS_WITH].result) < troubles_of(&pair->run[CS_WITHOUT].result))
            return false;
        put_reasons(&text, &pair->run[CS_WITH].result, "no fewer allocations fail or are retried");
        return true;
    }
    if (cs_simulated_pair_gains(pair))
        return false;
    if (pair->recorded.name || pair->history)
        put_peak(&text, pair->recorded.name ? &pair->recorded : &pair->run[CS_WITH]);
    put_reasons(&text, &pair->run[CS_WITH].result, "the peak does not fall");
    return true;
}

/* --- advice --- */

enum {
    PERCENT =
        2 /* smallest difference of capacities that is reported: the capacity is found to 1 % */
};

static bool is_larger(int64_t with, int64_t without)
{
    return without > 0 && with - without > without / 100 * PERCENT;
}

static bool knows_smallest(const struct cs_simulated_pair *pair)
{
    return pair->smallest[CS_WITHOUT].runs > 0 && pair->smallest[CS_WITH].runs > 0;
}

/* True if the program needs more memory with the library. If both smallest devices are known, they
 * decide: with memory to spare, a larger peak need not mean that more memory is required. Peaks of
 * runs that were short of memory are not compared. */
static bool needs_more(const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *without = &pair->run[CS_WITHOUT].result,
                                     *with = &pair->run[CS_WITH].result;
    if (knows_smallest(pair))
        return is_larger(pair->smallest[CS_WITH].runs, pair->smallest[CS_WITHOUT].runs);
    if (!cs_simulated_result_ran(without))
        return false;
    if (!cs_simulated_result_ran(with))
        return cs_simulated_result_out_of_memory(with) && !with->limited;
    return without->refused <= 0 && with->refused <= 0 &&
           is_larger(with->device_peak, without->device_peak);
}

const char *cs_simulate_advice(const struct cs_simulated_program *program,
                               const struct cs_simulated_pair *pair)
{
    static const char pytorch[] = "PyTorch ", onnx[] = "ONNX Runtime ";
    const char *framework = pair->run[CS_WITHOUT].result.framework,
               *settings = cs_pytorch_settings();
    bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH];
    if (!both || !needs_more(pair))
        return NULL;
    if (strncmp(program->framework, onnx, strlen(onnx)) == 0)
        return "The arena of ONNX Runtime grows more with convshim, because it keeps all memory "
               "while the GPU has free memory. Set a limit: gpu_mem_limit of its CUDA provider.";
    if (!settings || strstr(settings, "expandable_segments") ||
        strncmp(framework, pytorch, strlen(pytorch)) != 0)
        return NULL;
    bool larger = knows_smallest(pair) || !cs_simulated_result_ran(&pair->run[CS_WITH].result);
    return larger ? "PyTorch's allocator fragments more with convshim here, and needs a larger "
                    "GPU. Expandable segments usually prevent that: add expandable_segments:True "
                    "to your PYTORCH_CUDA_ALLOC_CONF."
                  : "PyTorch's allocator fragments more with convshim here, and holds more while "
                    "the GPU has free memory. Expandable segments usually prevent that: add "
                    "expandable_segments:True to your PYTORCH_CUDA_ALLOC_CONF. --smallest shows "
                    "whether it needs a larger GPU.";
}
