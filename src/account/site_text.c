/* One convolution as a line of text. */
#include "account/account.h"

#include "base/log.h"
#include <stdio.h>
#include <string.h>

/* Writes the last `count` numbers of D, H, W as "3x3". */
static void extents_text(char *text, size_t size, const int64_t numbers[CS_SPATIAL], int count)
{
    int length = 0;
    text[0] = '\0';
    for (int i = CS_SPATIAL - count; i < CS_SPATIAL; i++)
        length += snprintf(text + length, size - (size_t)length, "%s%lld", length ? "x" : "",
                           (long long)numbers[i]);
}

static bool all_equal(const int64_t numbers[CS_SPATIAL], int count)
{
    for (int i = CS_SPATIAL - count; i < CS_SPATIAL; i++) {
        if (numbers[i] != numbers[CS_SPATIAL - 1])
            return false;
    }
    return true;
}

/* Writes "s1" if all numbers are equal, else "s2x1". */
static void setting_text(char *text, size_t size, const char *name, const int64_t *numbers,
                         int count)
{
    char extents[CS_SPATIAL * 22];
    extents_text(extents, sizeof extents, numbers, all_equal(numbers, count) ? 1 : count);
    snprintf(text, size, " %s%s", name, extents);
}

/* Writes the padding as "p1", or as "p1:0x1" if it differs before and after. setting_text begins
 * with a blank, which the colon replaces. */
static void padding_text(char *text, size_t size, const struct cs_problem *problem)
{
    int count = problem->spatial;
    char pre[CS_SPATIAL * 22], post[CS_SPATIAL * 22];
    setting_text(pre, sizeof pre, "p", problem->pre, count);
    setting_text(post, sizeof post, "", problem->post, count);
    if (memcmp(problem->pre + CS_SPATIAL - count, problem->post + CS_SPATIAL - count,
               (size_t)count * sizeof problem->pre[0]) == 0)
        post[0] = '\0';
    else
        post[0] = ':';
    snprintf(text, size, "%s%s", pre, post);
}

int cs_site_problem_text(const struct cs_problem *problem, char *text, size_t size)
{
    const struct cs_tensor *x = &problem->tensor[CS_X], *filter = &problem->tensor[CS_FILTER];
    int count = problem->spatial;
    char image[72], kernel[72], stride[72], padding[144], dilation[72] = "", groups[24] = "";
    extents_text(image, sizeof image, x->dims + CS_D, count);
    extents_text(kernel, sizeof kernel, filter->dims + CS_D, count);
    setting_text(stride, sizeof stride, "s", problem->stride, count);
    padding_text(padding, sizeof padding, problem);
    if (!all_equal(problem->dilation, count) || problem->dilation[CS_SPATIAL - 1] != 1)
        setting_text(dilation, sizeof dilation, "d", problem->dilation, count);
    if (problem->groups != 1)
        snprintf(groups, sizeof groups, " g%lld", (long long)problem->groups);
    bool forward = problem->direction == CS_FORWARD;
    return snprintf(text, size, "%lldx%lldx%s -> %lld k%s%s%s%s%s %s %s%s%s%s",
                    (long long)x->dims[CS_N], (long long)x->dims[CS_C], image,
                    (long long)filter->dims[CS_N], kernel, stride, padding, dilation, groups,
                    cs_problem_dtype_name(x->dtype), cs_problem_layout(problem), forward ? "" : " ",
                    forward ? "" : cs_problem_direction_name(problem->direction),
                    problem->steps > 0 ? " fused" : "");
}

void cs_site_outcome_text(const struct cs_site_facts *facts, struct cs_site_outcome_text *outcome)
{
    bool possible = facts->reason == CS_REASON_REPORT_ONLY;
    outcome->reported[0] = '\0';
    if (facts->reason != CS_REASON_NONE && !possible) {
        snprintf(outcome->tiles, sizeof outcome->tiles, "%s",
                 cs_account_reason_text(facts->reason));
        return;
    }
    char tiling[48] = "other engine", lanes[16] = "", size[CS_SIZE_TEXT];
    if (!possible)
        cs_log_size_text(outcome->reported, cs_site_reported(facts));
    if (facts->tiling.lanes > 1)
        snprintf(lanes, sizeof lanes, " on %d", facts->tiling.lanes);
    if (facts->tiling.axis[0] != CS_AXIS_NONE)
        snprintf(tiling, sizeof tiling, "%s x %lld%s%s%s", cs_axis_tiling_name(&facts->tiling),
                 (long long)facts->tiles,
                 cs_axis_tiling_by_phase(&facts->tiling) ? " by phase" : "",
                 facts->tiling.staged          ? " packed"
                 : facts->tiling.equal_padding ? " packed ends"
                                               : "",
                 lanes);
    snprintf(outcome->tiles, sizeof outcome->tiles, "%s%s%s%s%s", possible ? "possible: " : "",
             possible ? cs_log_size_text(size, facts->possible) : "", possible ? ", " : "", tiling,
             facts->raised ? ", raised" : "");
}

int cs_site_text(const struct cs_site_facts *facts, char *text, size_t size)
{
    char shape[CS_PROBLEM_TEXT], required[CS_SIZE_TEXT];
    struct cs_site_outcome_text outcome;
    cs_site_problem_text(&facts->problem, shape, sizeof shape);
    cs_log_size_text(required, facts->required);
    cs_site_outcome_text(facts, &outcome);
    return snprintf(text, size, "%s, engine %lld: %s required, %s%s%s", shape,
                    (long long)facts->engine, required, outcome.reported,
                    outcome.reported[0] ? " reported, " : "", outcome.tiles);
}
