/* CUPTI's version, which programs check at their start. The real library returns none without a
 * driver. Every other call fails, because profiling is not simulated. */
#include "standin.h"

#include <stdint.h>

enum {
    INVALID_PARAMETER = 1,
    OLDEST = 18 /* of CUDA 12.0 */
};

STANDIN_EXPORT int STANDIN(cuptiGetVersion)(uint32_t *version)
{
    if (!version)
        return INVALID_PARAMETER;
    *version = OLDEST;
    return 0;
}
