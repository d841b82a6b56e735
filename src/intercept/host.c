/* What the flow asks of the vendor: version, whether it is supported, the device, forks. */
#include "cudnn/run/device_cuda.h"
#include "intercept/graph/shadow.h"
#include "intercept/legacy/oversized_tensor.h"
#include "intercept/legacy/plan_cache.h"
#include <stdio.h>

void cs_vendor_version(char *text, size_t size)
{
    const struct cs_real *real = cs_real();
    size_t version = real->cudnnGetVersion ? real->cudnnGetVersion() : 0;
    size_t major = version < 10000 ? 1000 : 10000; /* 9.0 widened the minor number */
    text[0] = '\0';
    if (version > 0)
        snprintf(text, size, "cuDNN %zu.%zu.%zu", version / major, version % major / 100,
                 version % 100);
}

/* What does not tell its version lacks more than that, and then every slot says so. */
bool cs_vendor_supported(void)
{
    const struct cs_real *real = cs_real();
    return !real->cudnnGetVersion || real->cudnnGetVersion() / 10000 == CUDNN_MAJOR;
}

const struct cs_device *cs_vendor_device(void)
{
    return &cs_device_cuda;
}

void cs_vendor_fork(bool before)
{
    cs_legacy_fork(before);
    cs_shadow_fork(before);
    cs_oversized_tensor_fork(before);
}
