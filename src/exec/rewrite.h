/* What is built beforehand for every later execution of a convolution: a plan with an
 * execution plan of the vendor's for each of its tile shapes, and the fallback plan that runs the
 * whole. The way in owns it, the executor and the launcher read it. */
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
