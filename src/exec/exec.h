/* Walks a plan over a device. Takes everything it needs before the first launch (the point of no
 * return); what fails before that is run on the lifeboat. After it, a failure is repaired by the
 * lifeboat only if running again gives the same result: beta is 0 and nothing that is written is
 * read. Otherwise the vendor's status is returned as it is. A plan without tiles runs on the
 * lifeboat. */
#ifndef CS_EXEC_EXEC_H
#define CS_EXEC_EXEC_H

#include "convshim/gpu.h"
#include "convshim/plan.h"

enum cs_ran {
    CS_RAN_TILES,
    CS_RAN_LIFEBOAT,
    CS_RAN_NOTHING /* neither tiles nor lifeboat ended well */
};

struct cs_outcome {
    enum cs_ran ran;
    int vendor;       /* status for the client */
    int64_t launches; /* tiles started */
};

/* Runs a validated plan on the operands and the scratch at `base`. Thread-safe; asynchronous. */
struct cs_outcome cs_exec_run(const struct cs_plan *plan, const struct cs_gpu *gpu,
                              const struct cs_addresses *base);

/* Runs the lifeboat at once, for calls whose operands are not understood. */
struct cs_outcome cs_exec_lifeboat(const struct cs_gpu *gpu);

#endif
