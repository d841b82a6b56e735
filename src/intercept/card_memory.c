/* Queries the driver for the free memory of a device. */
#include "intercept/program_memory.h"

#include "base/checked.h"
#include "cudnn/bind/driver.h"

int64_t cs_card_memory(int64_t reserved)
{
    size_t unused = 0, total = 0;
    int64_t bytes;
    return CS_CU(cuMemGetInfo_v2, &unused, &total) == CUDA_SUCCESS && unused <= INT64_MAX &&
                   cs_add(reserved, (int64_t)unused, &bytes)
               ? bytes
               : 0;
}
