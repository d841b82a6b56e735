/* CUPTI's version, by which programs decide whether to start at all; the library itself tells none
 * without a driver. Every other call fails: nothing is profiled here. */
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
