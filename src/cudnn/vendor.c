#include "cudnn/legacy.h"
#include "cudnn/shadow.h"
#include <stdio.h>

void cs_vendor_version(char *text, size_t size)
{
    const struct cs_real *real = cs_real();
    size_t version = real->cudnnGetVersion ? real->cudnnGetVersion() : 0;
    text[0] = '\0';
    if (version > 0)
        snprintf(text, size, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100,
                 version % 100);
}

void cs_vendor_fork(bool before)
{
    cs_legacy_fork(before);
    cs_shadow_fork(before);
}
