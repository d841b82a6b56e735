/* Destroys the objects that were built for a convolution. */
#include "exec/rewrite.h"

#include <stdlib.h>

void cs_rewrite_discard(struct cs_rewrite *rewrite)
{
    if (!rewrite)
        return;
    for (int64_t i = 0; i < rewrite->plan.shapes; i++)
        rewrite->destroy(rewrite->execution_plan[i]);
    rewrite->destroy(rewrite->fallback);
    for (int i = 0; i < CS_REWRITE_BETWEEN; i++)
        cs_rewrite_discard(atomic_load(&rewrite->between[i].rewrite));
    free(rewrite);
}
