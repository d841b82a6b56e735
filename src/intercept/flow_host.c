/* Answers the flow's queries about cuDNN and this process. */
#include "intercept/intercept.h"

#include "cudnn/bind/find_dlsym.h"
#include "cudnn/bind/real.h"
#include "cudnn/plan/device_profile.h"
#include "cudnn/plan/handle_id.h"
#include "cudnn/run/launcher.h"
#include "intercept/graph/shadow.h"
#include "intercept/legacy/plan_cache.h"
#include "intercept/loader/objects.h"
#include "intercept/program_memory.h"
#include <link.h>
#include <stdio.h>
#include <string.h>

static void version_text(char *text, size_t size)
{
    const struct cs_real *real = cs_real();
    size_t version = real->cudnnGetVersion ? real->cudnnGetVersion() : 0;
    size_t major = version < 10000 ? 1000 : 10000; /* 9.0 widened the minor number */
    text[0] = '\0';
    if (version > 0)
        snprintf(text, size, "cuDNN %zu.%zu.%zu", version / major, version % major / 100,
                 version % 100);
}

/* The search for cuDNN's file. `whole`: `text` is a file with all of cuDNN. */
struct found {
    char *text;
    size_t size;
    bool whole;
};

/* Copies the path of a loaded file of cuDNN (dl_iterate_phdr). A file with all of cuDNN is
 * preferred to a part. */
static int note_file(struct dl_phdr_info *object, size_t size, void *opaque)
{
    struct found *found = opaque;
    (void)size;
    if (found->whole || !cs_real_has_file(object->dlpi_name))
        return 0;
    found->whole = strstr(object->dlpi_name, "libcudnn.so");
    if (found->whole || !*found->text)
        snprintf(found->text, found->size, "%s", object->dlpi_name);
    return 0;
}

static void file_text(char *text, size_t size)
{
    struct found found = {.text = text, .size = size};
    text[0] = '\0';
    dl_iterate_phdr(note_file, &found);
}

/* True for the major version of cuDNN that the library was built for. A cuDNN without
 * cudnnGetVersion lacks more functions, which then return errors, so it counts as supported. */
static bool supported(void)
{
    const struct cs_real *real = cs_real();
    return !real->cudnnGetVersion || real->cudnnGetVersion() / 10000 == CUDNN_MAJOR;
}

#define OWN_NAME "convshim_version"

/* The file of another copy of this library, if this one is the first in the loader's list. */
static const char *second_copy(void)
{
    bool first;
    const char *other = cs_find_dlsym_other(OWN_NAME, &first);
    return first ? other : NULL;
}

bool cs_host_first_copy(void)
{
    bool first;
    return !cs_find_dlsym_other(OWN_NAME, &first) || first;
}

static void fork_locks(bool before)
{
    cs_plan_cache_fork(before);
    cs_shadow_fork(before);
    cs_handle_fork(before);
}

const struct cs_host cs_host = {.device = &cs_device_cuda,
                                .memory = {&cs_torch_memory, &cs_pool_memory},
                                .version = version_text,
                                .file = file_text,
                                .supported = supported,
                                .second_copy = second_copy,
                                .fork = fork_locks,
                                .bypassed = cs_bypass_find};
