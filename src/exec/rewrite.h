/* The objects built once for all executions of a convolution: a plan with an execution plan of the
 * vendor for each tile shape, and the fallback plan that runs the whole. src/intercept owns it. The
 * executor and the launcher read it. */
#ifndef CS_EXEC_REWRITE_H
#define CS_EXEC_REWRITE_H

#include "convshim/plan.h"

struct cs_rewrite {
    struct cs_plan plan; /* no tiles: every call runs on the fallback plan */
    void *execution_plan[CS_MAX_TILE_SHAPES];
    void *fallback;
    void (*destroy)(void *execution_plan); /* the vendor's; NULL is allowed as its argument */
};

/* Destroys the execution plans, the fallback plan and the rewriting itself; NULL is allowed. */
void cs_rewrite_discard(struct cs_rewrite *rewrite);

#endif
