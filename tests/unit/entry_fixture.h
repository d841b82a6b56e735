/* The needs of the exported functions in addition to vendor_fixture.h. No caller is cuDNN. */
#ifndef ENTRY_FIXTURE_H
#define ENTRY_FIXTURE_H

#include "cudnn/bind/runtime.h"
#include "intercept/loader/dlsym.h"
#include "vendor_fixture.h"

WRAPPED(bool, cs_real_bound, void)
{
    return true;
}

WRAPPED(bool, cs_real_calls, const char *name, size_t slot, const void *address)
{
    return (void)name, (void)slot, !address;
}

WRAPPED(bool, cs_real_has_file, const char *path)
{
    return strstr(path, "libcudnn") != NULL;
}

WRAPPED(bool, cs_real_owns, const char *path)
{
    return !path;
}

/* The archive lacks dlsym. */
WRAPPED(bool, cs_dlsym_answered, uintptr_t from, uintptr_t to)
{
    return from > to;
}

static struct cs_runtime entry_runtime;

WRAPPED(const struct cs_runtime *, cs_runtime, void)
{
    return &entry_runtime;
}

#endif
