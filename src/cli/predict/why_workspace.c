/* Explains the purposes of an engine's workspace as text: conversion of layouts, padding of
 * channels, precision. */
#include "cli/predict/predict.h"

#include "base/checked.h"
#include "base/text.h"
#include <inttypes.h>
#include <string.h>

enum {
    CHANNELS = 8, /* that tensor cores take at once */
    NEAR = 64     /* a smaller part does not count as a difference: alignment and bookkeeping */
};

static bool is_near(int64_t a, int64_t b)
{
    int64_t gap = a > b ? a - b : b - a;
    return gap <= (a > b ? a : b) / NEAR;
}

static bool is_channels_last(const struct cs_tensor *tensor)
{
    return tensor->dims[CS_C] == 1 || tensor->strides[CS_C] == 1;
}

/* The same convolution on other tensors. */
struct change {
    bool last;    /* with channels last, else first */
    int64_t unit; /* channels are padded to a multiple of it */
};

/* False if there is none. */
static bool apply_change(const struct cs_problem *problem, struct change change,
                         struct cs_problem *changed)
{
    static const enum cs_dim orders[][CS_DIMS] = {{CS_W, CS_H, CS_D, CS_C, CS_N},
                                                  {CS_C, CS_W, CS_H, CS_D, CS_N}};
    const enum cs_dim *order = orders[change.last];
    int64_t unit = change.unit;
    *changed = *problem;
    for (int i = 0; i < CS_OPERANDS; i++) {
        struct cs_tensor *tensor = &changed->tensor[i];
        int64_t stride = 1;
        for (int k = 0; k < CS_DIMS; k++) {
            int64_t *extent = &tensor->dims[order[k]];
            bool channels = order[k] == CS_C || (i == CS_FILTER && order[k] == CS_N);
            if (channels && !cs_mul(cs_ceil_div(*extent, unit), unit, extent))
                return false;
            tensor->strides[order[k]] = tensor->strides[order[k]] == 0 ? 0 : stride;
            if (!cs_mul(stride, *extent, &stride))
                return false;
        }
    }
    return cs_problem_check(changed) == CS_OK;
}

/* Returns the workspace that the chosen engine requires for a changed problem. If the engine does
 * not support that problem: the workspace of the engine that cuDNN chooses for it. -1: not known.
 */
static int64_t ask_workspace(struct cs_engine_list *list, const struct cs_prediction *prediction,
                             const struct cs_problem *changed)
{
    struct cs_ask_offer offer;
    struct cs_chosen_engine *chosen = NULL;
    int64_t workspace = cs_engine_list_workspace(list, changed, &prediction->offer.engine);
    if (workspace < 0 &&
        cs_engine_list_choose(list, changed, prediction->offer.mode, 0, &offer, &chosen) == CS_OK)
        workspace = offer.workspace;
    cs_engine_chosen_destroy(chosen);
    return workspace;
}

struct copies {
    int set;     /* of operands, a bit each; 0: none is as large */
    bool padded; /* to a multiple of CHANNELS */
    int64_t gap;
};

static bool operand_bytes(const struct cs_problem *problem, enum cs_operand operand, bool padded,
                          int64_t *bytes_p)
{
    struct cs_tensor tensor = problem->tensor[operand];
    int64_t unit = padded && problem->groups == 1 ? CHANNELS : 1;
    int64_t channels = cs_ceil_div(tensor.dims[CS_C], unit);
    int64_t filters = operand == CS_FILTER ? cs_ceil_div(tensor.dims[CS_N], unit) : 0;
    return cs_mul(channels, unit, &tensor.dims[CS_C]) &&
           (filters == 0 || cs_mul(filters, unit, &tensor.dims[CS_N])) &&
           cs_problem_tensor_bytes(&tensor, bytes_p) == CS_OK;
}

/* Finds the operands with a total size nearest to the workspace. Returns them or `found`, whichever
 * is nearer. */
static struct copies find_copies(const struct cs_problem *problem, int64_t workspace, bool padded,
                                 struct copies found)
{
    for (int set = 1; set < 1 << CS_OPERANDS; set++) {
        int64_t sum = 0, bytes;
        bool known = true;
        for (int i = 0; i < CS_OPERANDS && known; i++)
            if (set >> i & 1)
                known = operand_bytes(problem, (enum cs_operand)i, padded, &bytes) &&
                        cs_add(sum, bytes, &sum);
        int64_t gap = sum > workspace ? sum - workspace : workspace - sum;
        if (known && is_near(sum, workspace) && (found.set == 0 || gap < found.gap))
            found = (struct copies){set, padded, gap};
    }
    return found;
}

static void compare_operands(const struct cs_problem *problem,
                             const struct cs_prediction *prediction, struct cs_text *line)
{
    static const char *const names[CS_OPERANDS] = {"input", "filter", "output"};
    struct copies found = {0, false, 0};
    int64_t workspace = prediction->offer.workspace;
    found = find_copies(problem, workspace, false, found);
    found = find_copies(problem, workspace, true, found);
    if (found.set == 0) {
        cs_text_put(line, "%.2f times input, filter and output together",
                    (double)workspace / (double)prediction->floor);
        return;
    }
    cs_text_put(line, "as much as a copy of ");
    for (int i = 0; i < CS_OPERANDS; i++)
        if (found.set >> i & 1)
            cs_text_put(line, "%s%s",
                        (found.set & ((1 << i) - 1)) == 0 ? ""
                        : found.set >> (i + 1)            ? ", "
                                                          : " and ",
                        names[i]);
    if (found.padded)
        cs_text_put(line, ", channels padded to a multiple of %d", CHANNELS);
}

static void put_share(struct cs_text *line, int64_t share, int64_t left, const char *what)
{
    char size[CS_BYTES_TEXT], rest[CS_BYTES_TEXT];
    cs_text_put(line, "%s%s are for %s (without it: %s)", line->length > 0 ? "; " : "",
                cs_table_bytes_text(size, share), what, cs_table_bytes_text(rest, left));
}

/* Sums that are split over parts keep each part's result in f32. */
static bool put_parts(const struct cs_problem *problem, const struct cs_prediction *prediction,
                      int64_t left, struct cs_text *line)
{
    struct cs_tensor result = problem->tensor[cs_result(problem->direction)];
    char size[CS_BYTES_TEXT], each[CS_BYTES_TEXT];
    int64_t bytes;
    result.dtype = CS_F32;
    if (!prediction->offer.splits || cs_problem_tensor_bytes(&result, &bytes) != CS_OK ||
        !is_near(left, (left + bytes / 2) / bytes * bytes) || left < bytes / 2)
        return false;
    cs_text_put(line, "%s%s for %" PRId64 " partial sums in f32 of %s each",
                line->length > 0 ? "; " : "", cs_table_bytes_text(size, left),
                (left + bytes / 2) / bytes, cs_table_bytes_text(each, bytes));
    return true;
}

/* Prints the purpose of the remaining bytes. `last`: the workspace that the engine requires for
 * channels-last tensors; -1 if that was not queried. */
static void put_rest(const struct cs_problem *problem, const struct cs_prediction *prediction,
                     int64_t left, int64_t last, struct cs_text *line)
{
    const struct cs_ask_offer *offer = &prediction->offer;
    char size[CS_BYTES_TEXT], other[CS_BYTES_TEXT];
    if (left <= offer->workspace / NEAR || put_parts(problem, prediction, left, line))
        return;
    cs_text_put(line, "%s%s for %s", line->length > 0 ? "; " : "", cs_table_bytes_text(size, left),
                offer->winograd ? "the Winograd transform"
                : offer->fft    ? "the Fourier transform"
                                : "other purposes of the engine");
    if (last > left)
        cs_text_put(line, " (channels-last tensors: %s)", cs_table_bytes_text(other, last));
}

/* Prints the part of the remaining bytes that the change saves, if it saves any, and subtracts it
 * from *left_p. Returns the workspace required after the change; -1 if that is not known. */
static int64_t put_change(const struct cs_problem *problem, const struct cs_prediction *prediction,
                          struct cs_engine_list *list, struct change change, const char *what,
                          int64_t *left_p, struct cs_text *line)
{
    struct cs_problem changed;
    int64_t now =
        apply_change(problem, change, &changed) ? ask_workspace(list, prediction, &changed) : -1;
    if (now >= 0 && *left_p - now > prediction->offer.workspace / NEAR) {
        put_share(line, *left_p - now, now, what);
        *left_p = now;
    }
    return now;
}

static void ask_again(const struct cs_problem *problem, const struct cs_prediction *prediction,
                      struct cs_engine_list *list, struct cs_text *line)
{
    int64_t workspace = prediction->offer.workspace, left = workspace, last = -1;
    const int64_t *x = problem->tensor[CS_X].dims, *y = problem->tensor[CS_Y].dims;
    bool first =
        !is_channels_last(&problem->tensor[CS_X]) || !is_channels_last(&problem->tensor[CS_Y]);
    if (first)
        last = put_change(problem, prediction, list, (struct change){true, 1},
                          "the conversion to channels-last", &left, line);
    bool odd = x[CS_C] % CHANNELS != 0 || y[CS_C] % CHANNELS != 0;
    /* An engine that requires more for channels-last tensors is asked with channels first. */
    const struct change padded = {!first || last <= left, CHANNELS};
    if (odd && problem->groups == 1 && left > workspace / NEAR)
        put_change(problem, prediction, list, padded,
                   first && padded.last && left == workspace
                       ? "the conversion to channels-last with channels padded to a multiple of 8"
                       : "padding channels to a multiple of 8",
                   &left, line);
    put_rest(problem, prediction, left, last, line);
    /* In 3-D, channels last slows down the normalizations of networks. */
    if (last >= 0 && last < workspace / 2 && problem->spatial == 2)
        cs_text_put(line, ". To compare: --layout nhwc");
}

void cs_why_workspace(const struct cs_problem *problem, const struct cs_prediction *prediction,
                      struct cs_engine_list *list, char first[CS_EXPLAIN_LINE],
                      char second[CS_EXPLAIN_LINE])
{
    struct cs_text lines[] = {{first, CS_EXPLAIN_LINE, 0}, {second, CS_EXPLAIN_LINE, 0}};
    char size[CS_BYTES_TEXT];
    first[0] = second[0] = '\0';
    cs_text_put(&lines[0], "The workspace of %s is ",
                cs_table_bytes_text(size, prediction->offer.workspace));
    compare_operands(problem, prediction, &lines[0]);
    cs_text_put(&lines[0], ".");
    ask_again(problem, prediction, list, &lines[1]);
}
