/* The sentences of an answer: how a run ended, whether it fits, why the peak does not fall, advice,
 * and notes. */
#include "simdev/simulate/simulate.h"

#include "base/path.h"
#include "base/text.h"
#include "cli/common/json_tree.h"
#include "cli/common/variables.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    PART = 100, /* parts below 1/PART are not reported */
    LIST = 512  /* bytes of a list of names */
};

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Puts "3 retries" to a list, unless there are none. */
static void put_count(struct cs_text *list, int64_t count, const char *one, const char *several)
{
    if (count > 0)
        cs_text_put(list, "%s%" PRId64 " %s", list->length > 0 ? ", " : "", count,
                    count == 1 ? one : several);
}

/* --- how a run ended --- */

static void put_failure(const struct cs_sim_outcome *outcome, struct cs_text *text)
{
    char bytes[CS_BYTES_TEXT];
    if (cs_sim_outcome_out_of_memory(outcome) && outcome->exhausted)
        cs_text_put(text, "Out of memory: the program needs more than the %s that %s may use.",
                    outcome->limit > 0 ? cs_table_bytes_text(bytes, outcome->limit) : "memory",
                    outcome->framework);
    else if (cs_sim_outcome_out_of_memory(outcome))
        cs_text_put(
            text,
            "Out of memory: the last failed allocation was short by %s. The figures end there.",
            cs_table_bytes_text(bytes, outcome->missing_bytes));
    else if (*outcome->linked_runtime)
        cs_text_put(text,
                    "Cannot be simulated: %s contains its own CUDA runtime, and is stripped or "
                    "uses a function of it that is not simulated.",
                    cs_path_file(outcome->linked_runtime));
    else if (outcome->missing_gpu > 0)
        cs_text_put(text,
                    "Failed: the program selects GPU %" PRId64 ", which is missing here. Add "
                    "--gpus %" PRId64 ".",
                    outcome->missing_gpu, outcome->missing_gpu + 1);
    else if (outcome->status > 128)
        cs_text_put(text, "Failed: signal %d ended the program.", outcome->status - 128);
    else
        cs_text_put(text, "Failed with status %d, and the GPU refused no allocation.",
                    outcome->status);
}

/* Returns the memory that the program takes if there is enough. 0: not known, for example because
 * the program takes a share of the free memory. */
static int64_t need_of(const struct cs_sim_pair *pair, enum cs_side side)
{
    const struct cs_sim_outcome *base = cs_sim_pair_base(pair, side);
    const int64_t absurd = (int64_t)1 << 42;
    const int64_t need = cs_sim_outcome_need(base);
    return cs_sim_outcome_ran(base) && need < absurd ? need : 0;
}

/* Puts the memory that the program takes if there is enough, after `before`. Puts nothing if that
 * is not known, or if the run had enough. */
static void put_need(const struct cs_sim_pair *pair, enum cs_side side, const char *before,
                     struct cs_text *text)
{
    const int64_t need = pair->base[side].name ? need_of(pair, side) : 0;
    char bytes[CS_BYTES_TEXT];
    if (need > 0)
        cs_text_put(text, "%s%s", before, cs_table_bytes_text(bytes, need));
}

/* Puts how short of memory a run was. */
static void put_pressure(const struct cs_sim_pair *pair, enum cs_side side, struct cs_text *text)
{
    const struct cs_sim_outcome *outcome = &pair->run[side].outcome;
    const struct cs_sim_outcome *base = cs_sim_pair_base(pair, side);
    const struct cs_sim_work work = cs_sim_work_compare(outcome, base);
    char list[LIST];
    struct cs_text signs = {list, sizeof list, 0};
    put_count(&signs, outcome->retries, "allocation retry", "allocation retries");
    put_count(&signs, cs_sim_outcome_failures(outcome), "failed allocation", "failed allocations");
    put_count(&signs, cs_sim_outcome_other_engines(outcome, base), "convolution on another engine",
              "convolutions on other engines");
    if (work.more > 0 || work.less > 0) {
        cs_text_put(text, "Runs: it adapts to the memory. With enough memory it does other work (");
        cs_sim_work_put(&work, text);
        cs_text_put(text, ")");
        put_need(pair, side, " and takes ", text);
    } else if (outcome->errors > 0) {
        cs_text_put(text, "Runs: it handles %" PRId64 " out-of-memory error%s itself",
                    outcome->errors, outcome->errors == 1 ? "" : "s");
        put_need(pair, side, ". With enough memory it takes ", text);
    } else if (signs.length > 0) {
        cs_text_put(text, "Runs under memory pressure: %s", list);
        put_need(pair, side, ". With enough memory it takes ", text);
    } else
        cs_text_put(text, "Runs without memory pressure");
    cs_text_put(text, ".");
}

/* Puts why the GPU may not have been used. */
static void put_unused(const struct cs_sim_outcome *outcome, struct cs_text *text)
{
    if (outcome->idle > 1)
        cs_text_put(text,
                    "%d processes found the GPU, and none used it. Its children may have failed: "
                    "--keep DIR keeps their output.",
                    outcome->idle);
    else
        cs_text_put(text, "Found the GPU, but ran on the CPU. Is the model moved to cuda?");
}

void cs_sim_answer_verdict(const struct cs_sim_program *program, const struct cs_sim_pair *pair,
                           enum cs_side side, struct cs_text *text)
{
    const struct cs_sim_outcome *outcome = &pair->run[side].outcome;
    char bytes[CS_BYTES_TEXT];
    if (cs_sim_outcome_stopped(outcome))
        cs_text_put(text, "Stopped by signal %d. Until then: ", outcome->status - 128);
    if (!cs_sim_outcome_ran(outcome)) {
        put_failure(outcome, text);
        if (outcome->exhausted && pair->base[side].name && need_of(pair, side) > 0)
            cs_text_put(text, " With enough memory it takes %s.",
                        cs_table_bytes_text(bytes, need_of(pair, side)));
    } else if (!outcome->used)
        cs_text_put(text, "Ended without a call of CUDA, so there are no figures.");
    else if (!cs_sim_outcome_used_gpu(outcome))
        put_unused(outcome, text);
    else if (!outcome->planned)
        cs_text_put(text,
                    "NO REAL cuDNN WAS USED: the sizes are from %s, and the figures may be far "
                    "off. %s",
                    *outcome->planning ? outcome->planning : "nothing",
                    *program->foreign
                        ? program->foreign
                        : "Name a cuDNN that plans without a GPU, 9.8 or newer: --cudnn PATH");
    else
        put_pressure(pair, side, text);
    if (outcome->cut_short)
        cs_text_put(text, " The process was killed or called _exit, so it wrote no report. The "
                          "figures are the last that the device stored.");
}

/* --- does it fit --- */

/* Puts the memory that is needed, present, and spare or missing. */
static void put_memory(const struct cs_sim_pair *pair, int64_t need, struct cs_text *text)
{
    const int64_t memory = pair->memory, rest = memory - need;
    char need_text[CS_BYTES_TEXT], context[CS_BYTES_TEXT], there[CS_BYTES_TEXT],
        rest_text[CS_BYTES_TEXT];
    cs_text_put(text, "needs %s with the context of %s. %s has %s, %s %s.",
                cs_table_bytes_text(need_text, need), cs_table_bytes_text(context, pair->context),
                memory != pair->device->memory ? "The GPU" : pair->device->title,
                cs_table_bytes_text(there, memory),
                cs_table_bytes_text(rest_text, rest < 0 ? -rest : rest),
                rest < 0 ? "too little" : "spare");
}

/* Returns the memory that a run needs, if that explains whether it fits. 0: its verdict explains
 * it. A program that did other work with enough memory needs another amount for that work. */
static int64_t explaining_need(const struct cs_sim_pair *pair, enum cs_side side,
                               enum cs_sim_fit fit)
{
    const struct cs_sim_outcome *outcome = &pair->run[side].outcome;
    const int64_t need = need_of(pair, side);
    if (fit == CS_SIM_FIT_YES ||
        (fit == CS_SIM_FIT_MAY_FAIL && cs_sim_outcome_failures(outcome) == 0))
        return cs_sim_outcome_need(outcome);
    return fit == CS_SIM_FIT_NO && need > pair->memory &&
                   cs_sim_work_compare(outcome, cs_sim_pair_base(pair, side)).more == 0
               ? need
               : 0;
}

enum cs_sim_fit cs_sim_answer_fits(const struct cs_sim_program *program,
                                   const struct cs_sim_pair *pair, enum cs_side side,
                                   struct cs_text *text)
{
    static const char *const begins[] = {"Yes", "", "May fail", "No", "No answer"};
    const enum cs_sim_fit fit =
        cs_sim_outcome_fit(&pair->run[side].outcome, cs_sim_pair_base(pair, side), pair->memory);
    const int64_t need = explaining_need(pair, side, fit);
    char held[CS_BYTES_TEXT];
    if (fit != CS_SIM_FIT_ADAPTS)
        cs_text_put(text, "%s%s", begins[fit], need > 0 ? ": " : ". ");
    if (need > 0)
        put_memory(pair, need, text);
    else
        cs_sim_answer_verdict(program, pair, side, text);
    if (need > 0 && pair->run[side].outcome.held > 0)
        cs_text_put(text, " %s takes %s more and does not use it.",
                    pair->run[side].outcome.framework,
                    cs_table_bytes_text(held, pair->run[side].outcome.held));
    if (fit == CS_SIM_FIT_MAY_FAIL)
        cs_text_put(text, need > 0 ? " Above 95 %%, fragmentation may make it fail on a real GPU."
                                   : " Fragmentation may make it fail on a real GPU.");
    return fit;
}

/* --- other work with convshim --- */

void cs_sim_answer_work(const struct cs_sim_pair *pair, struct cs_text *text)
{
    const struct cs_sim_work work = cs_sim_pair_work(pair);
    if (work.more == 0 && work.less == 0)
        return;
    const bool gains = work.other_batch > work.batch && work.batch > 0;
    cs_text_put(text, "%s with convshim: ", gains ? "Gain" : "Other work");
    cs_sim_work_put(&work, text);
    if (gains)
        cs_text_put(text, " (batch %+.1f %%)",
                    100 * ((double)work.other_batch / (double)work.batch - 1));
    cs_text_put(text, ". The runs did other work, so no other figures are compared.");
}

/* --- why the peak does not fall --- */

/* Puts how many convolutions are tiled, or why none is. */
static void put_convolutions(const struct cs_sim_outcome *with, struct cs_text *text)
{
    const cJSON *reason;
    const char *before = "Nothing was tiled:";
    if (with->tiled > 0) {
        cs_text_put(text,
                    "%" PRId64 " of %" PRId64 " convolutions are tiled, by %" PRId64
                    " more launches, and the %s peak does not fall.",
                    with->tiled, with->calls, with->extra_launches,
                    with->allocated >= 0 ? "allocated" : "device");
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

/* True if a row of the peak is about that convolution: "TEXT" or "TEXT, vae.py:312 forward". */
static bool is_row_of(const char *row, const char *problem)
{
    const size_t length = strlen(problem);
    return begins_with(row, problem) && (row[length] == '\0' || row[length] == ',');
}

/* Returns why the workspace of a row of the peak is not smaller. Several sites can have the same
 * text: the one with the largest workspace counts. */
static const char *reason_of(const char *row, const cJSON *summary)
{
    const cJSON *site, *found = NULL, *reason;
    cJSON_ArrayForEach(site, cs_json_at(summary, "sites"))
    {
        const char *problem = cs_json_text(site, "problem.text");
        if (problem && is_row_of(row, problem) &&
            (!found ||
             cs_json_whole_at(site, "reported", 0) > cs_json_whole_at(found, "reported", 0)))
            found = site;
    }
    const char *id = cs_json_text(found, "reason");
    cJSON_ArrayForEach(reason, cs_json_at(summary, "totals.not_tiled"))
    {
        const char *of = cs_json_text(reason, "id"), *text = cs_json_text(reason, "text");
        if (id && of && text && strcmp(id, of) == 0)
            return text;
    }
    return found ? "it is tiled, and smaller tiles would take too much time"
                 : "its convolution is not known";
}

/* Puts the largest workspace of a peak, or if it has none that counts, its largest tensors. */
static void put_peak(const cJSON *peak, const cJSON *summary, struct cs_text *text)
{
    const cJSON *row, *workspace = NULL, *tensors = NULL;
    char bytes[CS_BYTES_TEXT], total[CS_BYTES_TEXT];
    int64_t sum = 0;
    cJSON_ArrayForEach(row, peak)
    {
        const bool is_workspace = strcmp(cs_json_text(row, "what"), "workspace") == 0;
        const cJSON **largest = is_workspace ? &workspace : &tensors;
        *largest = *largest ? *largest : row; /* the rows begin with the largest */
        sum += cs_json_whole_at(row, "bytes", 0);
    }
    const int64_t of_workspace = cs_json_whole_at(workspace, "bytes", 0);
    cs_text_put(text, "The peak is %s", cs_table_bytes_text(total, sum));
    if (workspace && of_workspace >= sum / PART)
        cs_text_put(text, ". %s of it is the workspace of %s: %s. ",
                    cs_table_bytes_text(bytes, of_workspace), cs_json_text(workspace, "of"),
                    reason_of(cs_json_text(workspace, "of"), summary));
    else if (tensors)
        cs_text_put(text,
                    " of tensors, most of them of %s (%s). Tiling cannot make tensors smaller. ",
                    strcmp(cs_json_text(tensors, "of"), "-") == 0 ? "an unknown line"
                                                                  : cs_json_text(tensors, "of"),
                    cs_table_bytes_text(bytes, cs_json_whole_at(tensors, "bytes", 0)));
}

void cs_sim_answer_why(const struct cs_sim_pair *pair, const struct cJSON *peak,
                       struct cs_text *text)
{
    if (!cs_sim_pair_gains_nothing(pair))
        return;
    /* The record of a framework that holds memory shows its pool. */
    if (peak && peak->child && pair->run[CS_WITH].outcome.held == 0)
        put_peak(peak, pair->run[CS_WITH].outcome.summary, text);
    put_convolutions(&pair->run[CS_WITH].outcome, text);
}

/* --- advice --- */

/* True if `with` exceeds `without` by more than 2 %, because capacities are found to 1 %. */
static bool is_larger(int64_t with, int64_t without)
{
    return without > 0 && with - without > without / PART * 2;
}

/* True if the program needs more memory with the library. If both smallest devices are known, they
 * decide: with memory to spare, a larger peak need not mean that more memory is required. Peaks of
 * runs that were short of memory or did other work are not compared. */
static bool needs_more(const struct cs_sim_pair *pair)
{
    const struct cs_sim_outcome *without = &pair->run[CS_WITHOUT].outcome,
                                *with = &pair->run[CS_WITH].outcome;
    if (without->smallest > 0 && with->smallest > 0)
        return is_larger(with->smallest, without->smallest);
    if (!cs_sim_outcome_ran(without) || !cs_sim_outcome_ran(with))
        return cs_sim_outcome_ran(without) && cs_sim_outcome_out_of_memory(with);
    return without->refused <= 0 && with->refused <= 0 && cs_sim_pair_work(pair).more == 0 &&
           is_larger(with->device_peak, without->device_peak);
}

const char *cs_sim_answer_advice(const struct cs_sim_program *program,
                                 const struct cs_sim_pair *pair)
{
    const char *settings = cs_sim_pytorch_settings();
    if (!pair->chosen[CS_WITHOUT] || !pair->chosen[CS_WITH] || !needs_more(pair))
        return NULL;
    if (begins_with(program->framework, "ONNX Runtime "))
        return "The arena of ONNX Runtime grows more with convshim, because it keeps all memory "
               "while the GPU has free memory. Set a limit: gpu_mem_limit of its CUDA provider.";
    if (!begins_with(pair->run[CS_WITHOUT].outcome.framework, "PyTorch ") || !settings ||
        strstr(settings, "expandable_segments"))
        return NULL;
    return "PyTorch's allocator fragments more with convshim here. Expandable segments usually "
           "prevent that: add expandable_segments:True to your PYTORCH_CUDA_ALLOC_CONF. "
           "--smallest shows whether the program needs a larger GPU.";
}

/* --- notes --- */

static void add_note(cJSON *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_note(cJSON *notes, const char *format, ...)
{
    char text[2 * LIST];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cs_json_add(notes, NULL, cJSON_CreateString(text));
}

/* Adds a note with names of the device's report, if it has any of that kind. */
static void add_names(cJSON *notes, const struct cs_sim_outcome *outcome, const char *kind,
                      const char *note)
{
    char names[LIST];
    if (cs_sim_outcome_names(outcome, kind, names, sizeof names) > 0)
        add_note(notes, "%s: %s.", note, names);
}

/* Adds notes on parts of the program that are not computed, not simulated or only estimated. */
static void add_left_out(cJSON *notes, const struct cs_sim_outcome *outcome)
{
    char names[LIST], bytes[CS_BYTES_TEXT];
    struct cs_text calls = {names, sizeof names, 0};
    const cJSON *unwritten = cs_json_at(outcome->report, "reads_of_nothing_written");
    const int64_t times = cs_json_whole_at(outcome->report, "times.asked", 0);
    put_count(&calls, outcome->kernels, "kernel", "kernels");
    put_count(&calls, outcome->library_calls, "call of another library",
              "calls of other libraries");
    if (calls.length > 0)
        add_note(notes,
                 "Large operations were counted, not computed: %s. Files that the program saves "
                 "contain no results.",
                 names);
    if (cs_sim_outcome_names(outcome, "reads_of_nothing_written.by", names, sizeof names) > 0)
        add_note(notes,
                 "The program got zeros instead of results that were not computed, %s, so it may "
                 "decide otherwise on a GPU. Reads: %s.",
                 cs_table_bytes_text(bytes, cs_json_whole_at(unwritten, "bytes", 0)), names);
    if (cs_sim_outcome_unknown(outcome, names, sizeof names) > 0)
        add_note(notes,
                 "These lines of the program use values that were not computed, so they may decide "
                 "otherwise on a GPU: %s.",
                 names);
    add_names(notes, outcome, "estimated",
              "These sizes are estimates, because only a GPU reports them");
    add_names(notes, outcome, "missing",
              "The program called functions that are not simulated. They did nothing");
    /* Libraries look up whole lists of functions. Only a failed program may have needed one. */
    if (!cs_sim_outcome_ran(outcome) && !*outcome->linked_runtime)
        add_names(notes, outcome, "looked_up",
                  "The program looked for driver functions that are not simulated, and may need "
                  "them");
    if (times > 0)
        add_note(notes,
                 "The program measured the time of GPU work %" PRId64
                 " times, for example to find the fastest algorithm. The simulated GPU has no real "
                 "times, so the program may choose otherwise on a GPU.",
                 times);
}

/* Adds notes on the framework's settings that affect the peaks. */
static void add_framework(cJSON *notes, const struct cs_sim_outcome *outcome)
{
    if (begins_with(outcome->framework, "PyTorch ") && !cs_sim_pytorch_settings())
        add_note(
            notes,
            "All runs used PyTorch's expandable segments, which convshim run switches on. They "
            "usually save memory. To simulate without them: "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False");
    if (begins_with(outcome->framework, "JAX ") &&
        !cs_cli_variable("XLA_PYTHON_CLIENT_PREALLOCATE"))
        add_note(notes,
                 "JAX takes three quarters of the GPU's memory when it starts. The allocated peak "
                 "shows the memory that the program needs. To switch that off: "
                 "XLA_PYTHON_CLIENT_PREALLOCATE=false");
    if (begins_with(outcome->framework, "MLX "))
        add_note(
            notes,
            "MLX keeps freed memory for later, up to the size of the GPU. The allocated "
            "peak shows the memory that the program needs. MLX frees memory when the GPU's work "
            "ends, so that peak varies from run to run, most on a busy computer. To make one "
            "run after the other: --jobs 1");
    if (!*outcome->framework)
        add_note(notes,
                 "Allocated and reserved peaks are unknown, because no framework reported them.");
}

static bool was_short(const struct cs_sim_outcome *outcome)
{
    return outcome->refused > 0 || outcome->retries > 0;
}

struct cJSON *cs_sim_answer_notes(const struct cs_sim_pair *pair)
{
    const struct cs_sim_outcome *without = &pair->run[CS_WITHOUT].outcome,
                                *with = &pair->run[CS_WITH].outcome,
                                *any = pair->chosen[CS_WITHOUT] && without->used ? without : with;
    cJSON *notes = cJSON_CreateArray();
    char bytes[CS_BYTES_TEXT];
    add_note(
        notes,
        "CUDA's context takes %s of the GPU's memory for each process. To set it: --context SIZE",
        cs_table_bytes_text(bytes, pair->context));
    if (*pair->device->other)
        add_note(notes,
                 "%s is also sold with another size of memory. To simulate that one: --device %s",
                 pair->device->title, pair->device->other);
    if (!any->used)
        return notes;
    add_left_out(notes, any);
    if (was_short(without) || was_short(with))
        add_note(notes,
                 "Memory was short, so the peaks depend on the memory of the GPU. Compare retries, "
                 "failed allocations and other engines instead.");
    add_framework(notes, any);
    return notes;
}
