/* What a simulation advises: PyTorch's allocator divides blocks by what is asked of it, so that
 * smaller workspaces can leave it with pieces that no large tensor fits into. */
#include "cli/simulate/simulate.h"

#include "cli/common/environment.h"
#include <string.h>

enum {
    PERCENT = 2 /* more of a device that is worth a word: the smallest is found to 1 % */
};

static bool exceeds(int64_t with, int64_t without)
{
    return without > 0 && with - without > without / 100 * PERCENT;
}

/* The smallest devices decide, where both are known: a peak with memory to spare may be larger for
 * nothing. */
static bool wants_more(const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *without = &pair->result[CS_WITHOUT],
                                     *with = &pair->result[CS_WITH];
    if (pair->smallest[CS_WITHOUT].runs > 0 && pair->smallest[CS_WITH].runs > 0)
        return exceeds(pair->smallest[CS_WITH].runs, pair->smallest[CS_WITHOUT].runs);
    if (!cs_simulated_result_ran(without))
        return false;
    if (!cs_simulated_result_ran(with))
        return cs_simulated_result_out_of_memory(with);
    return exceeds(with->device_peak, without->device_peak);
}

static bool has_expandable_segments(void)
{
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    bool has = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = cs_cli_variable(names[i]);
        has = has || (value && strstr(value, "expandable_segments"));
    }
    return has;
}

const char *cs_simulate_advice(const struct cs_simulated_pair *pair)
{
    static const char pytorch[] = "PyTorch ";
    bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH];
    if (!both || !wants_more(pair) || has_expandable_segments() ||
        strncmp(pair->result[CS_WITHOUT].framework, pytorch, strlen(pytorch)) != 0)
        return NULL;
    return "PyTorch's allocator divides its blocks otherwise with convshim, and wants a larger GPU "
           "for "
           "it. Expandable segments mostly prevent that: convshim run --expandable-segments, or "
           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment, of this command, "
           "too.";
}
