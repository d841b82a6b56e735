/* The advice of a simulation. PyTorch's allocator splits blocks by the requested sizes. Smaller
 * workspaces can therefore leave it with pieces that no large tensor fits into. */
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

static bool knows_smallest(const struct cs_simulated_pair *pair)
{
    return pair->smallest[CS_WITHOUT].runs > 0 && pair->smallest[CS_WITH].runs > 0;
}

/* If both smallest devices are known, they decide: with memory to spare, a larger peak need not
 * mean that more memory is required. Peaks of runs that were short of memory are not compared. */
static bool wants_more(const struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *without = &pair->result[CS_WITHOUT],
                                     *with = &pair->result[CS_WITH];
    if (knows_smallest(pair))
        return exceeds(pair->smallest[CS_WITH].runs, pair->smallest[CS_WITHOUT].runs);
    if (!cs_simulated_result_ran(without))
        return false;
    if (!cs_simulated_result_ran(with))
        return cs_simulated_result_out_of_memory(with) && !with->limited;
    return without->refused <= 0 && with->refused <= 0 &&
           exceeds(with->device_peak, without->device_peak);
}

/* The simulation sets them, unless the user has settings of the allocator. */
static bool has_expandable_segments(void)
{
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    bool has = false, any = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = cs_cli_variable(names[i]);
        any = any || value;
        has = has || (value && strstr(value, "expandable_segments"));
    }
    return has || !any;
}

const char *cs_simulate_advice(const struct cs_simulated_program *program,
                               const struct cs_simulated_pair *pair)
{
    static const char pytorch[] = "PyTorch ", onnx[] = "ONNX Runtime ";
    const char *framework = pair->result[CS_WITHOUT].framework;
    bool both = pair->chosen[CS_WITHOUT] && pair->chosen[CS_WITH];
    if (!both || !wants_more(pair))
        return NULL;
    if (strncmp(program->framework, onnx, strlen(onnx)) == 0)
        return "The arena of ONNX Runtime grows more with convshim, because it keeps all memory "
               "while the GPU has free memory. Set a limit: gpu_mem_limit of its CUDA provider.";
    if (has_expandable_segments() || strncmp(framework, pytorch, strlen(pytorch)) != 0)
        return NULL;
    bool larger = knows_smallest(pair) || !cs_simulated_result_ran(&pair->result[CS_WITH]);
    return larger ? "PyTorch's allocator fragments more with convshim here, and needs a larger "
                    "GPU. Expandable segments usually prevent that: add expandable_segments:True "
                    "to your PYTORCH_CUDA_ALLOC_CONF."
                  : "PyTorch's allocator fragments more with convshim here, and holds more while "
                    "the GPU has free memory. Expandable segments usually prevent that: add "
                    "expandable_segments:True to your PYTORCH_CUDA_ALLOC_CONF. --smallest shows "
                    "whether it needs a larger GPU.";
}
