/* Keeps the memory records of calls, by context. */
#include "flow/peak.h"

#include "base/pages.h"

void cs_peak_init(struct cs_peak *peak)
{
    cs_lock_init(&peak->lock, CS_RANK_PEAK);
}

/* The lock is held. NULL if the table is full or memory is short. */
static struct cs_pass *pass_of(struct cs_peak *peak, uint64_t context)
{
    for (int i = 0; i < CS_PEAK_DEVICES; i++) {
        if (!peak->device[i]) {
            peak->device[i] = cs_pages(sizeof *peak->device[i]);
            if (!peak->device[i])
                return NULL;
            peak->device[i]->context = context;
        }
        if (peak->device[i]->context == context)
            return &peak->device[i]->pass;
    }
    return NULL;
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

void cs_peak_begin(struct cs_peak *peak, uint64_t context, int64_t record)
{
    cs_lock(&peak->lock);
    struct cs_pass *pass = pass_of(peak, context);
    if (pass && record > pass->record)
        pass->record = record;
    cs_unlock(&peak->lock);
}

int64_t cs_peak_record(struct cs_peak *peak, uint64_t context)
{
    cs_lock(&peak->lock);
    const struct cs_pass *pass = pass_of(peak, context);
    int64_t record = pass ? pass->record : 0;
    cs_unlock(&peak->lock);
    return record;
}

void cs_peak_note(struct cs_peak *peak, uint64_t context, uint64_t layer, int64_t reported,
                  const struct cs_problem *problem, const struct cs_addresses *addresses)
{
    cs_lock(&peak->lock);
    struct cs_pass *pass = pass_of(peak, context);
    if (pass)
        cs_pass_note(pass, layer, reported, problem, addresses);
    cs_unlock(&peak->lock);
}
