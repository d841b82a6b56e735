/* Whether a program fits into the memory of a GPU. */
#include "cli/simulate/simulate.h"

#include <inttypes.h>
#include <stdio.h>

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
        return "the program contains its own CUDA runtime, which cannot be simulated";
    if (!cs_simulated_result_ran(result))
        return result->limited ? "the program limits its own memory to too little"
                               : "the program fails, but not for lack of memory";
    if (!cs_simulated_result_used_gpu(result))
        return "the program did not use the GPU";
    return result->planned ? NULL : "no real cuDNN planned the sizes";
}

/* The memory that the program takes if there is enough; 0: not known. A program that takes a part
 * of the free memory shows no need. */
static int64_t need_of(const struct cs_simulated_pair *pair, enum cs_side side)
{
    const struct cs_simulated_result *base = cs_simulated_pair_base(pair, side);
    const int64_t absurd = (int64_t)1 << 42;
    return cs_simulated_result_ran(base) && base->needed < absurd ? base->needed : 0;
}

static void say_need(const struct cs_simulated_pair *pair, int64_t need, char text[LINE])
{
    char bytes[CS_BYTES_TEXT], context[CS_BYTES_TEXT], with[CS_BYTES_TEXT + 32] = "";
    if (pair->context > 0)
        snprintf(with, sizeof with, " with the context of %s",
                 cs_table_bytes_text(context, pair->context));
    snprintf(text, LINE, "needs %s%s", cs_table_bytes_text(bytes, need), with);
}

/* "Tesla T4 has 14.56 GiB" */
static void say_memory(const struct cs_simulated_pair *pair, int64_t memory, char text[LINE])
{
    char bytes[CS_BYTES_TEXT];
    snprintf(text, LINE, "%s has %s", pair->capacity > 0 ? "The GPU" : pair->device->title,
             cs_table_bytes_text(bytes, memory));
}

static void say_no(const struct cs_simulated_pair *pair, enum cs_side side, int64_t memory,
                   char *text, size_t size)
{
    const struct cs_simulated_result *result = &pair->result[side];
    const int64_t need = need_of(pair, side), failures = cs_simulated_result_failures(result);
    char line[LINE], there[LINE], bytes[CS_BYTES_TEXT];
    say_memory(pair, memory, there);
    say_need(pair, need, line);
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
    const struct cs_simulated_result *result = &pair->result[side];
    const int64_t memory = cs_simulate_memory(pair);
    const char *none = no_answer(result);
    char line[LINE], there[LINE], bytes[CS_BYTES_TEXT];
    if (none) {
        snprintf(text, size, "No answer: %s.", none);
        return CS_ANSWER_NONE;
    }
    if (!cs_simulated_result_fits(result)) {
        say_no(pair, side, memory, text, size);
        return CS_ANSWER_NO;
    }
    const bool sure = result->needed <= memory / 100 * SURE_PERCENT;
    say_need(pair, result->needed, line);
    say_memory(pair, memory, there);
    snprintf(text, size, "%s: %s. %s, %s spare.%s", sure ? "Yes" : "May fail", line, there,
             cs_table_bytes_text(bytes, memory - result->needed),
             sure ? "" : " Above 95 %, fragmentation decides.");
    return sure ? CS_ANSWER_YES : CS_ANSWER_MAY_FAIL;
}

enum cs_answer cs_simulate_answer(const struct cs_simulated_pair *pair)
{
    char text[2 * LINE];
    return cs_simulate_fits(pair, pair->chosen[CS_WITH] ? CS_WITH : CS_WITHOUT, text, sizeof text);
}
