/* Keeps the memory records of calls, by context. */
#include "flow/peak.h"

#include "base/checked.h"
#include "base/pages.h"
#include <string.h>

void cs_peak_init(struct cs_peak *peak)
{
    cs_lock_init(&peak->lock, CS_RANK_PEAK);
}

/* The context's entry, else an unused one, else the one that was unused for longest. Servers that
 * reset their devices make contexts without end. */
static struct cs_peak_device **entry_of(struct cs_peak *peak, uint64_t context)
{
    struct cs_peak_device **oldest = &peak->device[0];
    for (int i = 0; i < CS_PEAK_DEVICES; i++) {
        struct cs_peak_device **entry = &peak->device[i];
        if (!*entry || (*entry)->context == context)
            return entry;
        if ((*entry)->used < (*oldest)->used)
            oldest = entry;
    }
    return oldest;
}

/* The context's calls, in an entry that is made if necessary. The lock is held. NULL if memory is
 * short. */
static struct cs_pass *pass_of(struct cs_peak *peak, uint64_t context)
{
    struct cs_peak_device **entry = entry_of(peak, context), *device = *entry;
    if (!device)
        device = *entry = cs_pages(sizeof *device);
    if (!device)
        return NULL;
    if (device->context != context)
        memset(device, 0, sizeof *device);
    device->context = context;
    device->used = ++peak->turns;
    return &device->pass;
}

struct cs_peak_level cs_peak_level(struct cs_peak *peak, uint64_t context,
                                   const struct cs_problem *problem)
{
    struct cs_peak_level level = {0, 0};
    int64_t operands = cs_pass_operands(problem);
    cs_lock(&peak->lock);
    struct cs_pass *pass = pass_of(peak, context);
    if (pass) {
        level.record = pass->record;
        level.beside = cs_pass_beside(pass, problem);
        if (operands > pass->record)
            pass->record = operands;
    }
    cs_unlock(&peak->lock);
    return level;
}

void cs_peak_note(struct cs_peak *peak, uint64_t context, uint64_t layer,
                  const struct cs_pass_workspace *workspace, const struct cs_problem *problem,
                  const struct cs_addresses *addresses)
{
    cs_lock(&peak->lock);
    struct cs_pass *pass = pass_of(peak, context);
    if (pass) {
        cs_pass_note(pass, layer, workspace, problem, addresses);
        cs_raise(&peak->without, pass->peak_without);
        cs_raise(&peak->with, pass->peak_with);
    }
    cs_unlock(&peak->lock);
}

void cs_peak_read(struct cs_peak *peak, int64_t *without_p, int64_t *with_p)
{
    cs_lock(&peak->lock);
    *without_p = peak->without;
    *with_p = peak->with;
    cs_unlock(&peak->lock);
}
